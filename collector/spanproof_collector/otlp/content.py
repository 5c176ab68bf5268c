"""Puts long texts out of line: content rows by hash, each sent once per trace."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec

from spanproof_collector.store.values import LIST, LIST_ELEMENT, LIST_OUT_OF_LINE, OUT_OF_LINE, SHORT, SPACED, WHOLE

_SENT: Final = 200_000
_SEPARATORS: Final = ((b", ", SPACED), (b",", LIST))
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode

Key = tuple[str, str, str]
"""Project, trace id, hash."""


class _List(NamedTuple):
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

_ListKey = tuple[str, str, bytes]
"""Project, trace id, first words."""


class Sent:
    """Which content rows the store already has, as far as it is remembered. Add only what is durable.

    Two generations: when the young one is full it becomes the old one, so a lookup costs two set probes and no order
    has to be kept. Forgetting costs a row that is written twice, nothing else.

    ``deletions`` is the store's count of deletions that this memory is true of. ``stems`` is how many bytes of lists
    are kept for the next request to go on from: none where each request tells of its traces to their end.
    """

    def __init__(self, limit: int = _SENT, deletions: int = 0, stems: int = _STEMS) -> None:
        self.deletions = deletions
        self._most_stems = stems
        self._half = max(1, limit // 2)
        self.young: set[Key] = set()
        self.old: set[Key] = set()
        self._lists: dict[_ListKey, _List] = {}
        self._stems = 0

    def __contains__(self, key: Key) -> bool:
        """True when the row is known to be in the store."""
        return key in self.young or key in self.old

    def add(self, keys: "Mapping[Key, bytes]") -> None:
        """Remember rows that the store has made durable."""
        if len(self.young) + len(keys) > self._half:
            self.old = self.young
            self.young = set()
        self.young.update(keys)

    def list_before(self, key: _ListKey) -> _List | None:
        """Return the list that was placed last under a key, where the store has every row that it refers to."""
        found = self._lists.get(key)
        if found is None:
            return None
        project, trace_id, _ = key
        known = all((project, trace_id, digest) in self for digest in found.hashes.split(" "))
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
        self.young = set()
        self.old = set()
        self._lists = {}
        self._stems = 0
        self.deletions = deletions


class Placer:
    """Decides for each text of one batch where it lies, and collects the content rows that are not there yet."""

    def __init__(self, sent: Sent) -> None:
        self._sent = sent
        self._lists: dict[_ListKey, _List] = {}
        self.rows: dict[Key, bytes] = {}

    def place(self, project: str, trace_id: str, kind: int, text: str, body: bytes | None = None) -> tuple[int, str]:
        """Return the type number with the place in it, and what the row holds; ``body``: the text's bytes, if known."""
        if len(text) < SHORT:
            return kind, text
        if body is None:
            body = text.encode()
        if text[0] == "[" and len(body) >= LIST_OUT_OF_LINE:
            found = self._place_list(project, trace_id, body)
            if found is not None:
                return kind | found.place, found.hashes
        if len(body) < OUT_OF_LINE:
            return kind, text
        return kind | WHOLE, self._refer(project, trace_id, body)

    def finish(self) -> dict[Key, bytes]:
        """Return the content rows, and have the last lists remembered for the next batch."""
        for key, placed in self._lists.items():
            self._sent.remember_list(key, placed)
        return self.rows

    def _place_list(self, project: str, trace_id: str, body: bytes) -> _List | None:
        # A model call repeats the history of the one before: only what was added is split and hashed.
        key = (project, trace_id, body[:_FIRST_WORDS])
        before = self._lists.get(key)
        if before is None:
            before = self._sent.list_before(key) or _NOTHING
        known = len(before.stem)
        if not body.startswith(before.stem):
            before, known = _NOTHING, len(_NOTHING.stem)
        elif len(body) == known + 1 and body[known:] == b"]":
            return before
        elif body.startswith(before.separator, known):
            known += len(before.separator)
        else:
            before, known = _NOTHING, len(_NOTHING.stem)
        rest = b"[" + body[known:]
        try:
            elements = _elements(rest)
        except (msgspec.MsgspecError, RecursionError):
            return None
        length = before.length + len(elements)
        if not elements or len(body) < LIST_ELEMENT * length:
            return None
        separators = _SEPARATORS if before is _NOTHING else ((before.separator, before.place),)
        for separator, place in separators:
            if b"[" + separator.join(elements) + b"]" == rest:
                hashes = [self._refer(project, trace_id, element) for element in elements]
                if before is not _NOTHING:
                    hashes.insert(0, before.hashes)
                found = self._lists[key] = _List(body[:-1], separator, place, " ".join(hashes), length)
                return found
        return None

    def _refer(self, project: str, trace_id: str, body: "bytes | msgspec.Raw") -> str:
        digest = sha256(body).hexdigest()[:32]
        key = (project, trace_id, digest)
        if key not in self.rows and key not in self._sent.young and key not in self._sent.old:
            self.rows[key] = bytes(body)
        return digest
