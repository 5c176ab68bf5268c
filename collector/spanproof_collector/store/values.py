"""How attribute values, events, links, resources and scopes lie in the store, without loss.

An AnyValue is one type number and one text. The low four bits of the number say what the AnyValue was, the two bits
above say where its text is:

    0 EMPTY    ""                        4 DOUBLE   repr, or NaN, Infinity, -Infinity
    1 STRING   the string itself         5 ARRAY    OTLP/JSON: [{AnyValue},…]
    2 BOOL     true | false              6 KVLIST   OTLP/JSON: [{"key":…,"value":{AnyValue}},…]
    3 INT      decimal                   7 BYTES    base64

    0x00 INLINE   the text is in the row
    0x10 WHOLE    the row holds the hash of one content row with the text
    0x20 LIST     the text is a JSON array, its elements are content rows: the row holds their hashes joined by " ";
                  the text is "[" + ",".join(bodies) + "]"
    0x30 SPACED   the same, joined by ", ": what json.dumps writes

A hash is the first 32 hex digits of the body's sha256 (UTF-8). Texts of OUT_OF_LINE bytes or more go out of line, JSON
arrays of LIST_OUT_OF_LINE or more: a model's answer is an element of the next call's history. A text becomes LIST or
SPACED only when joining gives back the same bytes and its elements average LIST_ELEMENT bytes or more (else the hashes
would outweigh them); else it is WHOLE. Texts of fewer than SHORT characters stay in the row. Readers rely on no limit.

Inside ARRAY and KVLIST an AnyValue is spelled as OTLP/JSON does: {"stringValue":"x"}, {"boolValue":true},
{"intValue":"7"}, {"doubleValue":0.5} (or "NaN", "Infinity", "-Infinity"), {"bytesValue":"<base64>"},
{"arrayValue":{"values":[…]}}, {"kvlistValue":{"values":[{"key":…,"value":{…}},…]}}, and {} when it is empty.

The columns `events`, `links`, `resource` and `scope` hold compact JSON. ATTRIBUTES is a list of [key, type, text] in
the order sent, duplicates kept; long texts go out of line there too, into the same content rows:

    events    "" when there is none, else
              [{"time":"<ns>","name":"…","attributes":ATTRIBUTES,"dropped":0},…]
    links     "" when there is none, else
              [{"trace_id":"<hex>","span_id":"<hex>","trace_state":"","attributes":ATTRIBUTES,"dropped":0,"flags":0},…]
    resource  {"attributes":ATTRIBUTES,"dropped":0,"schema_url":""}
    scope     {"name":"","version":"","attributes":ATTRIBUTES,"dropped":0,"schema_url":""}

`dropped` is OTLP's dropped_attributes_count. A reader takes an absent member, and an empty text, for the default.
Texts of a resource or a scope always stay in the row: many traces share it, and content rows belong to one trace.
"""

import base64
import hashlib
import json
import math
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

import msgspec

from spanproof_collector.model.values import Value

EMPTY: Final = 0
STRING: Final = 1
BOOL: Final = 2
INT: Final = 3
DOUBLE: Final = 4
ARRAY: Final = 5
KVLIST: Final = 6
BYTES: Final = 7

INLINE: Final = 0x00
WHOLE: Final = 0x10
LIST: Final = 0x20
SPACED: Final = 0x30

OUT_OF_LINE: Final = 512
LIST_OUT_OF_LINE: Final = 256
SHORT: Final = 128
LIST_ELEMENT: Final = 48

_KIND: Final = 0x0F
_PLACE: Final = 0x30

_raw_elements: Final = msgspec.json.Decoder(list[msgspec.Raw])
_NON_FINITE: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

Tree: TypeAlias = "str | bool | int | float | list[Tree] | dict[str, Tree] | None"


class Encoded(NamedTuple):
    """A value as it lies in a row, and the content rows it refers to, as (hash, body)."""

    type: int
    text: str
    content: tuple[tuple[str, str], ...] = ()


class LostContentError(LookupError):
    """A content row that a value refers to is not there."""


def encode(value: Value, *, inline: bool = False) -> Encoded:
    """Return the value as it is stored; with ``inline`` its text stays in the row, however long.

    This is the reference. The receiver encodes protobuf messages by the same rules.
    """
    kind, text = _spell(value)
    if inline or len(text) < SHORT or len(text.encode()) < LIST_OUT_OF_LINE:
        return Encoded(kind, text)
    return place(kind, text)


def place(kind: int, text: str) -> Encoded:
    """Return a text out of line: as a list where joining gives it back and pays, else, if it is long, whole."""
    if text.startswith("[") and kind in (STRING, ARRAY, KVLIST):
        elements = split_list(text)
        if elements is not None:
            place_of_list, bodies = elements
            rows = tuple((content_hash(body), body) for body in bodies)
            return Encoded(kind | place_of_list, " ".join([digest for digest, _ in rows]), rows)
    if len(text.encode()) < OUT_OF_LINE:
        return Encoded(kind, text)
    digest = content_hash(text)
    return Encoded(kind | WHOLE, digest, ((digest, text),))


