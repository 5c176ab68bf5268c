"""Whether a call's arguments are those of a reference, parameter by parameter (evaluators.md B24)."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.expected_effects import differing
from spanproof_evaluators.model.suites import ReferenceCall
from spanproof_evaluators.rules._normalising import NORMALISED

Fault: TypeAlias = Literal["missing", "unexpected", "differs"]

_EXACT_TYPES: Final = frozenset({"number", "integer", "boolean", "null", "object", "array"})
_EXACT_KEYS: Final = ("enum", "const", "format")


def faults_of(reference: ReferenceCall, given: Plain, schema: Plain) -> dict[str, Fault]:
    """Return what is wrong with the arguments of a call of the reference's tool, by parameter; ``""`` stands for all.

    A value fits where it equals the reference's, or one that it accepts instead: exactly, numbers by their value. A
    text that the reference marks is compared as it says, unless the tool's schema makes it an enumeration, or gives it
    a format or another type than text. What is optional may be absent. What the reference does not name is unexpected.
    """
    wanted = reference.arguments
    if not isinstance(given, Mapping):
        return {} if not wanted and given in (None, "") else {"": "differs"}
    found: dict[str, Fault] = {}
    for name, value in wanted.items():
        if name not in given:
            if name not in reference.optional:
                found[name] = "missing"
        elif not any(
            _fits(reference, name, one, given[name], schema) for one in (value, *reference.accept.get(name, ()))
        ):
            found[name] = "differs"
    return found | {name: "unexpected" for name in given if name not in wanted}


def _fits(reference: ReferenceCall, name: str, wanted: Plain, given: Plain, schema: Plain) -> bool:
    kind = reference.normalise.get(name)
    if kind is not None and isinstance(wanted, str) and isinstance(given, str) and not _exact(schema, name):
        return NORMALISED[kind](wanted) == NORMALISED[kind](given)
    return not differing([wanted], [given])


def _exact(schema: Plain, name: str) -> bool:
    """Return whether a tool's schema says that a parameter is no free text."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    about = properties.get(name) if isinstance(properties, Mapping) else None
    if not isinstance(about, Mapping):
        return False
    kinds = about.get("type")
    named: Sequence[Plain] = kinds if isinstance(kinds, list) else [kinds]
    other = any(isinstance(one, str) and one.lower() in _EXACT_TYPES - {"null"} for one in named)
    return other or any(key in about for key in _EXACT_KEYS)
