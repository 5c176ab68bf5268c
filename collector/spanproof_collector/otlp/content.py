"""Puts long texts out of line: content rows by hash, each sent once per trace."""

from collections.abc import Mapping, Set
from hashlib import sha256
from typing import Final

import msgspec

from spanproof_collector.store.values import LIST, LIST_ELEMENT, LIST_OUT_OF_LINE, OUT_OF_LINE, SHORT, SPACED, WHOLE

_SENT: Final = 200_000
_SEPARATORS: Final = ((b", ", SPACED), (b",", LIST))
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode

Trace = tuple[str, str]
"""Project, trace id."""

Rows = Mapping[Trace, Mapping[str, bytes]]
"""Content rows: of each trace the texts by their hashes."""


class _List(msgspec.Struct, frozen=True, gc=False):
    """A list that was placed: its text without the closing bracket, how it is joined, and what the row holds."""

    stem: bytes
    separator: bytes
    place: int
    hashes: str
    length: int


_NOTHING: Final = _List(b"[", b"", LIST, "", 0)
_FIRST_WORDS: Final = 48
"""By so many bytes two lists of one trace are told apart: a history from what was answered or offered."""

_STEMS: Final = 32 * 1024**2
"""So many bytes of lists are remembered from one request to the next."""

_ListKey = tuple[Trace, bytes]
"""The trace, and the first words."""

_NONE: Final[frozenset[str]] = frozenset()


class Sent:
    """Which content rows the store already has, as far as it is remembered. Add only what is durable.

    Two generations: when the young one is full it becomes the old one, so a lookup costs two set probes and no order
    has to be kept. Forgetting costs a row that is written twice, nothing else.

    ``limit`` is how many are remembered, traces and texts together. ``deletions`` is the store's count of deletions
    that this memory is true of. ``stems`` is how many bytes of lists are kept for the next request to go on from: none
    where each request tells of its traces to their end.
    """

    def __init__(self, limit: int = _SENT, deletions: int = 0, stems: int = _STEMS) -> None:
        self.deletions = deletions
        self._most_stems = stems
        self._half = max(1, limit // 2)
        self._young: dict[Trace, set[str]] = {}
        self._old: dict[Trace, set[str]] = {}
        self._count = 0
        self._lists: dict[_ListKey, _List] = {}
        self._stems = 0

    def of_trace(self, trace: Trace) -> tuple[Set[str], Set[str]]:
        """Return the hashes of the texts of a trace that are known to be in the store: young ones, old ones."""
        return self._young.get(trace, _NONE), self._old.get(trace, _NONE)

    def add(self, rows: Rows) -> None:
        """Remember rows that the store has made durable."""
        count = len(rows) + sum(map(len, rows.values()))
        if self._count + count > self._half:
            self._old, self._young, self._count = self._young, {}, 0
        self._count += count
        for trace, texts in rows.items():
            self._young.setdefault(trace, set()).update(texts)

    def list_before(self, key: _ListKey) -> _List | None:
        """Return the list that was placed last under a key, where the store has every row that it refers to."""
        found = self._lists.get(key)
        if found is None:
            return None
        young, old = self.of_trace(key[0])
        known = all(digest in young or digest in old for digest in found.hashes.split(" "))
        return found if known else None

    def remember_list(self, key: _ListKey, placed: _List) -> None:
        """Remember a list for the next request, whether or not its rows are durable yet."""
        if len(placed.stem) > self._most_stems:
            return
        before = self._lists.get(key)
        self._stems += len(placed.stem) - (0 if before is None else len(before.stem))
        if self._stems > self._most_stems:
            self._lists.clear()
            self._stems = len(placed.stem)
        self._lists[key] = placed

    def forget(self, deletions: int) -> None:
        """Remember nothing of the time before the store counted so many deletions."""
        self._young, self._old, self._count = {}, {}, 0
        self._lists = {}
        self._stems = 0
        self.deletions = deletions


class Placer:
    """Decides for each text of one batch where it lies, and collects the content rows that are not there yet."""

    def __init__(self, sent: Sent) -> None:
        self._sent = sent
        self._traces: dict[Trace, TracePlacer] = {}

    def of_trace(self, project: str, trace_id: str) -> "TracePlacer":
        """Return what places the texts of one trace."""
        trace = (project, trace_id)
        found = self._traces.get(trace)
        if found is None:
            found = self._traces[trace] = TracePlacer(trace, self._sent)
        return found

    def finish(self) -> Rows:
        """Return the content rows, and have the last lists remembered for the next batch."""
        for each in self._traces.values():
            each.finish()
        return {trace: each.rows for trace, each in self._traces.items() if each.rows}


class TracePlacer:
    """Places the texts of one trace in one batch."""

    def __init__(self, trace: Trace, sent: Sent) -> None:
        self.trace_id = trace[1]
        self._trace = trace
        self._sent = sent
        self._young, self._old = sent.of_trace(trace)
        self._lists: dict[bytes, _List] = {}
        self.rows: dict[str, bytes] = {}

    def place(self, kind: int, text: str, body: bytes | None = None) -> tuple[int, str]:
        """Return the type number with the place in it, and what the row holds; ``body``: the text's bytes, if known."""
        if len(text) < SHORT:
            return kind, text
        if body is None:
            body = text.encode()
        if text[0] == "[" and len(body) >= LIST_OUT_OF_LINE:
            found = self._place_list(body)
            if found is not None:
                return kind | found.place, found.hashes
        if len(body) < OUT_OF_LINE:
            return kind, text
        return kind | WHOLE, self._refer(body)

    def finish(self) -> None:
        """Have the last lists remembered for the next batch."""
        for first, placed in self._lists.items():
            self._sent.remember_list((self._trace, first), placed)

    def _place_list(self, body: bytes) -> _List | None:
        # A model call repeats the history of the one before: only what was added is split and hashed.
        first = body[:_FIRST_WORDS]
        before = self._lists.get(first)
        if before is None:
            before = self._sent.list_before((self._trace, first)) or _NOTHING
        known = len(before.stem)
        if not body.startswith(before.stem):
            before, known = _NOTHING, len(_NOTHING.stem)
        elif len(body) == known + 1 and body[known:] == b"]":
            return before
        elif body.startswith(before.separator, known):
            known += len(before.separator)
        else:
            before, known = _NOTHING, len(_NOTHING.stem)
        rest = body if known == 1 else b"[" + body[known:]
        try:
            elements = _elements(rest)
        except (msgspec.MsgspecError, RecursionError):
            return None
        length = before.length + len(elements)
        if not elements or len(body) < LIST_ELEMENT * length:
            return None
        for separator, place in _SEPARATORS if before is _NOTHING else ((before.separator, before.place),):
            if b"[" + separator.join(elements) + b"]" == rest:
                hashes = [] if before is _NOTHING else [before.hashes]
                hashes += map(self._refer, elements)
                found = self._lists[first] = _List(body[:-1], separator, place, " ".join(hashes), length)
                return found
        return None

    def _refer(self, body: "bytes | msgspec.Raw") -> str:
        digest = sha256(body).hexdigest()[:32]
        if digest not in self.rows and digest not in self._young and digest not in self._old:
            self.rows[digest] = bytes(body)
        return digest
