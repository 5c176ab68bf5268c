"""Makes the resources and scopes of a protobuf request readable: a text that is not UTF-8 would cost all their spans.

Protobuf in Python reads no message with such a text in it, and most other languages send it. Spans and log records are
left as they are: those are read one by one, and refused one by one.
"""

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from spanproof_collector.otlp.wire import BYTES, PATH, Field, fields, varint

_MAX_DEPTH = 100
"""Protobuf reads nothing that is nested deeper."""


def mend(body: bytes, message: Descriptor) -> bytes | None:
    """Return the request with U+FFFD for what is not UTF-8 around its items; ``None`` where something is cut off."""
    return _mend(body, 0, len(body), message, PATH, _MAX_DEPTH)


def _mend(body: bytes, start: int, end: int, message: Descriptor, path: tuple[int, ...], depth: int) -> bytes | None:
    parts: list[bytes] = []
    reached = start
    for field in fields(body, start, end):
        reached = field.end
        if reached > end:
            return None
        part = _mended(body, field, message, path, depth)
        if part is None:
            return None
        parts.append(part)
    return b"".join(parts) if reached == end else None


def _mended(body: bytes, field: Field, message: Descriptor, path: tuple[int, ...], depth: int) -> bytes | None:
    as_it_is = body[field.start : field.end]
    known = message.fields_by_number.get(field.number)
    on_path = bool(path) and field.number == path[0]
    if known is None or field.wire_type != BYTES or depth == 0 or (on_path and len(path) == 1):
        return as_it_is
    value: bytes | None
    if known.type == FieldDescriptor.TYPE_STRING:
        value = body[field.value : field.end].decode(errors="replace").encode()
    elif known.message_type is not None:
        rest = path[1:] if on_path else ()
        value = _mend(body, field.value, field.end, known.message_type, rest, depth - 1)
    else:
        return as_it_is
    return None if value is None else varint(field.number << 3 | BYTES) + varint(len(value)) + value
