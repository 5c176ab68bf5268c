"""Looks at protobuf bytes without a schema: which signal they hold, and what is whole in a file that is cut off."""

from collections.abc import Collection, Iterator
from typing import Final, Literal, NamedTuple

_VARINT: Final = 0
_FIXED64: Final = 1
BYTES: Final = 2
_FIXED32: Final = 5
PATH: Final = (1, 2, 2)
"""The fields that lead to an item: of groups, of scope groups in them, of items in those."""


class Field(NamedTuple):
    """A field of a message."""

    number: int
    wire_type: int
    start: int
    """Where the field's tag begins."""

    value: int
    """Where its value begins."""

    end: int
    """Where it ends; past the end of the bytes for a field that is cut off."""


def signal_of(body: bytes) -> Literal["traces", "logs", "metrics"] | None:
    """Return which signal an Export request holds, or ``None`` where that cannot be told.

    The three requests nest alike: resource groups (1), scope groups in them (2), and in those the items (2).
    """
    for group in _inside(body, 0, len(body), 1):
        for scope in _inside(body, group.value, group.end, 2):
            for item in _inside(body, scope.value, scope.end, 2):
                found = _item_signal(body, item)
                if found is not None:
                    return found
    return None


def whole_part(body: bytes) -> tuple[bytes, bool]:
    """Return the request with what is whole of a body that may be cut off, and whether it was cut off.

    Spans before the cut are kept, those of the last, broken group too; bytes that are no protobuf give nothing.
    """
    part, cut = _whole(body, 0, len(body), PATH)
    return part, cut


def items(body: bytes) -> Iterator[bytes]:
    """Yield each span, log record or metric of a request."""
    for group in _inside(body, 0, len(body), 1):
        for scope in _inside(body, group.value, group.end, 2):
            for item in _inside(body, scope.value, scope.end, 2):
                yield body[item.value : item.end]


def alone(item: bytes) -> bytes:
    """Return a request that holds this item and nothing else."""
    for number in reversed(PATH):
        item = spelled(number, item)
    return item


def without(body: bytes, unwanted: Collection[bytes]) -> bytes | None:
    """Return the request without these items, or ``None`` where something around the items is cut off or broken."""
    return _without(body, 0, len(body), PATH, unwanted)


def groups(body: bytes) -> Iterator[bytes]:
    """Yield each resource group of a request as a request of its own."""
    for field in _inside(body, 0, len(body), 1):
        yield body[field.start : field.end]


def _whole(body: bytes, start: int, end: int, path: tuple[int, ...]) -> tuple[bytes, bool]:
    kept = start
    for field in fields(body, start, end):
        if field.end <= end:
            kept = field.end
            continue
        if field.wire_type == BYTES and len(path) > 1 and field.number == path[0]:
            inner, _ = _whole(body, field.value, end, path[1:])
            return body[start:kept] + spelled(path[0], inner), True
        return body[start:kept], True
    return body[start:kept], kept < end


def _without(body: bytes, start: int, end: int, path: tuple[int, ...], unwanted: Collection[bytes]) -> bytes | None:
    parts: list[bytes] = []
    reached = start
    for field in fields(body, start, end):
        reached = field.end
        if reached > end:
            return None
        if (field.number, field.wire_type) != (path[0], BYTES):
            parts.append(body[field.start : field.end])
        elif len(path) == 1:
            if body[field.value : field.end] not in unwanted:
                parts.append(body[field.start : field.end])
        else:
            inner = _without(body, field.value, field.end, path[1:], unwanted)
            if inner is None:
                return None
            parts.append(spelled(path[0], inner))
    return b"".join(parts) if reached == end else None


def spelled(number: int, value: bytes) -> bytes:
    """Return how protobuf spells a field that holds bytes."""
    return bytes([number << 3 | BYTES]) + varint(len(value)) + value


def _item_signal(body: bytes, item: Field) -> Literal["traces", "logs", "metrics"] | None:
    shape = {(field.number, field.wire_type): field for field in fields(body, item.value, item.end)}
    if (7, _FIXED64) in shape or (8, _FIXED64) in shape:  # a span's start and end
        return "traces"
    if shape.keys() & {(1, _FIXED64), (11, _FIXED64), (2, _VARINT), (6, BYTES), (8, _FIXED32)}:
        return "logs"  # times, severity, attributes, flags
    first = shape.get((1, BYTES))
    if first is None:
        return None
    if first.end - first.value == 16 and (2, BYTES) in shape:
        return "traces"
    return "metrics" if shape.keys() & {(number, BYTES) for number in (5, 7, 9, 10, 11)} else None


def _inside(body: bytes, start: int, end: int, number: int) -> Iterator[Field]:
    for field in fields(body, start, end):
        if field.number == number and field.wire_type == BYTES and field.end <= end:
            yield field


def fields(body: bytes, start: int, end: int) -> Iterator[Field]:
    """Yield the fields of one message; the last one may be cut off. Ends early at what is no field."""
    at = start
    while at < end:
        tag, value = _read_varint(body, at, end)
        number, wire_type = tag >> 3, tag & 7
        if value > end or number == 0:
            return
        match wire_type:
            case 0:
                _, stop = _read_varint(body, value, end)
            case 1:
                stop = value + 8
            case 2:
                length, value = _read_varint(body, value, end)
                stop = value + length
            case 5:
                stop = value + 4
            case _:
                return
        yield Field(number, wire_type, at, value, stop)
        at = stop


def _read_varint(body: bytes, at: int, end: int) -> tuple[int, int]:
    """Return the number and where it ends; an end past ``end`` where it is cut off or too long."""
    number = shift = 0
    while at < end and shift < 70:
        byte = body[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
    return 0, end + 1


def varint(number: int) -> bytes:
    """Return how protobuf spells a number."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
