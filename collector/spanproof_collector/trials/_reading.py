"""One trial's spans and log records, read: each span with its reading, log content merged in, ancestors known."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from spanproof_collector.dialects import (
    LogStep,
    MessageEvent,
    evidence,
    foreign_results,
    read_log,
    read_span,
    view_of,
    view_of_log,
)
from spanproof_collector.model.readings import AgentRun, Decision, Message, ModelCall, Other, Reading, ToolRun
from spanproof_collector.model.spans import LogRecord, Span
from spanproof_collector.model.trials import ForeignResult
from spanproof_collector.trials._items import ReadSpan, merged
from spanproof_collector.trials.agent_logs import Entry, steps_of
from spanproof_instrumentation import semconv

__all__ = ["ReadSpan", "ReadTrial", "read"]


@dataclass(frozen=True, kw_only=True)
class ReadTrial:
    """Everything that one trial's records say, before it is put together."""

    spans: tuple[ReadSpan, ...]
    """In order of steps."""

    dialects: tuple[str, ...]
    foreign: tuple[ForeignResult, ...]
    unclaimed: int
    logged: bool
    """True where an agent's own log tells of steps: then a run without spans is not one that lost its root."""

    evidence: tuple[evidence.Evidence, ...]
    """In order of time."""

    damaged: bool = False
    """Spans of it stand in an imported file and could not be read."""

    by_id: dict[tuple[str, str], ReadSpan] = field(default_factory=dict)

    def ancestors(self, item: ReadSpan) -> Iterable[ReadSpan]:
        """The known ancestors of a span, nearest first."""
        seen: set[str] = set()
        parent = item.span.parent_span_id
        while parent and parent not in seen:
            seen.add(parent)
            found = self.by_id.get((item.span.trace_id, parent))
            if found is None:
                return
            yield found
            parent = found.span.parent_span_id

    def models(self) -> list[tuple[ReadSpan, ModelCall]]:
        """Every inference, in order."""
        return [(item, item.reading) for item in self.spans if isinstance(item.reading, ModelCall)]

    def tools(self) -> list[tuple[ReadSpan, ToolRun]]:
        """Every span of a tool that the agent called, in order."""
        return [(i, i.reading) for i in self.spans if isinstance(i.reading, ToolRun) and not i.reading.by_user]

    def user_tools(self) -> list[tuple[ReadSpan, ToolRun]]:
        """Every span of a tool that the user called, in order."""
        return [(i, i.reading) for i in self.spans if isinstance(i.reading, ToolRun) and i.reading.by_user]

    def speaking(self) -> list[tuple[ReadSpan, ModelCall]]:
        """The inferences whose words are the trial's, in order: not those of an agent that works for another one."""
        models = self.models()
        own = [(item, call) for item, call in models if not self.delegated(item)]
        return own or models

    def delegated(self, item: ReadSpan) -> bool:
        """True where an agent that works for another one did it."""
        return any(isinstance(outer.reading, AgentRun) and outer.reading.delegated for outer in self.ancestors(item))

    def decisions(self) -> list[tuple[ReadSpan, Decision]]:
        """Every decision on a call, in order."""
        return [(item, item.reading) for item in self.spans if isinstance(item.reading, Decision)]

    def agents(self) -> list[tuple[ReadSpan, AgentRun]]:
        """Every run of an agent or workflow, in order."""
        return [(item, item.reading) for item in self.spans if isinstance(item.reading, AgentRun)]


def _depths(spans: Sequence[Span]) -> dict[tuple[str, str], int]:
    parents = {(span.trace_id, span.span_id): span.parent_span_id for span in spans}
    depths: dict[tuple[str, str], int] = {}
    for key in parents:
        path = []
        at: tuple[str, str] | None = key
        while at is not None and at in parents and at not in depths and at not in path:
            path.append(at)
            at = (at[0], parents[at]) if parents[at] else None
        depth = depths[at] + 1 if at in depths else 0
        for step in reversed(path):
            depths[step] = depth
            depth += 1
    return depths


@dataclass(slots=True)
class _Told:
    """What log records say of one span."""

    calls: list[tuple[LogRecord, ModelCall]] = field(default_factory=list)
    inputs: list[Message] = field(default_factory=list)
    outputs: list[Message] = field(default_factory=list)
    first: LogRecord | None = None
    """The first record of a single message."""

    def of_messages(self) -> ModelCall | None:
        """The model call whose messages came one record each."""
        if not self.inputs and not self.outputs:
            return None
        return ModelCall(operation="chat", input=tuple(self.inputs) or None, output=tuple(self.outputs) or None)

    def call(self) -> ModelCall | None:
        """One model call of all the records."""
        whole = self.of_messages()
        for _, told in self.calls:
            whole = told if whole is None else merged(told, whole)
        return whole

    def alone(self, *, known_span: bool) -> Iterator[tuple[LogRecord, ModelCall]]:
        """The model calls that no span of their own tells of.

        Where the span that the records name was not sent, they tell of that span. Where it was sent and is no model
        call, or where they name none, each record of a whole inference is one.
        """
        if not known_span and self.calls and self.calls[0][0].span_id:
            whole = self.call()
            if whole is not None:
                yield self.calls[0][0], whole
            return
        yield from self.calls
        of_messages = self.of_messages()
        if of_messages is not None and self.first is not None:
            yield self.first, of_messages


