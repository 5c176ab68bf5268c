"""Which dialects may read a span or a record: told by its keys in one pass, remembered by what was found."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from spanproof_collector.dialects._dialect import Dialect
from spanproof_collector.model.values import Attributes
from spanproof_instrumentation import semconv

_REMEMBERED: Final = 4096
"""Sets of marks, scopes and event names come from senders: what is remembered of them is bounded."""


def _keys(stated: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for keys in stated for key in keys))


class Registry:
    """The dialects in the order in which they are asked."""

    def __init__(self, dialects: Sequence[Dialect]) -> None:
        self.dialects: Final = tuple(dialects)
        self._marks: Final = frozenset(mark for dialect in dialects for mark in dialect.marks)
        self.session_keys: Final = (
            semconv.CONVERSATION_ID,
            semconv.SESSION_ID,
            *_keys(d.session_keys for d in dialects),
        )
        self.user_keys: Final = (semconv.USER_ID, semconv.END_USER_ID, *_keys(d.user_keys for d in dialects))
        self.with_sessions: Final = tuple(d for d in dialects if type(d).session is not Dialect.session)
        self._prefixes: Final = tuple(prefix for dialect in dialects for prefix in dialect.prefixes)
        self._marked: Final = lru_cache(_REMEMBERED)(self._find_marked)
        self._of_log: Final = lru_cache(_REMEMBERED)(self._find_of_log)

    def of_span(self, attributes: Attributes, scope: str) -> tuple[Dialect, ...]:
        """Return the dialects whose marks or scope a span carries."""
        return self._marked(scope, self._marks.intersection(attributes))

    def by_prefix(self, attributes: Attributes) -> tuple[Dialect, ...]:
        """Return the dialects one of whose prefixes begins a key: what is left of a span that lost its marks."""
        found = [key for key in attributes if key.startswith(self._prefixes)] if self._prefixes else ()
        if not found:
            return ()
        return tuple(
            dialect
            for dialect in self.dialects
            if dialect.prefixes and any(key.startswith(dialect.prefixes) for key in found)
        )

    def of_log(self, event_name: str, older_name: str, scope: str) -> tuple[Dialect, ...]:
        """Return the dialects of a record's event name or scope."""
        return self._of_log(event_name, older_name, scope)

    def _find_marked(self, scope: str, marks: frozenset[str]) -> tuple[Dialect, ...]:
        return tuple(
            dialect
            for dialect in self.dialects
            if not marks.isdisjoint(dialect.marks) or scope.startswith(dialect.scopes)
        )

    def _find_of_log(self, event_name: str, older_name: str, scope: str) -> tuple[Dialect, ...]:
        return tuple(
            dialect
            for dialect in self.dialects
            if event_name.startswith(dialect.log_events)
            or older_name.startswith(dialect.log_events)
            or scope.startswith(dialect.scopes)
        )
