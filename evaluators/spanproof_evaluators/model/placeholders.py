"""Placeholders: what a text says of each trial anew, such as ``worlds/{trial_id}`` or ``{label.order}``.

Their values come out of traces. In a path, an address or a command, only letters, digits, ``_``, ``.`` and ``-`` may
stand for one, and no value that begins with ``-`` or consists of dots: whoever writes a label must not choose the file.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, TypeVar
from urllib.parse import quote

from pydantic import JsonValue

from spanproof_evaluators.errors import EvaluatorError
from spanproof_evaluators.model.checks import CheckSpec

NAMES: Final = ("project", "trial_id", "session_id", "task_id", "suite", "variant", "attempt", "agent")
"""What a placeholder may name, beside ``label.KEY``."""

PLACEHOLDER: Final = re.compile(r"(?<!\$)\{(" + "|".join(NAMES) + r"|label\.[^{}\s]+)\}")
ANY_PLACEHOLDER: Final = re.compile(r"(?<!\$)\{([^{}]*)\}")
_SAFE: Final = re.compile(r"(?!-)(?!\.+$)[\w.-]+")

Values: TypeAlias = Mapping[str, str]
SpecT = TypeVar("SpecT", bound=CheckSpec)


class PlaceholderError(EvaluatorError):
    """A placeholder that nothing can stand for."""

    def __init__(self, reason: str, name: str) -> None:
        super().__init__(f"{reason}: {{{name}}}")
        self.reason = reason
        self.name = name


def strictly(value: str, name: str) -> str:
    """Return a value that may stand in a path, an address or a command.

    Raises:
        PlaceholderError: it could mean something else there.
    """
    if not _SAFE.fullmatch(value):
        raise PlaceholderError("placeholder_unsafe", name)
    return value


def _quoted(value: str, name: str) -> str:
    if not value.strip("."):
        raise PlaceholderError("placeholder_unsafe", name)
    return quote(value, safe="")


def filled(text: str, values: Values, escape: Callable[[str, str], str] = strictly) -> str:
    """Return a text with every placeholder filled in.

    Raises:
        PlaceholderError: the trial has no such value, or one that is not safe there.
    """

    def value(found: re.Match[str]) -> str:
        name = found[1]
        if name not in values:
            raise PlaceholderError("placeholder_without_value", name)
        return escape(values[name], name)

    return PLACEHOLDER.sub(value, text)


def filled_check(spec: SpecT, values: Values) -> SpecT:
    """Return a check with every placeholder filled in; the same one where there is none.

    Raises:
        PlaceholderError: the trial has no such value, or one that is not safe there.
    """

    def deep(value: JsonValue, where: str) -> JsonValue:
        if where in spec.literal:
            return value
        if isinstance(value, dict):
            return {key: deep(item, f"{where}.{key}") for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [deep(item, where) for item in value]
        if not isinstance(value, str):
            return value
        top = where.partition(".")[0]
        if top in spec.raw:
            return filled(value, values, lambda text, name: text)
        return filled(value, values, _quoted if top in spec.quoted else strictly)

    written = spec.model_dump(mode="python", exclude_unset=True) | {"kind": spec.kind}
    new = {key: deep(value, key) for key, value in written.items()}
    return spec if new == {k: _lists(v) for k, v in written.items()} else type(spec).model_validate(new)


def _lists(value: JsonValue) -> JsonValue:
    """Return a value with its tuples as lists."""
    if isinstance(value, dict):
        return {key: _lists(item) for key, item in value.items()}
    return [_lists(item) for item in value] if isinstance(value, list | tuple) else value
