"""Reads attributes, for the columns of a row and for dialects; those spelled as before are looked up, not parsed."""

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from opentelemetry.proto.common.v1 import common_pb2

from spanproof_collector.model.values import Value
from spanproof_collector.otlp import any_values
from spanproof_collector.otlp.content import Placer
from spanproof_collector.store.values import SHORT

_SHORT: Final = 128
"""Attributes of fewer bytes are remembered, if their texts never go out of line."""

_MOST_KNOWN: Final = 20_000
"""So many attributes are remembered, some 10 MB; then all are forgotten, and the common ones are back at once."""

_Attribute: TypeAlias = tuple[str, int, str, Value]
"""Key, type number, text, value. They are shared by spans: nobody may change a value in place."""

_known: Final[dict[bytes, _Attribute]] = {}
_parse = common_pb2.KeyValue.FromString
_read = any_values.read


def read_attributes(
    bodies: Sequence[bytes], placer: Placer, project_name: str, trace_id: str
) -> tuple[Sequence[str], bytes, Sequence[str], dict[str, Value]]:
    """Return keys, type numbers and texts in the order sent, and the values by key, of duplicates the last one.

    Args:
        bodies: the protobuf bytes of each KeyValue.
        placer: takes long texts out of line.
        project_name: the project of the content rows.
        trace_id: the trace of the content rows; without one every text stays in the row.
    """
    if not bodies:
        return (), b"", (), {}

    def read(body: bytes) -> _Attribute:
        pair = _parse(body)
        key = pair.key
        kind, text, value = _read(pair.value)
        if len(text) >= SHORT:
            if trace_id:
                kind, text = placer.place(project_name, trace_id, kind, text)
        elif len(body) < _SHORT:
            if len(_known) >= _MOST_KNOWN:
                _known.clear()
            _known[body] = key, kind, text, value
        return key, kind, text, value

    known = _known.get
    found = [known(body) or read(body) if len(body) < _SHORT else read(body) for body in bodies]
    keys, types, texts, values = zip(*found, strict=True)
    return keys, bytes(types), texts, dict(zip(keys, values, strict=True))


def spelled_attributes(
    pairs: Iterable[common_pb2.KeyValue], placer: Placer | None, project_name: str, trace_id: str
) -> list[tuple[str, int, str]]:
    """Return attributes as they are spelled inside JSON columns, as [key, type number, text].

    Args:
        pairs: the attributes of an event, link, resource or scope.
        placer: takes long texts out of line; ``None`` where they stay in the row.
        project_name: the project of the content rows.
        trace_id: the trace of the content rows; without one every text stays in the row.
    """
    spelled = []
    for pair in pairs:
        kind, text, _ = _read(pair.value)
        if placer is not None and trace_id:
            kind, text = placer.place(project_name, trace_id, kind, text)
        spelled.append((pair.key, kind, text))
    return spelled