def _pseudo_span(record: LogRecord, *, known_span: bool) -> Span:
    """Stand in for a span that was never sent, where a log record tells its model call."""
    time = record.time or record.observed_time
    own = record.span_id and not known_span
    return Span(
        project=record.project,
        trace_id=record.trace_id,
        span_id=record.span_id if own else record.record_id[:16],
        parent_span_id="" if own else record.span_id,
        name=record.event_name,
        start=time,
        end=time,
        pairs=record.pairs,
        dropped_attributes=record.dropped_attributes,
        resource=record.resource,
        scope=record.scope,
    )


def _with_streams(items: Sequence[ReadSpan]) -> list[ReadSpan]:
    """Put the answer of a stream, told by a span of its own, into the span of the request beside it."""
    found = {(item.span.trace_id, item.span.span_id): item for item in items}
    for item in items:
        call = item.reading
        if not isinstance(call, ModelCall) or not call.answered_beside or item.failed:
            continue
        for other in items:
            here = found[(other.span.trace_id, other.span.span_id)]
            beside = (other.span.trace_id, other.span.parent_span_id) == (item.span.trace_id, item.span.parent_span_id)
            later = other.span.start >= item.span.end
            told = here.reading
            if beside and later and isinstance(told, ModelCall) and told.output and told.input == call.input:
                whole = replace(merged(call, told), response_model=told.response_model or call.response_model)
                found[(item.span.trace_id, item.span.span_id)] = item.read_as(whole)
                found[(other.span.trace_id, other.span.span_id)] = other.read_as(Other(operation=told.operation))
                break
    return [found[(item.span.trace_id, item.span.span_id)] for item in items]


def _told_once(items: Sequence[ReadSpan]) -> list[ReadSpan]:
    """Make one of an inference and the inference around it: a framework and the client under it tell of the same call.

    The outer span is the call, filled with what only the inner one says; the inner span stays a step of no kind.
    """
    by_id = {(item.span.trace_id, item.span.span_id): item for item in items}
    for item in sorted(items, key=lambda item: -item.depth):
        inner = by_id[(item.span.trace_id, item.span.span_id)].reading
        parent = item.span.parent_span_id
        seen: set[str] = set()
        while isinstance(inner, ModelCall) and parent and parent not in seen:
            seen.add(parent)
            outer = by_id.get((item.span.trace_id, parent))
            if outer is None:
                break
            within = outer.span.start <= item.span.start and item.span.end <= outer.span.end
            if isinstance(outer.reading, ModelCall) and within:
                by_id[(item.span.trace_id, parent)] = outer.read_as(merged(outer.reading, inner))
                by_id[(item.span.trace_id, item.span.span_id)] = item.read_as(Other(operation=inner.operation))
            if outer.reading is not None:
                break
            parent = outer.span.parent_span_id
    return [by_id[(item.span.trace_id, item.span.span_id)] for item in items]


def read(spans: Sequence[Span], logs: Sequence[LogRecord]) -> ReadTrial:
    """Read the spans and log records of one trial."""
    dialects: set[str] = set()
    told: dict[tuple[str, str], _Told] = defaultdict(_Told)
    foreign: list[ForeignResult] = []
    entries: list[Entry] = []
    for record in sorted(logs, key=lambda r: (r.time or r.observed_time, r.record_id)):
        found = read_log(view_of_log(record))
        if found is None:
            continue
        dialects.add(found[0])
        if isinstance(found[1], LogStep):
            entries.append(Entry(record, found[1]))
            continue
        here = told[(record.trace_id, record.span_id)]
        match found[1]:
            case ForeignResult() as result:
                foreign.append(result)
            case ModelCall() as call:
                here.calls.append((record, call))
            case ToolRun() as run:
                entries.append(Entry(record, LogStep(part="result", reading=run)))
            case Decision() as decision:
                entries.append(Entry(record, LogStep(part="decision", reading=decision)))
            case MessageEvent(direction=direction, message=message):
                (here.inputs if direction == "input" else here.outputs).append(message)
                here.first = here.first or record
    depths = _depths(spans)
    items: list[ReadSpan] = []
    unclaimed = 0
    for span in spans:
        view = view_of(span)
        claimed = read_span(view)
        reading: Reading | None = None
        if claimed is not None:
            dialects.add(claimed[0])
            reading = claimed[1]
            foreign += foreign_results(view)
        ours = evidence.present(span)
        if ours:
            dialects.add("spanproof")
        unclaimed += claimed is None and not ours
        if isinstance(reading, ModelCall):
            from_logs = told.pop((span.trace_id, span.span_id), _Told()).call()
            reading = reading if from_logs is None else merged(reading, from_logs)
        items.append(ReadSpan(span=span, reading=reading, depth=depths[(span.trace_id, span.span_id)]))
    for key, here in told.items():
        known = key in depths
        for record, alone in here.alone(known_span=known):
            depth = depths[key] + 1 if known else 0
            items.append(ReadSpan(span=_pseudo_span(record, known_span=known), reading=alone, depth=depth))
    items = steps_of(entries, items)
    items = _told_once(_with_streams(sorted(items, key=lambda item: item.order)))
    found_evidence = sorted(
        (item for span in spans for item in evidence.of_span(span)), key=lambda item: (item.time, item.span_id)
    )
    return ReadTrial(
        spans=tuple(items),
        dialects=tuple(sorted(dialects)),
        foreign=tuple(foreign),
        unclaimed=unclaimed,
        logged=bool(entries),
        evidence=tuple(found_evidence),
        damaged=any(record.event_name == semconv.EVENT_RECORDING_DAMAGED for record in logs),
        by_id={(item.span.trace_id, item.span.span_id): item for item in items},
    )
