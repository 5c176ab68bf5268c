"""Whether arguments are of a tool's JSON Schema. Both come out of traces: nothing here follows what they say.

References to other documents are not fetched. Regular expressions (``pattern``) are not tried: one of them can be
written so that it never ends. A schema that rests on them (``patternProperties``) cannot be read.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, TypeAlias, cast

import msgspec

from spanproof_evaluators.model.canonical import Plain, canonical

Validate: TypeAlias = Callable[[Plain], str | None]
"""Arguments in; the first thing that is wrong with them, ``None`` where nothing is.

Raises:
    UnreadableError: it cannot be said.
"""

_GEMINI: Final = frozenset({"OBJECT", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "NULL"})
"""Gemini spells types in capitals."""


class UnreadableError(Exception):
    """A schema is none, or arguments cannot be held against it."""


def validator_of(schema: Plain) -> Validate:
    """Return what holds arguments against a schema.

    Raises:
        UnreadableError: the schema is none, refers to other documents or rests on regular expressions.
    """
    return _made(canonical(schema))


@lru_cache(maxsize=512)
def _made(text: str) -> Validate:
    from jsonschema import validators
    from jsonschema.exceptions import SchemaError
    from referencing import Registry

    try:
        schema = msgspec.json.decode(text)
    except (RecursionError, msgspec.DecodeError) as error:
        raise UnreadableError("the schema is too deep") from error
    if not isinstance(schema, dict):
        raise UnreadableError("the schema is no object")
    for part in _parts(schema):
        if isinstance(part.get("patternProperties"), dict) and part["patternProperties"]:
            raise UnreadableError("the schema rests on regular expressions")
        if isinstance(part.get("type"), str) and part["type"] in _GEMINI:
            part["type"] = str(part["type"]).lower()
    kind = validators.validator_for(schema, default=validators.validator_for({"$schema": _DRAFT}))
    try:
        kind.check_schema(schema)
    except (SchemaError, RecursionError) as error:
        raise UnreadableError(f"the schema is none: {str(error).splitlines()[0]}") from error
    checked = validators.extend(kind, {"pattern": None})  # type: ignore[no-untyped-call]  # None takes the keyword out
    checker = checked(schema, registry=Registry())

    def validate(arguments: Plain) -> str | None:
        try:
            first = next(iter(checker.iter_errors(arguments)), None)
        except Exception as error:  # a reference that leads nowhere, or around in a circle
            raise UnreadableError(f"the schema cannot be followed: {type(error).__name__}") from error
        return None if first is None else _words(first.message, cast("object", first.absolute_path))

    return validate


_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


def _words(message: str, path: object) -> str:
    where = ".".join(str(step) for step in path) if hasattr(path, "__iter__") else ""
    return f"{where}: {message[:200]}" if where else message[:200]


def _parts(schema: dict[str, Plain]) -> Iterator[dict[str, Plain]]:
    """Yield every object in a schema."""
    rest: list[Plain] = [schema]
    while rest:
        match rest.pop():
            case dict() as part:
                yield part
                rest.extend(part.values())
            case list() as items:
                rest.extend(items)
            case _:
                pass
