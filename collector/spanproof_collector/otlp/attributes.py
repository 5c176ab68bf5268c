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
    size = len(body)
    at = body[1] + 2 if size > 1 else size  # where the value begins
    key = _keys.get(body[:at]) or _read_key(body[:at])
    start = at + 4  # where the text does, after two tags and two lengths
    if size - start < len(_HEADS):
        plain = start <= size and body.startswith(_HEADS[size - start], at)
    else:
        length, head = _long_head(size - at)
        start = at + length
        plain = body[at:start] == head
    raw = None
    value: Value
    if key and plain:
        raw = body[start:]
        try:
            value = text = raw.decode()
            kind = STRING
        except UnicodeDecodeError:
            raw = None
    if raw is None:
        if sent:
            refuse_deep_part(ATTRIBUTE, body)
        pair = _parse(body)
        key = pair.key
        kind, text, value = _read(pair.value)
    if len(text) >= SHORT:
        if placer is not None:
            kind, text = placer.place(kind, text, raw)
    elif size < _SHORT:
        if (code := hash(body)) in _met:
            if len(_known) >= _MOST_KNOWN:
                _known.clear()
            _known[body] = key, kind, text, (key, value)
        else:
            if len(_met) >= _MOST_KNOWN:
                _met.clear()
            _met.add(code)
    return key, kind, text, (key, value)


def _read_key(spelled: bytes) -> str:
    """Return a key that is spelled as we would, in less than 128 bytes; ``""`` for whatever else."""
    size = len(spelled) - 2
    if not 0 < size < 0x80 or spelled[0] != _KEY or spelled[1] != size:
        return ""
    try:
        key = spelled[2:].decode()
    except UnicodeDecodeError:
        return ""
    if len(_keys) >= _MOST_KNOWN:
        _keys.clear()
    _keys[spelled] = key
    return key


def _long_head(size: int) -> tuple[int, bytes]:
    """Return how many bytes stand before a text of 126 bytes or more, and which; ``size``: theirs and the text's."""
    text = size - 6  # two bytes for each length
    if text + 3 < 1 << 14:
        value = text + 3
        return 6, bytes((_VALUE, value & 0x7F | 0x80, value >> 7, _TEXT, text & 0x7F | 0x80, text >> 7))
    text = size - 8  # three bytes
    return 8, b"".join((b"\x12", varint(text + 4), b"\x0a", varint(text)))


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
