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
    protocol: bool = False
    """True where it holds nothing but a protocol's own work."""

    received: int = 0
    """When the last of it came, to the millisecond."""

    logged: bool = True
    """False where no log record names it."""

    loose: bool = False
    """True for log records that name no trace; its id is only a name then."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Which trace goes to which other one."""

    history: Mapping[TraceKey, TraceKey] = field(default_factory=dict)
    """It goes on where that one stopped."""

    protocol: Mapping[TraceKey, TraceKey] = field(default_factory=dict)
    """It is protocol work that happened during that one."""

    def all(self) -> Iterator[tuple[TraceKey, TraceKey]]:
        """Every link."""
        yield from self.history.items()
        yield from self.protocol.items()


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


def components(traces: Sequence[TraceInfo], links: Links, *, unit: Unit = "session") -> Iterator[list[TraceInfo]]:
    """Return the traces that must be read together, each trace once, components in order of their first start."""
    unions: _Unions[object] = _Unions()
    # records without a trace go to one of their session's traces, so those are read with them
    loose = {(trace.project, session) for trace in traces if trace.loose for session in trace.sessions}
    for trace in traces:
        unions.find(trace.key)
        for label in trace.labels:
            unions.join(trace.key, ("label", trace.project, label))
        for session in trace.sessions:
            if unit == "session" or (trace.project, session) in loose:
                unions.join(trace.key, ("session", trace.project, session))
    if unit == "session":
        for later, earlier in links.all():
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


def _own(records: Sequence[LogRecord]) -> tuple[str, str]:
    """The first trial label and the first session that log records carry themselves."""
    label = next((found for record in records if (found := _label_of(record))), "")
    session = next((found for record in records if (found := session_of(record.attributes))), "")
    return label, session


def _place(trace: TraceInfo, unit: Unit, label: str, session: str) -> _Place:
    if label:
        return _Place(TrialKey(trace.project, "label", label), session)
    if session and (unit == "session" or trace.loose):
        return _Place(TrialKey(trace.project, "session", session), session)
    return _Place(TrialKey(trace.project, "trace", trace.trace_id), session)


def _places(
    trace: TraceInfo, spans: Sequence[Span], logs: Sequence[LogRecord], unit: Unit
) -> tuple[dict[str, _Place], _Place]:
    """Where each span of one trace belongs, and where what names no span of it belongs."""
    ordered = sorted(spans, key=lambda s: (s.start, s.span_id))
    by_id = {span.span_id: span for span in ordered}
    labels = {span.span_id: _label_of(span) for span in ordered}
    sessions = {span.span_id: session_of(span.attributes) for span in ordered}
    told_label, told_session = _own(logs)
    any_label = next((value for value in labels.values() if value), told_label)
    any_session = next((value for value in sessions.values() if value), told_session)
    found = {
        span.span_id: _place(
            trace, unit, _nearest(by_id, span, labels) or any_label, _nearest(by_id, span, sessions) or any_session
        )
        for span in ordered
    }
    return found, _place(trace, unit, any_label, any_session)


_Part = tuple[TrialKey, str, int, Span | LogRecord]
"""Its trial, its session, its time, and itself."""


def _time(record: LogRecord) -> int:
    return record.time or record.observed_time


def _times(session: str, parts: Sequence[_Part]) -> dict[TrialKey, tuple[int, int]]:
    """From when to when each trial of a session went on."""
    times: dict[TrialKey, tuple[int, int]] = {}
    for key, of_session, start, item in parts:
        if of_session == session:
            end = item.end if isinstance(item, Span) else start
            first, last = times.get(key, (start, end))
            times[key] = (min(first, start), max(last, end))
    return times


def split(
    traces: Sequence[TraceInfo],
    spans: Mapping[TraceKey, Sequence[Span]],
    logs: Mapping[TraceKey, Sequence[LogRecord]],
    links: Links,
    *,
    unit: Unit = "session",
) -> list[TrialRecords]:
    """Return the trials of one component."""
    parts: list[_Part] = []
    of_trace: dict[TraceKey, TrialKey] = {}
    for trace in traces:
        if trace.loose:
            continue
        records = logs.get(trace.key, ())
        places, rest = _places(trace, spans.get(trace.key, ()), records, unit)
        of_trace[trace.key] = rest.key
        for span in spans.get(trace.key, ()):
            parts.append((places[span.span_id].key, places[span.span_id].session, span.start, span))
        for record in records:
            here = places.get(record.span_id, rest)
            parts.append((here.key, here.session, _time(record), record))
    unions: _Unions[TrialKey] = _Unions()
    joined: set[TrialKey] = set()
    if unit == "session":
        for later, earlier in links.all():
            if later in of_trace and earlier in of_trace and of_trace[later] != of_trace[earlier]:
                unions.join(of_trace[later], of_trace[earlier])
                if later in links.history:
                    joined |= {of_trace[later], of_trace[earlier]}
    placed = tuple(parts)
    for trace in traces:
        if trace.loose:
            parts += _loose_parts(trace, logs.get(trace.key, ()), placed, unit)
    grouped: dict[TrialKey, list[_Part]] = defaultdict(list)
    for part in parts:
        grouped[unions.find(part[0])].append(part)
    return [_records(members, joined) for members in grouped.values()]


def _loose_parts(trace: TraceInfo, records: Sequence[LogRecord], placed: Sequence[_Part], unit: Unit) -> list[_Part]:
    """Where log records belong that name no trace: to their trial, else to what their session did at that time."""
    session = next(iter(trace.sessions), "")
    own = _place(trace, unit, next(iter(trace.labels), ""), session).key
    times = {} if trace.labels or not session else _times(session, placed)

    def key_at(at: int) -> TrialKey:
        away = [(max(first - at, at - last, 0), first, key) for key, (first, last) in times.items()]
        return min(away)[2] if away else own

    return [(key_at(_time(record)), session, _time(record), record) for record in records]


_STRENGTH = {"label": 0, "session": 1, "trace": 2}


def _records(members: Iterable[_Part], joined: set[TrialKey]) -> TrialRecords:
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
