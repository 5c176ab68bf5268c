"""An agent's own log, made into steps: each inference and each tool call once, whether or not spans tell of it too.

Entries are read in the order of the log. Of an inference the request, the answer and its words are brought together;
then each inference and each run of a tool goes to the span that tells of it, or stands as a step of its own.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from spanproof_collector.dialects import LogStep, canonical
from spanproof_collector.model.readings import Absent, Decision, Message, ModelCall, Recorded, ToolRun, Usage
from spanproof_collector.model.spans import LogRecord, Span
from spanproof_collector.trials._items import ReadSpan, merged, merged_run

_SPAN_AFTER_LOG: Final = 5_000_000_000
"""Nanoseconds between the end of an inference's span and its entry in the log, at most; both are of one process."""

_RANK: Final = {"prompt": 0, "request": 1, "answer": 2, "words": 3, "decision": 4, "result": 5}
_AUTOMATIC: Final = ("config", "hook", "policy", "auto")
"""Beginnings of what agents call a decision that nobody was asked for."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A log record and what it tells of a step."""

    record: LogRecord
    step: LogStep

    @property
    def time(self) -> int:
        """When it was written, in Unix nanoseconds."""
        return self.record.time or self.record.observed_time

    @property
    def start(self) -> int:
        """When the step began that ended with it."""
        return max(self.time - self.step.duration, 0)

    @property
    def order(self) -> tuple[int, int, int, str]:
        """Its place in the log."""
        return (self.time, self.step.sequence, _RANK[self.step.part], self.record.record_id)


@dataclass(slots=True)
class _Answer:
    """One inference of the log."""

    entry: Entry
    call: ModelCall


def steps_of(entries: Iterable[Entry], items: Sequence[ReadSpan]) -> list[ReadSpan]:
    """Return the spans filled with what the log says of them, and a step for what only the log tells of."""
    ordered = sorted(entries, key=lambda entry: entry.order)
    if not ordered:
        return list(items)
    found = {(item.span.trace_id, item.span.span_id): item for item in items}
    inferences = {key: item for key, item in found.items() if isinstance(item.reading, ModelCall)}
    runs = {key: item for key, item in found.items() if isinstance(item.reading, ToolRun)}
    every_run = [*runs.values(), *(entry.step.reading for entry in ordered)]
    known = _Known.of(item.reading if isinstance(item, ReadSpan) else item for item in every_run)
    alone: list[ReadSpan] = []
    for answer in _answers(ordered):
        key = _span_of_answer(answer, inferences)
        if key is None:
            alone.append(_alone(answer.entry, answer.call, found))
            continue
        item = inferences.pop(key)
        if isinstance(item.reading, ModelCall):
            found[key] = item.read_as(_filled(item.reading, answer.call))
    for entry in ordered:
        match entry.step.reading:
            case ToolRun() as run:
                key = _span_of_run(entry, run, runs)
                if key is None:
                    alone.append(_alone(entry, run, found))
                    continue
                item = runs.pop(key)
                if isinstance(item.reading, ToolRun):
                    found[key] = item.read_as(merged_run(_with_whole_arguments(item.reading, run), run))
            case Decision() as decision:
                alone += _decided(entry, decision, found, known)
            case _:
                pass
    return [*found.values(), *alone]


@dataclass(frozen=True, slots=True)
class _Known:
    """Which calls spans or the log's results tell of."""

    ids: frozenset[str]
    names: frozenset[str]

    @staticmethod
    def of(readings: Iterable[object]) -> "_Known":
        """Return the ids and names of the runs among these."""
        runs = [reading for reading in readings if isinstance(reading, ToolRun)]
        return _Known(frozenset(run.call_id for run in runs if run.call_id), frozenset(run.name for run in runs))

    def holds(self, decision: Decision) -> bool:
        """True where the call that was decided on is one of them."""
        return decision.call_id in self.ids if decision.call_id else decision.name in self.names


def _decided(
    entry: Entry, decision: Decision, found: dict[tuple[str, str], ReadSpan], known: _Known
) -> Iterator[ReadSpan]:
    """The step of a decision: none where a span tells of it, or where nobody was asked and the call was let through.

    A call that was not allowed and that nothing else tells of is a call all the same.
    """
    around = found.get((entry.record.trace_id, entry.record.span_id))
    if around is not None and isinstance(around.reading, Decision):
        return
    if decision.approved is False and not known.holds(decision):
        yield _alone(
            entry,
            ToolRun(
                name=decision.name or "",
                call_id=decision.call_id,
                arguments=decision.arguments,
                stopped="denied",
                error=decision.reason,
            ),
            found,
        )
    elif not (decision.approved and (decision.by or "").lower().startswith(_AUTOMATIC)):
        yield _alone(entry, decision, found)


