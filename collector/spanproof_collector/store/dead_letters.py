"""Spans and log records that were rejected: which there are, what they hold, and how they go."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from spanproof_collector.errors import StoreError
from spanproof_collector.store.queries import Query
from spanproof_collector.store.store import DeadLetter, Store

_MILLISECOND = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterHead:
    """A dead letter without its bytes. ``received`` is in Unix nanoseconds, to the millisecond; ``size`` in bytes."""

    letter_id: str
    received: int
    signal: str
    origin: str
    reason: str
    size: int


class NoSuchLetterError(StoreError):
    """No letter's id begins like this, or several do."""

    def __init__(self, prefix: str, found: int) -> None:
        holders = "several dead letters have ids that begin" if found else "no dead letter has an id that begins"
        super().__init__(f"{holders} with {prefix!r}. 'spanproof dead-letters list' lists them")
        self.prefix = prefix


def list_letters(store: Store, limit: int) -> list[LetterHead]:
    """Return what was rejected last, newest first. No bytes are read."""
    return [
        LetterHead(
            letter_id=cast(str, letter_id),
            received=cast(int, milli) * _MILLISECOND,
            signal=cast(str, signal),
            origin=cast(str, origin),
            reason=cast(str, reason),
            size=cast(int, size),
        )
        for letter_id, milli, signal, origin, reason, size in store.rows(Query.LIST_DEAD_LETTERS, {"limit": limit})
    ]


def read_letter(store: Store, prefix: str) -> DeadLetter:
    """Return the one letter whose id begins like this.

    Raises:
        NoSuchLetterError: there is none, or more than one.
    """
    rows = store.rows(Query.READ_DEAD_LETTERS, {"prefix": prefix, "limit": 2})
    if len(rows) != 1:
        raise NoSuchLetterError(prefix, len(rows))
    letter_id, milli, signal, origin, reason, content = rows[0]
    return DeadLetter(
        letter_id=cast(str, letter_id),
        received=cast(int, milli) * _MILLISECOND,
        signal=cast(str, signal),
        origin=cast(str, origin),
        reason=cast(str, reason),
        bytes=cast(bytes, content),
    )


def drop_letters(store: Store, letter_ids: Sequence[str]) -> None:
    """Take letters away for good."""
    if letter_ids:
        store.command(Query.DELETE_DEAD_LETTERS, {"letters": list(letter_ids)})
