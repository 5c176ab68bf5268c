"""JSON inside attributes: as a JSON string, as structure, or broken."""

import ast
import base64
import json
import math
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Final, cast

import msgspec

from spanproof_collector.model.readings import ABSENT, Recorded
from spanproof_collector.model.values import Attributes, Json, Value

DEEPEST: Final = 64
MOST: Final = 2**63 - 1
MOST_ATTEMPTS: Final = 2**31 - 1


class BrokenError(Exception):
    """A string that was to hold JSON and does not, as truncation leaves it."""


def to_json(value: "Value | Json") -> Json:
    """Return an attribute value as JSON: bytes as base64, non-finite numbers as strings."""
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case float() if not math.isfinite(value):
            return str(value)
        case list():
            return [to_json(item) for item in value]
        case dict():
            return {key: to_json(item) for key, item in value.items()}
        case _:
            return value


def decode(text: str) -> Json:
    """Return what a JSON text holds; what Python writes and JSON does not know (NaN, half a character) as text.

    Raises:
        BrokenError: the text is no JSON, or is nested deeper than anything that a person or a model writes.
    """
    try:
        decoded: Json = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        decoded = _leniently(text)
    except RecursionError as error:
        raise BrokenError("nested too deep") from error
    # so deep a text has so many brackets: nearly every one is told by counting them
    if text.count("[") + text.count("{") > DEEPEST and deeper_than(decoded, DEEPEST):
        raise BrokenError("nested too deep")
    return decoded


def _leniently(text: str) -> Json:
    try:
        decoded: Json = json.loads(text, parse_constant=str)
        return _whole(decoded)
    except (ValueError, RecursionError) as error:
        raise BrokenError(str(error)) from error


def _whole(value: Json) -> Json:
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list():
            return [_whole(item) for item in value]
        case dict():
            return {str(_whole(key)): _whole(item) for key, item in value.items()}
        case _:
            return value


def deeper_than(value: Recorded, limit: int) -> bool:
    """True where more lists and objects lie in each other than the limit, the value itself among them."""
    level: list[list[Json] | dict[str, Json]] = [value] if isinstance(value, _NESTING) else []
    for _ in range(limit):
        inner: list[list[Json] | dict[str, Json]] = []
        for item in level:
            for each in item if isinstance(item, list) else item.values():
                if isinstance(each, _NESTING):
                    inner.append(each)
        if not inner:
            return False
        level = inner
    return True


_NESTING: Final = (list, dict)


def structure(value: Value) -> Json:
    """Return structure whichever way it was written: as an AnyValue, or as a JSON string, or as one in another.

    Raises:
        BrokenError: it is a string and no JSON.
    """
    if not isinstance(value, str):
        return to_json(value)
    found = decode(value)
    return decode(found) if isinstance(found, str) and found[:1] in ("[", "{") else found


def loose(value: "Value | Json") -> Json:
    """Return a payload: a string that holds a JSON object or array, or such a string once more, is opened."""
    if not isinstance(value, str):
        return to_json(value)
    first = value.lstrip()[:1]
    if first not in ("{", "[", '"'):
        return value
    try:
        opened = decode(value)
    except BrokenError:
        return value
    if isinstance(opened, str):
        inner = loose(opened)
        return value if isinstance(inner, str) else inner
    return opened


def unblocked(opened: Recorded) -> Recorded:
    """Return a tool's answer out of the single block that Anthropic or Bedrock puts around it; any other as it is."""
    match opened:
        case [{"type": "text", "text": str() as said}]:
            return loose(said)
        case [{"text": str() as said, **rest}] if not rest:
            return loose(said)
        case [{"json": inner, **rest}] if not rest:
            return inner
        case _:
            return opened


def literal(value: str) -> Json:
    """Return what Python's ``str()`` made of arguments, ``{'a': 1}``; a text that is no such thing as it is."""
    if value[:1] not in ("{", "[") or len(value) > _LONGEST_LITERAL or sum(map(value.count, "[{(")) > DEEPEST:
        return value
    try:
        found = ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value
    return to_json(found) if isinstance(found, dict | list) and _is_json(found) else value


_LONGEST_LITERAL: Final = 100_000


def _is_json(value: object) -> bool:
    match value:
        case dict():
            return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
        case list():
            return all(map(_is_json, value))
        case _:
            return value is None or isinstance(value, str | int | float)


def recorded(attributes: Attributes, key: str) -> Recorded:
    """Return the payload under a key, or ``ABSENT`` where the key was not sent or is empty."""
    value = attributes.get(key)
    return ABSENT if value is None else loose(value)


def broken(value: Recorded) -> bool:
    """True for a string that begins like a JSON object or array and is none: cut short."""
    return isinstance(value, str) and value.lstrip()[:1] in ("{", "[")


def word(attributes: Mapping[str, Value], key: str) -> str:
    """Return the name under a key, or ``""``. An id may have been sent as a number."""
    value = attributes.get(key)
    return value if isinstance(value, str) else spelled(value)


def spelled(value: Value) -> str:
    """Return a name, ``""`` for what is none."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def text(attributes: Mapping[str, Value], *keys: str) -> str | None:
    """Return the first non-empty string under these keys."""
    for key in keys:
        value = attributes.get(key)
        if value and isinstance(value, str):
            return value
    return None


def count(attributes: Mapping[str, Value], *keys: str, most: int = MOST) -> int | None:
    """Return the first whole number under these keys; languages write it as int, double or string.

    A number below 0, as some senders mark what they do not know, and one past ``most`` is no count.
    """
    for key in keys:
        if key in attributes:
            value = attributes[key]
            number = value if type(value) is int else _whole_number(value)
            if number is not None and 0 <= number <= most:
                return number
    return None


def _whole_number(value: Value) -> int | None:
    if isinstance(value, str):
        return int(value) if len(value) < 20 and value.isascii() and value.isdigit() else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def strings(attributes: Mapping[str, Value], key: str) -> tuple[str, ...]:
    """Return a list of strings, sent as an array or as a JSON string."""
    value = attributes.get(key)
    if value is None:
        return ()
    if isinstance(value, list):
        return tuple([item if isinstance(item, str) else str(to_json(item)) for item in value if item is not None])
    items = loose(value)
    return tuple(str(item) for item in items if item is not None) if isinstance(items, list) else (str(items),)


def as_attributes(payload: Json) -> Mapping[str, Value]:
    """Return a JSON object as attributes, so that what reads those reads it; nothing where it is no object."""
    return cast("Mapping[str, Value]", payload) if isinstance(payload, dict) else {}


def amount(value: "Value | Json") -> Decimal | None:
    """Return an amount of USD, of a double the 15 digits that it holds; ``None`` where it is no amount."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        found = Decimal(f"{value:.{_DIGITS}g}" if isinstance(value, float) else str(value))
    except (InvalidOperation, ValueError):
        return None
    known = found.is_finite() and found >= 0 and (found == 0 or abs(found.adjusted()) <= _DIGITS)
    return found if known else None


_DIGITS: Final = 15
"""What a double can hold of a decimal number, and the greatest power of ten of an amount."""


def number(value: "Value | Json") -> float | None:
    """Return a finite number, or ``None``."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None
