"""What goes with trials: their traces where nobody else has a part in them, else their own spans and log records."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from spanproof_collector.dialects import session_of
from spanproof_collector.store import Part, Query, Store
from spanproof_collector.trials import Component, Member, TraceInfo


@dataclass(slots=True, kw_only=True)
class Doomed:
    """What is to go of one project."""

    project: str
    trials: int = 0
    traces: dict[str, None] = field(default_factory=dict)
    """Traces that go whole."""

    parts: list[Part] = field(default_factory=list)
    """What goes of traces of which something stays, and of log records that name no trace."""

    keys: dict[str, None] = field(default_factory=dict)
    """Of results."""

    @property
    def trace_ids(self) -> dict[str, None]:
        """Every trace of which something goes."""
        return self.traces | {trace_id: None for part in self.parts for trace_id in part.traces if trace_id}

    def add(self, other: "Doomed") -> None:
        """Take what goes of another component of the same project."""
        self.trials += other.trials
        self.traces |= other.traces
        self.parts += other.parts
        self.keys |= other.keys


def of_members(store: Store, component: Component, chosen: Sequence[Member]) -> Doomed:
    """Return what goes when these trials of a component go, and the others stay."""
    (project,) = {member.trial.project for member in chosen}
    # By identity: a trial that is chosen is one of the component's.
    kept = [member for member in component.members if not any(member is each for each in chosen)]
    if not kept:
        found = of_traces(store, component.traces)
        found.trials = len(chosen)
        found.keys |= {member.trial.key: None for member in chosen}
        return found
    shared = {key for member in kept for key in member.traces}
    found = Doomed(project=project, trials=len(chosen), keys={member.trial.key: None for member in chosen})
    for key in {key: None for member in chosen for key in member.traces}:
        trace_id = key[1]
        if key not in shared:
            found.traces[trace_id] = None
            continue
        spans = [span.span_id for member in chosen for span in member.records.spans if span.trace_id == trace_id]
        records = [log.record_id for member in chosen for log in member.records.logs if log.trace_id == trace_id]
        found.parts.append(Part(project=project, traces=(trace_id,), spans=tuple(spans), records=tuple(records)))
    loose = [record_id for member in chosen for record_id in member.loose]
    found.parts += loose_parts(project, loose)
    found.keys |= {f"trace:{trace_id}": None for trace_id in found.traces}
    return found


def of_traces(store: Store, traces: Sequence[TraceInfo]) -> Doomed:
    """Return what goes when a whole component goes. No span is read for it."""
    (project,) = {trace.project for trace in traces}
    found = Doomed(project=project, trials=1)
    found.traces = {trace.trace_id: None for trace in traces if not trace.loose}
    loose = [trace for trace in traces if trace.loose]
    if loose:
        asked = {
            "project": project,
            "sessions": [next(iter(trace.sessions), "") for trace in loose],
            "trials": [next(iter(trace.labels), "") for trace in loose],
        }
        records = [cast(str, row[0]) for row in store.rows(Query.LIST_LOOSE_RECORD_IDS, asked)]
        found.parts += loose_parts(project, records)
    found.keys = {f"trace:{trace_id}": None for trace_id in found.traces}
    for trace in traces:
        found.keys |= {f"session:{session}": None for session in trace.sessions}
        found.keys |= {f"label:{label}": None for label in trace.labels}
    return found


def loose_parts(project: str, record_ids: Sequence[str]) -> Iterator[Part]:
    """Yield parts of log records that name no trace."""
    size = 1000
    for first in range(0, len(record_ids), size):
        yield Part(project=project, traces=("",), records=tuple(record_ids[first : first + size]))


def names_session(member: Member, sessions: Iterable[str]) -> bool:
    """Whether anything of a trial names one of the sessions."""
    asked = frozenset(sessions)
    return member.trial.session_id in asked or any(session_of(item.attributes) in asked for item in member.items)
