"""Which spans form a trial: those with one trial label, else one session, else one trace; bare traces join by history.

Loading goes by components: traces that share a label, a session or a history are read together and then split span by
span. Nothing here depends on the order of arrival.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, NamedTuple, TypeVar

from spanproof_collector.dialects import session_of, word
from spanproof_collector.model.spans import LogRecord, Span
from spanproof_collector.model.trials import JoinedBy
from spanproof_instrumentation import semconv

Unit = Literal["session", "trace"]
T = TypeVar("T")

TraceKey = tuple[str, str]
"""(project, trace_id)"""


class TrialKey(NamedTuple):
    """What a trial is known by."""

    project: str
    by: Literal["label", "session", "trace"]
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceInfo:
    """What the projection knows of a trace. Times in Unix nanoseconds."""

    project: str
    trace_id: str
    start: int
    end: int
    sessions: tuple[str, ...]
    labels: tuple[str, ...]
    names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """What its spans are labeled with, by the fields of a Filter: tasks, suites, variants."""

    @property
    def key(self) -> TraceKey:
        """Project and trace id."""
        return (self.project, self.trace_id)

    @property
    def bare(self) -> bool:
        """True where neither a session nor a trial label is on any span."""
        return not self.sessions and not self.labels


class _Unions(Generic[T]):
    """Disjoint sets."""

    def __init__(self) -> None:
        self._parent: dict[T, T] = {}

    def find(self, item: T) -> T:
        root = item
        while (above := self._parent.setdefault(root, root)) != root:
            root = above
        while self._parent[item] != root:
            self._parent[item], item = root, self._parent[item]
        return root

    def join(self, one: T, other: T) -> None:
        self._parent[self.find(one)] = self.find(other)


def history_links(traces: Sequence[TraceInfo], keys: Mapping[TraceKey, frozenset[str]]) -> dict[TraceKey, TraceKey]:
    """Return, for each trace that goes on where another stopped, that other trace.

    A trace goes on where the latest earlier trace stopped whose conversation it extends, or one of whose calls it holds
    or answers. Only a bare trace goes on: sessions that are named are never joined to each other. Each trace is gone on
    from once, where there is a choice: equal conversations run many times stay apart.
    """
    ends: dict[tuple[str, str], list[TraceInfo]] = defaultdict(list)
    for trace in traces:
        for key in keys.get(trace.key, frozenset()):
            kind, _, value = key.partition(":")
            if kind in ("ends", "asked"):
                ends[(trace.project, f"{kind}:{value}")].append(trace)
    links: dict[TraceKey, TraceKey] = {}
    taken: set[TraceKey] = set()
    for trace in sorted((t for t in traces if t.bare), key=lambda t: (t.start, t.trace_id)):
        found: dict[TraceKey, TraceInfo] = {}
        for key in keys.get(trace.key, frozenset()):
            kind, _, value = key.partition(":")
            wanted = {"extends": "ends", "holds": "asked", "answered": "asked"}.get(kind)
            for other in ends.get((trace.project, f"{wanted}:{value}"), ()) if wanted else ():
                if (other.start, other.trace_id) < (trace.start, trace.trace_id):
                    found[other.key] = other
        if found:
            latest = max(found.values(), key=lambda t: (t.key not in taken, t.start, t.trace_id))
            links[trace.key] = latest.key
            taken.add(latest.key)
    return links


def components(
    traces: Sequence[TraceInfo], links: Mapping[TraceKey, TraceKey], *, unit: Unit = "session"
) -> Iterator[list[TraceInfo]]:
    """Return the traces that must be read together, each trace once, components in order of their first start."""
    unions: _Unions[object] = _Unions()
    for trace in traces:
        unions.find(trace.key)
        for label in trace.labels:
            unions.join(trace.key, ("label", trace.project, label))
        for session in trace.sessions if unit == "session" else ():
            unions.join(trace.key, ("session", trace.project, session))
    if unit == "session":
        for later, earlier in links.items():
            unions.join(later, earlier)
    grouped: dict[object, list[TraceInfo]] = defaultdict(list)
    for trace in sorted(traces, key=lambda t: (t.start, t.trace_id)):
        grouped[unions.find(trace.key)].append(trace)
    yield from grouped.values()


@dataclass(slots=True, kw_only=True)
class TrialRecords:
    """The spans and log records of one trial."""

    key: TrialKey
    joined_by: JoinedBy
    spans: list[Span] = field(default_factory=list)
    logs: list[LogRecord] = field(default_factory=list)
    session_id: str | None = None


def _nearest(spans: Mapping[str, Span], span: Span, attribute: "dict[str, str]") -> str:
    """The value on the span itself, else on its nearest ancestor."""
    seen: set[str] = set()
    at: Span | None = span
    while at is not None and at.span_id not in seen:
        seen.add(at.span_id)
        if attribute[at.span_id]:
            return attribute[at.span_id]
        at = spans.get(at.parent_span_id)
    return ""


def _label_of(item: Span | LogRecord) -> str:
    return word(item.labeled, semconv.TRIAL_ID)


@dataclass(frozen=True, slots=True)
class _Place:
    key: TrialKey
    session: str


def _places(spans: Sequence[Span], unit: Unit) -> tuple[dict[str, _Place], _Place]:
    """Where each span of one trace belongs, and where what names no span of it belongs."""
    ordered = sorted(spans, key=lambda s: (s.start, s.span_id))
    by_id = {span.span_id: span for span in ordered}
    labels = {span.span_id: _label_of(span) for span in ordered}
    sessions = {span.span_id: session_of(span.attributes) for span in ordered}
    project, trace_id = ordered[0].project, ordered[0].trace_id
    any_label = next((value for value in labels.values() if value), "")
    any_session = next((value for value in sessions.values() if value), "")

    def place(label: str, session: str) -> _Place:
        if label:
            return _Place(TrialKey(project, "label", label), session)
        if session and unit == "session":
            return _Place(TrialKey(project, "session", session), session)
        return _Place(TrialKey(project, "trace", trace_id), session)

    found = {
        span.span_id: place(_nearest(by_id, span, labels) or any_label, _nearest(by_id, span, sessions) or any_session)
        for span in ordered
    }
    return found, place(any_label, any_session)


def split(
    traces: Sequence[TraceInfo],
    spans: Mapping[TraceKey, Sequence[Span]],
    logs: Mapping[TraceKey, Sequence[LogRecord]],
    links: Mapping[TraceKey, TraceKey],
    *,
    unit: Unit = "session",
) -> list[TrialRecords]:
    """Return the trials of one component."""
    parts: list[tuple[TrialKey, str, int, Span | LogRecord]] = []
    of_trace: dict[TraceKey, TrialKey] = {}
    for trace in traces:
        own = spans.get(trace.key, ())
        if own:
            places, rest = _places(own, unit)
        else:
            places, rest = {}, _place_of_logs(trace, logs.get(trace.key, ()), unit)
        of_trace[trace.key] = rest.key
        for span in own:
            parts.append((places[span.span_id].key, places[span.span_id].session, span.start, span))
        for record in logs.get(trace.key, ()):
            here = places.get(record.span_id, rest)
            parts.append((here.key, here.session, record.time or record.observed_time, record))
    unions: _Unions[TrialKey] = _Unions()
    joined: set[TrialKey] = set()
    if unit == "session":
        for later, earlier in links.items():
            if later in of_trace and earlier in of_trace and of_trace[later] != of_trace[earlier]:
                joined |= {of_trace[later], of_trace[earlier]}
                unions.join(of_trace[later], of_trace[earlier])
    grouped: dict[TrialKey, list[tuple[TrialKey, str, int, Span | LogRecord]]] = defaultdict(list)
    for part in parts:
        grouped[unions.find(part[0])].append(part)
    return [_records(members, joined) for members in grouped.values()]


def _place_of_logs(trace: TraceInfo, records: Sequence[LogRecord], unit: Unit) -> _Place:
    """Where a trace belongs of which only log records came."""
    session = next((found for record in records if (found := session_of(record.attributes))), "")
    label = next((found for record in records if (found := _label_of(record))), "")
    if label:
        return _Place(TrialKey(trace.project, "label", label), session)
    if session and unit == "session":
        return _Place(TrialKey(trace.project, "session", session), session)
    return _Place(TrialKey(*trace_key(trace)), session)


def trace_key(trace: TraceInfo) -> tuple[str, Literal["trace"], str]:
    """The key of a trial that is one trace."""
    return (trace.project, "trace", trace.trace_id)


_STRENGTH = {"label": 0, "session": 1, "trace": 2}


def _records(members: Iterable[tuple[TrialKey, str, int, Span | LogRecord]], joined: set[TrialKey]) -> TrialRecords:
    ordered = sorted(members, key=lambda m: (_STRENGTH[m[0].by], m[2], m[0].value))
    key = ordered[0][0]
    keys = {member[0] for member in ordered}
    records = TrialRecords(key=key, joined_by="history" if len(keys) > 1 and keys & joined else key.by)
    records.session_id = next((m[1] for m in sorted(ordered, key=lambda m: (m[2], m[1])) if m[1]), None)
    for member in ordered:
        if isinstance(member[3], Span):
            records.spans.append(member[3])
        else:
            records.logs.append(member[3])
    return records
