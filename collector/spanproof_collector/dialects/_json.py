"""JSON inside attributes: as a JSON string, as structure, or broken."""

import base64
import math
from collections.abc import Mapping

import msgspec

from spanproof_collector.model.readings import ABSENT, Recorded
from spanproof_collector.model.values import Attributes, Json, Value


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


def decode(text: str | bytes) -> Json:
    """Return what a JSON text holds.

    Raises:
        BrokenError: the text is no JSON.
    """
    try:
        decoded: Json = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BrokenError(str(error)) from error
    return decoded


def structure(value: Value) -> Json:
    """Return structure whichever way it was written: as an AnyValue, or as a JSON string.

    Raises:
        BrokenError: it is a string and no JSON.
    """
    return decode(value) if isinstance(value, str) else to_json(value)


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


def unblocked(opened: Json) -> Json:
    """Return a tool's answer out of the single text block that Anthropic puts around it; any other as it is."""
    match opened:
        case [{"type": "text", "text": str() as said}]:
            return loose(said)
        case _:
            return opened


def recorded(attributes: Attributes, key: str) -> Recorded:
    """Return the payload under a key, or ``ABSENT`` where the key was not sent or is empty."""
    value = attributes.get(key)
    return ABSENT if value is None else loose(value)


def broken(value: Recorded) -> bool:
    """True for a string that begins like a JSON object or array and is none: cut short."""
    return isinstance(value, str) and value.lstrip()[:1] in ("{", "[")


def word(attributes: Mapping[str, Value], key: str) -> str:
    """Return the string under a key, or ``""``: what a column of the projection holds."""
    value = attributes.get(key)
    return value if isinstance(value, str) else ""


def text(attributes: Mapping[str, Value], *keys: str) -> str | None:
    """Return the first non-empty string under these keys."""
    for key in keys:
        value = attributes.get(key)
        if value and isinstance(value, str):
            return value
    return None


def count(attributes: Mapping[str, Value], *keys: str) -> int | None:
    """Return the first whole number under these keys; languages write it as int, double or string."""
    for key in keys:
        value = attributes.get(key)
        if value is None or isinstance(value, bool):
            continue
        if isinstance(value, int):
            return value
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, str) and value.strip().isdigit():
            return int(value)
    return None


def strings(attributes: Mapping[str, Value], key: str) -> tuple[str, ...]:
    """Return a list of strings, sent as an array or as a JSON string."""
    value = attributes.get(key)
    if value is None:
        return ()
    items = loose(value)
    return tuple(str(item) for item in items if item is not None) if isinstance(items, list) else (str(items),)
