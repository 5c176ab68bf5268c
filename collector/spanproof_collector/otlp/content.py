"""Puts long texts out of line: content rows by hash, each sent once per trace."""

from hashlib import sha256
from typing import Final

import msgspec

from spanproof_collector.store.values import LIST, LIST_ELEMENT, OUT_OF_LINE, SPACED, WHOLE

_MAYBE_LONG: Final = OUT_OF_LINE // 4
"""A text of fewer characters has fewer than OUT_OF_LINE bytes in UTF-8."""

_SENT: Final = 200_000
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode

Key = tuple[str, str, str]
"""Project, trace id, hash."""


class Sent:
    """Which content rows the store already has, as far as it is remembered. Add only what is durable.

    Two generations: when the young one is full it becomes the old one, so a lookup costs two set probes and no order
    has to be kept. Forgetting costs a row that is written twice, nothing else.
    """

    def __init__(self, limit: int = _SENT) -> None:
        self._half = max(1, limit // 2)
        self._young: set[Key] = set()
        self._old: set[Key] = set()

    def __contains__(self, key: Key) -> bool:
        """True when the row is known to be in the store."""
        return key in self._young or key in self._old

    def add(self, keys: "dict[Key, bytes]") -> None:
        """Remember rows that the store has made durable."""
        if len(self._young) + len(keys) > self._half:
            self._old = self._young
            self._young = set()
        self._young.update(keys)


class Placer:
    """Decides for each text of one batch where it lies, and collects the content rows that are not there yet."""

    def __init__(self, sent: Sent) -> None:
        self._sent = sent
        self.rows: dict[Key, bytes] = {}

    def place(self, project: str, trace_id: str, kind: int, text: str) -> tuple[int, str]:
        """Return the type number with the place in it, and what the row holds."""
        if len(text) < _MAYBE_LONG:
            return kind, text
        body = text.encode()
        if len(body) < OUT_OF_LINE:
            return kind, text
        if text[0] == "[":
            try:
                elements = _elements(body)
            except (msgspec.MsgspecError, RecursionError):
                elements = []
            if elements and len(body) >= LIST_ELEMENT * len(elements):
                for separator, place in ((b", ", SPACED), (b",", LIST)):
                    if b"[" + separator.join(elements) + b"]" == body:
                        refer = self._refer
                        return kind | place, " ".join([refer(project, trace_id, element) for element in elements])
        return kind | WHOLE, self._refer(project, trace_id, body)

    def _refer(self, project: str, trace_id: str, body: "bytes | msgspec.Raw") -> str:
        digest = sha256(body).hexdigest()[:32]
        key = (project, trace_id, digest)
        if key not in self.rows and key not in self._sent:
            self.rows[key] = bytes(body)
        return digest