def split_list(text: str) -> tuple[int, list[str]] | None:
    """Return LIST or SPACED and the elements of a JSON array; ``None`` where joining would not give the text back."""
    try:
        elements = [bytes(element).decode() for element in _raw_elements.decode(text)]
    except (msgspec.MsgspecError, RecursionError):
        return None
    if len(text) < LIST_ELEMENT * len(elements) or not elements:
        return None
    if len(text) == 1 + sum(map(len, elements)) + len(elements) and text == f"[{','.join(elements)}]":
        return LIST, elements
    if text == f"[{', '.join(elements)}]":
        return SPACED, elements
    return None


def content_hash(body: str) -> str:
    """Return the name of a content row: the first half of its sha256, in hex."""
    return hashlib.sha256(body.encode()).hexdigest()[:32]


def decode(type_number: int, text: str, content: Mapping[str, str]) -> Value:
    """Return the value that was sent. ``content`` holds the bodies of its trace by hash.

    Raises:
        LostContentError: a content row that the value refers to is not there.
    """
    where = type_number & _PLACE
    if where:
        text = _fetch(where, text, content)
    match type_number & _KIND:
        case 1:  # STRING
            return text
        case 2:  # BOOL
            return text == "true"
        case 3:  # INT
            return int(text)
        case 4:  # DOUBLE
            return _number(text)
        case 5:  # ARRAY
            return _array(json.loads(text))
        case 6:  # KVLIST
            return _kvlist(json.loads(text))
        case 7:  # BYTES
            return base64.b64decode(text)
        case _:  # EMPTY
            return None


def whole_text(type_number: int, text: str, content: Mapping[str, str]) -> tuple[int, str]:
    """Return what the AnyValue was and its text, wherever that lies. ``content`` holds the bodies of its trace by hash.

    Raises:
        LostContentError: a content row that the value refers to is not there.
    """
    where = type_number & _PLACE
    return type_number & _KIND, _fetch(where, text, content) if where else text


def _fetch(where: int, text: str, content: Mapping[str, str]) -> str:
    try:
        if where == WHOLE:
            return content[text]
        return f"[{(',' if where == LIST else ', ').join([content[digest] for digest in text.split(' ')])}]"
    except KeyError as error:
        raise LostContentError(f"no content row {error.args[0]}") from error


def _number(text: str) -> float:
    # Not float(): it would take "nan" and "1_0" as well, which nobody sends.
    special = _NON_FINITE.get(text)
    return float(text) if special is None else special


def _any_value(value: Tree) -> Value:
    for name, content in value.items() if isinstance(value, dict) else ():
        match name, content:
            case "stringValue" | "boolValue", str() | bool():
                return content
            case "intValue", int() | str():
                return int(content)
            case "doubleValue", str():
                return _number(content)
            case "doubleValue", int() | float():
                return float(content)
            case "bytesValue", str():
                return base64.b64decode(content)
            case "arrayValue", dict():
                return _array(content.get("values"))
            case "kvlistValue", dict():
                return _kvlist(content.get("values"))
            case _:
                continue
    return None


def _array(elements: Tree) -> list[Value]:
    return [_any_value(element) for element in elements] if isinstance(elements, list) else []


def _kvlist(pairs: Tree) -> dict[str, Value]:
    # Of duplicate keys the last one: a Python dict holds no more. The stored text keeps them all.
    found: dict[str, Value] = {}
    for pair in pairs if isinstance(pairs, list) else ():
        if isinstance(pair, dict):
            found[str(pair.get("key", ""))] = _any_value(pair.get("value"))
    return found


def _spell(value: Value) -> tuple[int, str]:
    match value:
        case None:
            return EMPTY, ""
        case str():
            return STRING, value
        case bool():
            return BOOL, "true" if value else "false"
        case int():
            return INT, str(value)
        case float():
            return DOUBLE, _spell_number(value)
        case list():
            return ARRAY, _compact([_tree(element) for element in value])
        case dict():
            return KVLIST, _compact(_pairs(value))
        case bytes():
            return BYTES, base64.b64encode(value).decode()


def _spell_number(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _tree(value: Value) -> Tree:
    match value:
        case None:
            return {}
        case str():
            return {"stringValue": value}
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value if math.isfinite(value) else _spell_number(value)}
        case list():
            return {"arrayValue": {"values": [_tree(element) for element in value]}}
        case dict():
            return {"kvlistValue": {"values": _pairs(value)}}
        case bytes():
            return {"bytesValue": base64.b64encode(value).decode()}


def _pairs(value: Mapping[str, Value]) -> list[Tree]:
    return [{"key": key, "value": _tree(element)} for key, element in value.items()]


def _compact(tree: Tree) -> str:
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))
