"""Finds dead letters that hold something of what is deleted: by the bytes of ids, as protobuf and JSON spell them."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, cast

from spanproof_collector.store import Query, Store

_NEEDLES_AT_ONCE: Final = 240
"""The engine searches for fewer than 256 texts at once."""


def find_dead_letters(store: Store, *, traces: Iterable[str] = (), names: Iterable[str] = ()) -> list[str]:
    """Return the letters that hold one of the trace ids, or one of the sessions or users as a value of its own."""
    needles = [needle for trace_id in traces for needle in _of_trace(trace_id)]
    needles += [needle for name in names for needle in _of_name(name)]
    found: dict[str, None] = {}
    rest = iter(needles)
    while some := list(islice(rest, _NEEDLES_AT_ONCE)):
        rows = store.rows(Query.FIND_DEAD_LETTERS, {"needles": [needle.hex().upper() for needle in some]})
        for letter_id, body in cast("list[tuple[str, bytes]]", rows):
            # In hex a text may seem to begin in the middle of a byte.
            if _holds(body, some):
                found[letter_id] = None
    return list(found)


def _holds(body: bytes, needles: Sequence[bytes]) -> bool:
    return any(needle in body for needle in needles)


def _of_trace(trace_id: str) -> Iterator[bytes]:
    yield bytes.fromhex(trace_id)
    yield trace_id.encode()
    yield trace_id.upper().encode()


def _of_name(name: str) -> Iterator[bytes]:
    text = name.encode("utf-8", "replace")
    yield _varint(len(text)) + text
    for spelled in {json.dumps(name), json.dumps(name, ensure_ascii=False)}:
        yield spelled.encode("utf-8", "replace")


def _varint(number: int) -> bytes:
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)
