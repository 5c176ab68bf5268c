"""Reads attributes, for the columns of a row and for dialects; those spelled as before are looked up, not parsed.

Of one that is new, a plain string is cut out of its bytes; whatever else it is, protobuf reads.
"""

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from opentelemetry.proto.common.v1 import common_pb2

from spanproof_collector.model.values import Value
from spanproof_collector.otlp import any_values
from spanproof_collector.otlp.content import TracePlacer
from spanproof_collector.otlp.plain import ATTRIBUTE, refuse_deep_part
from spanproof_collector.otlp.wire import varint
from spanproof_collector.store.values import SHORT, STRING

_SHORT: Final = 128
"""Attributes of fewer bytes are remembered when they come again, if their texts never go out of line."""

_MOST_KNOWN: Final = 20_000
"""So many attributes are remembered, some 10 MB; then all are forgotten, and the common ones are back at once."""

_Attribute: TypeAlias = tuple[str, int, str, tuple[str, Value]]
"""Key, type number, text, and key with value for a dict. Spans share them: nobody may change a value in place."""

_known: Final[dict[bytes, _Attribute]] = {}
_met: Final[set[int]] = set()
"""Hashes of those met once: ids and answers never come again, and remembering each costs more than reading it."""

_keys: Final[dict[bytes, str]] = {}
_parse = common_pb2.KeyValue.FromString
_read = any_values.read

_KEY: Final = 0x0A
_VALUE: Final = 0x12
_TEXT: Final = 0x0A
"""Tags: of the key and the value in a pair, of a string in a value."""

_HEADS: Final = tuple(bytes((_VALUE, size + 2, _TEXT, size)) for size in range(126))
"""What stands before a text of each size in a pair: it is a value, of that length, and a string."""

_ONE_BYTE: Final = len(_HEADS) + 4
"""A value of fewer bytes, with its head, has lengths of one byte."""


def read_attributes(
    bodies: Iterable[bytes], placer: TracePlacer | None, *, sent: bool = False
) -> tuple[list[str], bytes, list[str], dict[str, Value]]:
    """Return keys, type numbers and texts in the order sent, and the values by key, of duplicates the last one.

    Args:
        bodies: the protobuf bytes of each KeyValue.
        placer: takes long texts out of line; ``None`` where every text stays in the row.
        sent: the bytes are as they were sent, and nobody has looked whether they can be read.

    Raises:
        ProtobufError: an attribute, as sent, cannot be read.
    """

    known = _known.get
    found: list[Any] = []  # all of them in one list: to cut it in four costs half of what transposing tuples does
    for body in bodies:
        found += known(body) or _read_new(body, placer, sent) if len(body) < _SHORT else _read_new(body, placer, sent)
    return found[::4], bytes(found[1::4]), found[2::4], dict(found[3::4])


def _read_new(body: bytes, placer: TracePlacer | None, sent: bool) -> _Attribute:
    cut = _cut(body)
    if cut is None:
        if sent:
            refuse_deep_part(ATTRIBUTE, body)
        pair = _parse(body)
        key = pair.key
        kind, text, value = _read(pair.value)
        raw = text.encode() if len(text) >= SHORT else b""
    else:
        key, text, raw = cut
        kind, value = STRING, text
    if len(text) >= SHORT:
        if placer is not None:
            kind, text = placer.place(kind, text, raw)
    elif len(body) < _SHORT:
        if (code := hash(body)) in _met:
            if len(_known) >= _MOST_KNOWN:
                _known.clear()
            _known[body] = key, kind, text, (key, value)
        else:
            if len(_met) >= _MOST_KNOWN:
                _met.clear()
            _met.add(code)
    return key, kind, text, (key, value)


def _cut(body: bytes) -> tuple[str, str, bytes] | None:
    """Return the key of a string spelled as we would, its text, and the text's bytes; ``None`` for whatever else.

    The lengths must be spelled as short as can be and make up the whole, so there is one way to spell them.
    """
    size = len(body)
    if size < 6 or body[0] != _KEY or not 0 < body[1] < 0x80:
        return None
    at = body[1] + 2
    if size - at < _ONE_BYTE:
        start = at + 4
        if start > size or not body.startswith(_HEADS[size - start], at):
            return None
    else:
        start = at + 6  # two bytes for each length
        text, value = size - start, size - start + 3
        if value < 1 << 14:
            head = bytes((_VALUE, value & 0x7F | 0x80, value >> 7, _TEXT, text & 0x7F | 0x80, text >> 7))
        else:
            start = at + 8  # three bytes
            text, value = size - start, size - start + 4
            head = b"".join((b"\x12", varint(value), b"\x0a", varint(text)))
        if text < 1 << 7 or body[at:start] != head:
            return None
    spelled = body[2:at]
    try:
        key = _keys.get(spelled)
        if key is None:
            if len(_keys) >= _MOST_KNOWN:
                _keys.clear()
            key = _keys[spelled] = spelled.decode()
        raw = body[start:]
        return key, raw.decode(), raw
    except UnicodeDecodeError:
        return None


def spelled_attributes(pairs: Iterable[common_pb2.KeyValue], placer: TracePlacer | None) -> list[tuple[str, int, str]]:
    """Return attributes as they are spelled inside JSON columns, as [key, type number, text].

    Args:
        pairs: the attributes of an event, link, resource or scope.
        placer: takes long texts out of line; ``None`` where every text stays in the row.
    """
    spelled = []
    for pair in pairs:
        kind, text, _ = _read(pair.value)
        if placer is not None:
            kind, text = placer.place(kind, text)
        spelled.append((pair.key, kind, text))
    return spelled
