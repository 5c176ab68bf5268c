"""The components of some traces, found through what they share, so that one trial is read without listing all.

Whatever could belong together with what was found is found too, until nothing is added: labels, sessions, and the keys
by which a trace goes on from another. So the traces found group as they do among all. Where that cannot be told from
them alone, or where they are many, there is no answer, and everything has to be listed.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, cast

from spanproof_collector.model.filters import Filter
from spanproof_collector.store import LooseLogs, Query, Store, find_loose_logs
from spanproof_collector.trials.grouping import Links, TraceInfo, TraceKey, Unit, components
from spanproof_collector.trials.linking import CONTINUED_BY, history_links
from spanproof_collector.trials.listing import Listing, loose_info, trace_info

_MOST_TRACES: Final = 1_000
"""Listing everything costs less than asking for more."""

_TRACE_ID_DIGITS: Final = 32

_MOST_VALUES: Final = 2_000
"""Of one kind in one question: the engine reads no statement of more than 256 KiB."""


def find_components(
    store: Store, wanted: Filter, traces: Collection[TraceKey] | None, *, unit: Unit = "session"
) -> Listing | None:
    """Return components among which are all that can hold what is asked for; ``None`` where all have to be listed.

    Args:
        store: where the traces are.
        wanted: a filter; only one that names trials or sessions narrows anything.
        traces: of which traces; ``None`` for all.
        unit: as for ``list_components``.
    """
    if traces is not None:
        clues = _Clues(traces={trace_id for _, trace_id in traces})
    elif wanted.trials:
        # A trial is known by its label, else by its session, else by its trace.
        named = set(wanted.trials)
        clues = _Clues(
            trials=named, sessions=set(named), traces={name for name in named if len(name) == _TRACE_ID_DIGITS}
        )
    elif wanted.sessions:
        clues = _Clues(sessions=set(wanted.sessions))
    else:
        return None
    search = _Search(store, unit)
    return search.listing() if search.follow(clues) else None


@dataclass(slots=True, kw_only=True)
class _Clues:
    """What traces can be found by."""

    trials: set[str] = field(default_factory=set)
    sessions: set[str] = field(default_factory=set)
    traces: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    """Join keys of any trace."""

    bare_keys: set[str] = field(default_factory=set)
    """Join keys of a trace that names neither session nor trial."""

    @property
    def _kinds(self) -> tuple[set[str], ...]:
        return (self.trials, self.sessions, self.traces, self.keys, self.bare_keys)

    def __bool__(self) -> bool:
        return any(self._kinds)

    @property
    def too_many(self) -> bool:
        return max(map(len, self._kinds)) > _MOST_VALUES

    @property
    def but_sessions(self) -> "_Clues":
        """Return all others."""
        return _Clues(trials=self.trials, traces=self.traces, keys=self.keys, bare_keys=self.bare_keys)

    def without(self, other: "_Clues") -> "_Clues":
        """Return those that the other has not."""
        return _Clues(
            trials=self.trials - other.trials,
            sessions=self.sessions - other.sessions,
            traces=self.traces - other.traces,
            keys=self.keys - other.keys,
            bare_keys=self.bare_keys - other.bare_keys,
        )

    def add(self, other: "_Clues") -> None:
        """Take in those of the other."""
        for ours, theirs in zip(self._kinds, other._kinds, strict=True):
            ours |= theirs


class _Search:
    """One search, from clue to clue."""

    def __init__(self, store: Store, unit: Unit) -> None:
        self._store = store
        self._unit = unit
        self._asked = _Clues()
        self._seen: set[TraceKey] = set()
        self._traces: dict[TraceKey, TraceInfo] = {}
        self._keys: dict[TraceKey, frozenset[str]] = {}
        self._loose: dict[TraceKey, LooseLogs] = {}
        self._loose_traces: dict[TraceKey, TraceInfo] = {}

    def follow(self, clues: _Clues) -> bool:
        """Look for everything that belongs together with what the clues lead to; False where that is too much."""
        while clues:
            if clues.too_many:
                return False
            # Sessions last: with those of what is found meanwhile they are one question.
            now = clues.but_sessions or clues
            self._asked.add(now)
            found = self._find(now)
            if found is None:
                return False
            for trace in found:
                clues.add(self._clues_of(trace))
            clues = clues.without(self._asked)
        return not self._beside_a_protocol()

    def listing(self) -> Listing:
        """Return what was found."""
        traces = [*self._traces.values(), *self._loose_traces.values()]
        links = Links() if self._unit == "trace" else Links(history=history_links(traces, self._keys))
        return Listing(
            components=list(components(traces, links, unit=self._unit)), links=links, loose=dict(self._loose)
        )

    def _find(self, clues: _Clues) -> list[TraceInfo] | None:
        """Return what the clues lead to that was not found before; ``None`` where that is too much."""
        keys = {
            *self._ask(Query.FIND_TRACES_OF_TRIALS, clues.trials),
            *self._ask(Query.FIND_TRACES_OF_SESSIONS, clues.sessions),
            *self._ask(Query.FIND_TRACES_BY_ID, clues.traces),
            *self._ask(Query.FIND_TRACES_BY_KEY, clues.keys),
            *self._ask(Query.FIND_BARE_TRACES_BY_KEY, clues.bare_keys),
        }
        new = {key for key in keys if key[1]} - self._seen
        loose = self._find_loose(clues) if any(not trace_id for _, trace_id in keys) else []
        self._seen |= new
        if len(self._seen) + len(self._loose) >= _MOST_TRACES:
            return None
        found = list(self._read(new))
        self._traces.update({trace.key: trace for trace in found})
        return [*found, *loose]

    def _find_loose(self, clues: _Clues) -> list[TraceInfo]:
        logs = find_loose_logs(self._store, list(clues.trials), list(clues.sessions), _MOST_TRACES)
        new = []
        for each in logs:
            info = loose_info(each)
            if info.key not in self._loose:
                self._loose_traces[info.key], self._loose[info.key] = info, each
                new.append(info)
        return new

    def _ask(self, query: Query, values: Collection[str]) -> Iterable[TraceKey]:
        # Each kind of clue by itself: a part of a statement that can find nothing costs the engine as well.
        if not values:
            return []
        return cast("list[TraceKey]", self._store.rows(query, {"values": list(values), "limit": _MOST_TRACES}))

    def _read(self, keys: Collection[TraceKey]) -> Iterable[TraceInfo]:
        if not keys:
            return
        projects, trace_ids = ({key[place] for key in keys} for place in (0, 1))
        asked = {"projects": list(projects), "traces": list(trace_ids)}
        rows: dict[TraceKey, list[Sequence[object]]] = defaultdict(list)
        for row in self._store.rows(Query.LIST_SOME_TRACES, asked):
            key = cast("TraceKey", row[:2])
            if key in keys:
                rows[key].append(row[2:])
        for key, known in rows.items():
            starts, ends, sessions, labels, protocol, received, logged, *names, joins = zip(*known, strict=True)
            self._keys[key] = frozenset(chain.from_iterable(cast("Sequence[list[str]]", joins)))
            yield trace_info(
                (
                    *key,
                    min(cast("Sequence[int]", starts)),
                    max(cast("Sequence[int]", ends)),
                    *(sorted({*cast("Sequence[str]", some)} - {""}) for some in (sessions, labels)),
                    all(protocol),
                    max(cast("Sequence[int]", received)),
                    any(logged),
                    *({*cast("Sequence[str]", some)} - {""} for some in names),
                )
            )

    def _clues_of(self, trace: TraceInfo) -> _Clues:
        clues = _Clues(trials=set(trace.labels), sessions=set(trace.sessions))
        if self._unit == "trace":
            return clues
        for key in self._keys.get(trace.key, ()):
            kind, _, value = key.partition(":")
            for continued, continuing in CONTINUED_BY:
                if kind == continued:
                    clues.bare_keys.add(f"{continuing}:{value}")
                elif kind == continuing and trace.bare:
                    clues.keys.add(f"{continued}:{value}")
        return clues

    def _beside_a_protocol(self) -> bool:
        """True where a trace of nothing but a protocol's own work may play a part: whose it is, all runs tell."""
        if self._unit == "trace" or not self._traces:
            return False
        if any(trace.protocol for trace in self._traces.values()):
            return True
        if not self._store.rows(Query.FIND_PROTOCOL_SPANS):
            return False
        times = {
            "first": min(trace.start for trace in self._traces.values()),
            "last": max(trace.end for trace in self._traces.values()),
        }
        return bool(self._store.rows(Query.FIND_PROTOCOL_TRACES, times))
