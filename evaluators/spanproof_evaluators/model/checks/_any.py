"""A check of any kind: those of spanproof, and those that other packages bring."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Final, TypeAlias

from pydantic import Discriminator, PlainValidator, SerializeAsAny, Tag, ValidationError, WithJsonSchema

from spanproof_evaluators.model.checks._base import CheckSpec
from spanproof_evaluators.model.checks.answer import AnswerCheck
from spanproof_evaluators.model.checks.command import CommandCheck
from spanproof_evaluators.model.checks.files import FilesCheck
from spanproof_evaluators.model.checks.git import GitCheck
from spanproof_evaluators.model.checks.http import HttpCheck
from spanproof_evaluators.model.checks.python import PythonCheck
from spanproof_evaluators.model.checks.rows import RowsCheck
from spanproof_evaluators.model.checks.sql import SqlCheck
from spanproof_evaluators.model.checks.unchanged import UnchangedCheck
from spanproof_evaluators.model.end_states import EndState
from spanproof_evaluators.model.verifications import Check

GROUP: Final = "spanproof.verifiers"
"""The entry points of other packages' kinds: the name is the kind, the object a ``CheckKind``."""

OTHER: Final = "other"
"""The tag of a check whose kind is none of spanproof's own."""

BUILT_IN: Final[Mapping[str, type[CheckSpec]]] = {
    "rows": RowsCheck,
    "files": FilesCheck,
    "unchanged": UnchangedCheck,
    "answer": AnswerCheck,
    "python": PythonCheck,
    "command": CommandCheck,
    "sql": SqlCheck,
    "http": HttpCheck,
    "git": GitCheck,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckKind:
    """A kind of check that another package brings."""

    spec: type[CheckSpec]
    """What people write."""

    check: Callable[[CheckSpec, EndState | None, EndState], Sequence[Check]]
    """What is found in the state after, given the state before where it is known. What it raises is a gap."""


@cache
def kinds() -> Mapping[str, CheckKind]:
    """Return the kinds that other packages bring, by name. One of spanproof's own names is not taken over."""
    from importlib.metadata import entry_points

    found: dict[str, CheckKind] = {}
    for point in entry_points(group=GROUP):
        if point.name in BUILT_IN:
            continue
        loaded = point.load()
        if not isinstance(loaded, CheckKind):
            raise TypeError(f"entry point {point.name} of {GROUP} is no CheckKind")
        found[point.name] = loaded
    return found


def _kind(value: object) -> str:
    """Return the tag of a check: its kind, where it is one of spanproof's own."""
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return kind if isinstance(kind, str) and kind in BUILT_IN else OTHER


def _other(value: object) -> CheckSpec:
    """Return a check of a kind that another package brings.

    Raises:
        ValueError: nobody knows that kind, or it refuses what is written.
    """
    if isinstance(value, CheckSpec):
        return value
    kind = value.get("kind") if isinstance(value, dict) else None
    known = kinds()
    if not isinstance(kind, str) or kind not in known:
        names = ", ".join(sorted({*BUILT_IN, *known}))
        raise ValueError(f"kind {kind!r} does not match any of {names}")
    try:
        return known[kind].spec.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{kind}{'.' if where else ''}{where}: {first['msg']}") from error


_Other: TypeAlias = Annotated[
    CheckSpec,
    PlainValidator(_other),
    WithJsonSchema(
        {
            "title": "A kind that another package brings",
            "type": "object",
            "required": ["kind"],
            "properties": {"kind": {"type": "string", "not": {"enum": list(BUILT_IN)}}},
        }
    ),
]

AnyCheck: TypeAlias = SerializeAsAny[
    Annotated[
        Annotated[RowsCheck, Tag("rows")]
        | Annotated[FilesCheck, Tag("files")]
        | Annotated[UnchangedCheck, Tag("unchanged")]
        | Annotated[AnswerCheck, Tag("answer")]
        | Annotated[PythonCheck, Tag("python")]
        | Annotated[CommandCheck, Tag("command")]
        | Annotated[SqlCheck, Tag("sql")]
        | Annotated[HttpCheck, Tag("http")]
        | Annotated[GitCheck, Tag("git")]
        | Annotated[_Other, Tag(OTHER)],
        Discriminator(_kind),
    ]
]