def _answers(ordered: Sequence[Entry]) -> list[_Answer]:
    """Bring together what the log tells of each inference, in order of the answers."""
    prompts: dict[str, list[Message]] = defaultdict(list)
    asked: dict[tuple[str, str | None], list[ModelCall]] = defaultdict(list)
    answers: list[_Answer] = []
    words: list[tuple[Entry, Message]] = []
    for entry in ordered:
        step = entry.step
        match step.reading:
            case ModelCall() as call if step.part == "request":
                asked[(step.thread, call.request_model)].append(call)
            case ModelCall() as call:
                waiting = asked.get((step.thread, call.request_model)) or asked.get((step.thread, None))
                if waiting:
                    call = merged(call, waiting.pop(0))
                prompted = prompts.pop(step.thread, None)
                if prompted and call.input is None:
                    call = replace(call, input=tuple(prompted))
                answers.append(_Answer(entry, call))
            case Message() as message if step.part == "prompt":
                prompts[step.thread].append(message)
            case Message() as message:
                words.append((entry, message))
            case _:
                pass
    for entry, message in words:
        _speak(answers, entry, message)
    return answers


def _speak(answers: Sequence[_Answer], entry: Entry, message: Message) -> None:
    """Give words to the answer that they are part of: by its id, else to the nearest of the same prompt."""
    said_by = [a for a in answers if entry.step.response_id and a.call.response_id == entry.step.response_id]
    fitting = said_by or [a for a in answers if a.entry.step.thread == entry.step.thread]
    if not fitting:
        return
    nearest = min(fitting, key=lambda a: (abs(a.entry.time - entry.time), -a.entry.time))
    known = nearest.call.output or ()
    if not any(set(message.parts) <= set(one.parts) for one in known):
        nearest.call = replace(nearest.call, output=(*known, message))


def _contradict(call: ModelCall, told: ModelCall) -> bool:
    """True where span and log speak of two inferences: another model, or other tokens put in."""
    names = {name for name in (call.request_model, call.response_model) if name}
    told_names = {name for name in (told.request_model, told.response_model) if name}
    if names and told_names and not names & told_names:
        return True
    one, other = call.usage.input_tokens, told.usage.input_tokens
    return one is not None and other is not None and one != other


def _span_of_answer(answer: _Answer, untold: dict[tuple[str, str], ReadSpan]) -> tuple[str, str] | None:
    """The span of an inference that is not told yet: its own, else the nearest in time that does not contradict."""
    own = (answer.entry.record.trace_id, answer.entry.record.span_id)
    if own in untold:
        return own
    fitting = []
    for key, item in untold.items():
        apart = abs(item.span.end - answer.entry.time)
        overlap = item.span.start <= answer.entry.time and answer.entry.start <= item.span.end
        near = overlap or apart <= _SPAN_AFTER_LOG
        if near and isinstance(item.reading, ModelCall) and not _contradict(item.reading, answer.call):
            fitting.append((apart, key))
    return min(fitting)[1] if fitting else None


def _span_of_run(entry: Entry, run: ToolRun, untold: dict[tuple[str, str], ReadSpan]) -> tuple[str, str] | None:
    """The span of a tool run that is not told yet: by call id, else by name and arguments; of several the nearest."""
    fitting = []
    for key, item in untold.items():
        reading = item.reading
        if not isinstance(reading, ToolRun) or reading.mcp_side is not None:
            continue
        if run.call_id and reading.call_id:
            fits = run.call_id == reading.call_id and reading.name in (run.name, "")
        else:
            fits = reading.name == run.name and _alike(reading.arguments, run.arguments)
        if fits:
            fitting.append((reading.name != run.name, abs(item.span.end - entry.time), key))
    return min(fitting)[2] if fitting else None


def _alike(one: Recorded, other: Recorded) -> bool:
    if isinstance(one, Absent) or isinstance(other, Absent):
        return True
    return _holds(other, one) or canonical(one) == canonical(other)


def _holds(whole: Recorded, part: Recorded) -> bool:
    return isinstance(whole, dict) and isinstance(part, dict) and part.items() <= whole.items()


def _with_whole_arguments(run: ToolRun, told: ToolRun) -> ToolRun:
    """Take the log's arguments where the span has only some of them."""
    return replace(run, arguments=told.arguments) if _holds(told.arguments, run.arguments) else run


def _filled(call: ModelCall, told: ModelCall) -> ModelCall:
    """Fill a span's inference from the log; the side that counted more kinds of tokens is believed."""
    whole = merged(call, told)
    known, said = _known(call.usage), _known(told.usage)
    return replace(whole, usage=merged(told, call).usage) if len(said) > len(known) else whole


def _known(usage: Usage) -> list[str]:
    return [name for name in usage.__struct_fields__ if getattr(usage, name) is not None]


def _alone(entry: Entry, reading: ModelCall | ToolRun | Decision, found: dict[tuple[str, str], ReadSpan]) -> ReadSpan:
    """Stand in for a span that was never sent."""
    record = entry.record
    around = found.get((record.trace_id, record.span_id))
    span = Span(
        project=record.project,
        trace_id=record.trace_id,
        span_id=record.record_id[:16],
        parent_span_id=record.span_id,
        name=record.event_name,
        start=entry.start,
        end=entry.time,
        pairs=record.pairs,
        dropped_attributes=record.dropped_attributes,
        resource=record.resource,
        scope=record.scope,
    )
    return ReadSpan(span=span, reading=reading, depth=0 if around is None else around.depth + 1)
