"""A recorded session as one Export request: the latest GenAI conventions, and ``spanproof.*`` where they have no name.

A root span for the session; under it a span for each inference, each call and each run of another agent. What others
said stands in the input of the next inference; a call's result stands on its own span alone. Ids are hashes of format,
identity and place, so that a session gets the same ones from whichever file it is read.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from spanproof_collector.importers._session import (
    Call,
    Claim,
    Inference,
    Refused,
    Run,
    Said,
    Session,
    Turn,
    Verdict,
    Wait,
)
from spanproof_collector.model.readings import Absent, Recorded, Usage
from spanproof_collector.model.spans import IMPORTED
from spanproof_collector.model.values import Json
from spanproof_instrumentation import semconv

_EPOCH: Final = 1_000_000_000
"""Where a session without any time begins: the order is kept, and every span says that its time is none."""

_STEP: Final = 1_000
_PART: Final = 1_000_000_000_000
"""How far apart the parts of a session without any time begin."""

_TIE: Final = 1_000_000
"""Recorded times that go back by less than a millisecond are told apart by a nanosecond and stay recorded times."""

_LATEST: Final = 2**64 - 1
_LETTERS: Final = {Said: "s", Inference: "m", Call: "t", Run: "a", Wait: "w", Claim: "c"}

Attributes = dict[str, str | bool | int | float | list[str] | None]


def request_of(session: Session, format_name: str) -> ExportTraceServiceRequest:
    """Return the spans of a session. ``None`` values are left out."""
    return _Writer(session, format_name).request()


def _whole(text: str) -> str:
    """UTF-8 has no half of a character, which JSON can spell."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _any(value: str | bool | int | float | list[str]) -> AnyValue:
    match value:
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value) if -(2**63) <= value < 2**63 else AnyValue(string_value=str(value))
        case float():
            return AnyValue(double_value=value)
        case str():
            return AnyValue(string_value=_whole(value))
        case _:
            return AnyValue(array_value=ArrayValue(values=[AnyValue(string_value=_whole(item)) for item in value]))


def _pairs(attributes: Attributes) -> list[KeyValue]:
    return [KeyValue(key=key, value=_any(value)) for key, value in attributes.items() if value is not None]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _payload(value: Recorded) -> str | bool | int | float | None:
    """Return arguments or a result as a span carries them: a text as it stands, structure as JSON."""
    if isinstance(value, Absent) or value is None:
        return None
    return _json(value) if isinstance(value, dict | list) else value


def _nanoseconds(at: int | None) -> int | None:
    return at if at is not None and 0 < at <= _LATEST else None


@dataclass(slots=True)
class _Clock:
    """Gives each turn a time after the one before."""

    last: int

    def place(self, recorded: int | None) -> tuple[int, bool]:
        """Return the time, and whether it is the recorded one."""
        at = _nanoseconds(recorded)
        if at is None:
            self.last += _STEP
            return self.last, False
        if at > self.last:
            self.last = at
            return at, True
        near = self.last - at < _TIE
        self.last += 1
        return self.last, near


@dataclass(slots=True)
class _Place:
    """Where turns are written: under which span, from when on, what of it the next inference has not heard yet."""

    parent: bytes
    path: str
    clock: _Clock
    model: str | None
    provider: str | None
    unheard: list[dict[str, Json]] = field(default_factory=list)
    unheard_from: tuple[int | None, str] = (None, "")
    keys: dict[str, int] = field(default_factory=dict)
    end: int = 0

    def key_of(self, kind: str, recorded: str | None, at: int | None) -> str:
        """Return a key of its own for each turn: the recorded one, else its time, else the count of its kind."""
        known = recorded or (str(at) if at is not None else "")
        key = f"{self.path}/{kind}:{known}"
        self.keys[key] = count = self.keys.get(key, 0) + 1
        return f"{key}#{count}" if count > 1 or not known else key


class _Writer:
    """One session being written."""

    def __init__(self, session: Session, format_name: str) -> None:
        self._session = session
        name = "\0".join((format_name, *session.identity))
        digest = hashlib.sha256(f"spanproof import\0{name}".encode("utf-8", "surrogatepass"))
        self._trace_id = digest.digest()[:16]
        self._root_id = self._span_id("root")
        self._trial = f"{format_name}-{digest.hexdigest()[:16]}"
        self._spans: list[Span] = []
        self._last: Span | None = None
        """What came last of the session's own turns."""

        self._runs: set[str] = set()
        inferences = list(_inferences(session.turns))
        self._asked = bool(inferences)
        self._billed = any(each.cost for each in inferences)

    def request(self) -> ExportTraceServiceRequest:
        session = self._session
        first = _nanoseconds(session.started_at) or next(_times(session.turns), None)
        clock = _Clock((first or _EPOCH + session.part * _PART) - 1)
        place = _Place(self._root_id, "", clock, session.model, session.provider)
        start, _ = clock.place(first)
        clock.last -= 1
        self._turns(session.turns, place)
        self._trailing(place)
        end = max(place.end, start, _nanoseconds(session.ended_at) or 0)
        if session.rooted:
            self._root(start, end, recorded=first is not None)
        self._ending()
        scope = ScopeSpans(scope=InstrumentationScope(name=IMPORTED), spans=self._spans)
        return ExportTraceServiceRequest(resource_spans=[ResourceSpans(scope_spans=[scope])])

    # --- the session itself ---

    def _root(self, start: int, end: int, *, recorded: bool) -> None:
        session, labels = self._session, self._session.labels
        attributes: Attributes = {
            semconv.OPERATION: "invoke_agent",
            semconv.AGENT_NAME: session.agent_name,
            semconv.AGENT_VERSION: session.agent_version,
            semconv.PROVIDER: session.provider,
            semconv.REQUEST_MODEL: session.model,
            semconv.TASK_ID: labels.task_id,
            semconv.ATTEMPT: labels.attempt,
            semconv.VARIANT: labels.variant,
            semconv.SUITE: labels.suite,
            semconv.COST_USD: format(session.cost, "f")
            if session.cost or (session.cost == 0 and not self._asked)
            else None,
            semconv.TASK_DEFINITION: None if session.task is None else _json(session.task),
            semconv.TOOL_DEFINITIONS: None if session.tools is None else _json(session.tools),
            **_usage(session.usage or Usage()),
            semconv.OUTPUT_MESSAGES: None
            if session.answer is None
            else _json([{"role": "assistant", "parts": [{"type": "text", "content": session.answer}]}]),
            **{
                f"{semconv.LABEL_PREFIX}{key}": _fact(value) for key, value in labels.facts.items() if value is not None
            },
            # it grows with the session: of two recordings the longer one's root is the richer span, and stands
            semconv.RECORDED_TURNS: "".join(_LETTERS[type(turn)] for turn in session.turns),
        }
        name = f"invoke_agent {session.agent_name}" if session.agent_name else "invoke_agent"
        root = self._span(name, self._root_id, b"", start, end, attributes, recorded=recorded)
        root.events.extend(_verdict(verdict, end) for verdict in session.verdicts)
        if session.changes is not None:
            told = session.changes
            changes: Attributes = {
                semconv.CHANGES_ACTUAL: _json(told.actual),
                semconv.CHANGES_GOLD: None if told.gold is None else _json(told.gold),
                semconv.CHANGES_CALLS: None if told.calls is None else _json(told.calls),
                semconv.CHANGES_BY: told.by,
            }
            root.events.append(_event(semconv.EVENT_RECORDED_CHANGES, end, changes))
        self._last = self._last or root

    def _ending(self) -> None:
        """Say on the last turn how the session ended: were it recorded further, another turn would be the last."""
        if self._last is None:
            return
        if self._session.termination is not None:
            self._last.attributes.extend(_pairs({semconv.TERMINATION_REASON: self._session.termination}))
        if self._session.cut:
            self._last.attributes.extend(_pairs({semconv.UNFINISHED: semconv.UNFINISHED_RECORDING}))

    # --- turns ---

    def _turns(self, turns: Iterable[Turn], place: _Place) -> None:
        for turn in turns:
            match turn:
                case Said():
                    key = place.key_of("said", turn.key, turn.at)
                    if not place.unheard:
                        place.unheard_from = (turn.at, key)
                    place.unheard.append(_message(turn))
                case Inference():
                    self._inference(turn, place)
                case Call():
                    self._call(turn, place, place.key_of("call", turn.key or turn.call_id, turn.at))
                case Run():
                    self._run(turn, place, place.parent, self._run_key(turn, place.key_of("run", turn.key, turn.at)))
                case Wait():
                    self._moment(turn, place, semconv.EVENT_WAIT, _wait(turn))
                case Claim():
                    claimed: Attributes = {semconv.CLAIM_STATE: turn.state, semconv.CLAIM_TEXT: turn.text}
                    self._moment(turn, place, semconv.EVENT_CLAIM, claimed)

    def _inference(self, turn: Inference, place: _Place) -> None:
        key = place.key_of("inference", turn.key, turn.at)
        start, recorded = place.clock.place(turn.started_at if turn.started_at is not None else turn.at)
        end = max(start, _nanoseconds(turn.at) or start)
        model = turn.model or place.model
        attributes: Attributes = {
            semconv.OPERATION: "chat",
            semconv.PROVIDER: turn.provider or place.provider,
            semconv.REQUEST_MODEL: model,
            semconv.AGENT_NAME: turn.agent,
            semconv.RESPONSE_ID: turn.response_id,
            semconv.FINISH_REASONS: [turn.finish_reason] if turn.finish_reason else None,
            **_usage(turn.usage),
            semconv.COST_USD: None if turn.cost is None or self._unpriced(turn) else format(turn.cost, "f"),
            semconv.INPUT_MESSAGES: _json(place.unheard),
            semconv.OUTPUT_MESSAGES: _json([_answer(turn)]),
        }
        place.unheard = []
        name = f"chat {model}" if model else "chat"
        span = self._span(name, self._span_id(key), place.parent, start, end, attributes, recorded=recorded)
        if turn.error is not None:
            _fail(span, turn.error)
        span.events.extend(_refusal(refused, end) for refused in turn.refused)
        place.clock.last = max(place.clock.last, end)
        self._note(place, span)
        for number, call in enumerate(turn.calls):
            self._call(call, place, f"{key}/call:{number}", asked_at=turn.at)

    def _unpriced(self, turn: Inference) -> bool:
        """True where a cost of zero is no bill: harnesses write 0 for what they know no price of.

        It may be one where no token was used, and where other inferences of the session were billed and this one
        tells of no tokens: a greeting that no model wrote.
        """
        if turn.cost != 0:
            return False
        used = [turn.usage.input_tokens, turn.usage.output_tokens]
        return any(used) or (used == [None, None] and not self._billed)

    def _call(self, call: Call, place: _Place, key: str, asked_at: int | None = None) -> None:
        start, recorded = place.clock.place(call.at if call.at is not None else asked_at)
        end = max(start, _nanoseconds(call.answered_at) or start)
        attributes: Attributes = {
            semconv.OPERATION: "execute_tool",
            semconv.TOOL_NAME: call.name,
            semconv.TOOL_CALL_ID: call.call_id,
            semconv.TOOL_REQUESTOR: call.requestor if call.requestor != "agent" else None,
            # what another agent did for the call stands on that agent's calls
            semconv.EFFECT_CLASS: call.effect_class or ("handoff" if call.runs else None),
            semconv.TOOL_ARGUMENTS: _payload(call.arguments),
            semconv.TOOL_RESULT: _payload("null" if call.result is None else call.result),
            semconv.EXIT_CODE: call.exit_code,
        }
        span_id = self._span_id(key)
        span = self._span(f"execute_tool {call.name}", span_id, place.parent, start, end, attributes, recorded=recorded)
        if call.error is not None:
            _fail(span, call.error)
        elif call.succeeded:
            span.status.code = Status.STATUS_CODE_OK
        if call.refused is not None:
            span.events.append(_refusal(call.refused, end))
        for number, run in enumerate(call.runs):
            end = max(end, self._run(run, place, span_id, self._run_key(run, f"{key}/run:{run.key or number}"), start))
        span.end_time_unix_nano = end
        if call.runs and not recorded:
            place.clock.last = max(place.clock.last, end)
        # calls of one inference may have run at once: the next begins after this one began
        place.end = max(place.end, end)
        self._note(place, span)

    def _run_key(self, run: Run, place: str) -> str:
        """Return what identifies a run: its own key, as in a file of its own; else its place."""
        key = f"/run:{run.key}" if run.key is not None else place
        if key in self._runs:
            key = f"{place}#again"
        self._runs.add(key)
        return key

    def _run(self, run: Run, place: _Place, parent: bytes, key: str, within: int | None = None) -> int:
        """Write a run of another agent and return its end."""
        first = run.at if run.at is not None else next(_times(run.turns), None)
        clock = place.clock if within is None else _Clock(within)
        start, recorded = clock.place(first)
        span_id = self._span_id(key)
        inner = _Place(span_id, key, _Clock(start), None, place.provider)
        self._turns(run.turns, inner)
        self._trailing(inner)
        end = max(inner.end, start, _nanoseconds(run.ended_at) or 0)
        attributes: Attributes = {
            semconv.OPERATION: "invoke_agent",
            semconv.AGENT_NAME: run.agent,
            semconv.SUBAGENT: True,
        }
        name = f"invoke_agent {run.agent}" if run.agent else "invoke_agent"
        span = self._span(name, span_id, parent, start, end, attributes, recorded=recorded)
        if run.error is not None:
            _fail(span, run.error)
        self._note(place, span)
        return end

    def _moment(self, turn: Wait | Claim, place: _Place, name: str, attributes: Attributes) -> None:
        """Write an event that no other span carries, as a span of its own."""
        at, recorded = place.clock.place(turn.at)
        key = place.key_of(name, turn.key, turn.at)
        span = self._span(name, self._span_id(key), place.parent, at, at, {}, recorded=recorded)
        span.events.append(_event(name, at, attributes))
        self._note(place, span)

    def _trailing(self, place: _Place) -> None:
        """Keep what was said after the last inference."""
        if not place.unheard:
            return
        recorded_at, key = place.unheard_from
        at, recorded = place.clock.place(recorded_at)
        attributes: Attributes = {semconv.OPERATION: "message", semconv.INPUT_MESSAGES: _json(place.unheard)}
        span = self._span("message", self._span_id(key), place.parent, at, at, attributes, recorded=recorded)
        self._note(place, span)

    # --- spans ---

    def _note(self, place: _Place, span: Span) -> None:
        place.end = max(place.end, span.end_time_unix_nano)
        if place.parent == self._root_id:
            self._last = span

    def _span_id(self, key: str) -> bytes:
        return hashlib.sha256(self._trace_id + key.encode("utf-8", "surrogatepass")).digest()[:8]

    def _span(
        self, name: str, span_id: bytes, parent: bytes, start: int, end: int, attributes: Attributes, *, recorded: bool
    ) -> Span:
        common: Attributes = {
            semconv.TRIAL_ID: self._trial,
            semconv.CONVERSATION_ID: self._session.session_id,
            semconv.TIME_SYNTHETIC: None if recorded else True,
        }
        span = Span(
            trace_id=self._trace_id,
            span_id=span_id,
            parent_span_id=parent,
            name=_whole(name),
            kind=Span.SPAN_KIND_INTERNAL,
            start_time_unix_nano=start,
            end_time_unix_nano=end,
            attributes=_pairs(attributes | common),
        )
        self._spans.append(span)
        return span


def _times(turns: Sequence[Turn]) -> Iterator[int]:
    """Yield the recorded times of turns, in order."""
    for turn in turns:
        started = turn.started_at if isinstance(turn, Inference) else None
        at = _nanoseconds(started) or _nanoseconds(turn.at)
        if at is not None:
            yield at
        elif isinstance(turn, Run):
            yield from _times(turn.turns)


def _inferences(turns: Iterable[Turn]) -> Iterator[Inference]:
    """Yield the inferences of turns, those of the runs that they started included."""
    for turn in turns:
        match turn:
            case Inference():
                yield turn
                yield from (each for call in turn.calls for each in _inferences(call.runs))
            case Call():
                yield from _inferences(turn.runs)
            case Run():
                yield from _inferences(turn.turns)
            case _:
                pass


def _message(said: Said) -> dict[str, Json]:
    parts: list[Json] = []
    if said.text or not said.parts:
        parts.append({"type": "text" if said.kind == "text" else said.kind, "content": said.text})
    parts += [dict(part) for part in said.parts]
    return {"role": "other" if said.role == "environment" else said.role, "parts": parts}


def _answer(turn: Inference) -> dict[str, Json]:
    parts: list[Json] = []
    if turn.reasoning:
        parts.append({"type": "reasoning", "content": turn.reasoning})
    if turn.text:
        parts.append({"type": "text", "content": turn.text})
    parts += [dict(part) for part in turn.parts]
    for call in turn.calls:
        part: dict[str, Json] = {"type": "tool_call", "name": call.name}
        if call.call_id is not None:
            part["id"] = call.call_id
        if not isinstance(call.arguments, Absent):
            part["arguments"] = call.arguments
        parts.append(part)
    answer: dict[str, Json] = {"role": "assistant", "parts": parts}
    return answer | ({"finish_reason": turn.finish_reason} if turn.finish_reason else {})


def _usage(usage: Usage) -> Attributes:
    return {
        semconv.INPUT_TOKENS: usage.input_tokens,
        semconv.OUTPUT_TOKENS: usage.output_tokens,
        semconv.CACHE_READ_TOKENS: usage.cache_read_tokens,
        semconv.CACHE_WRITE_TOKENS: usage.cache_write_tokens,
        semconv.REASONING_TOKENS: usage.reasoning_tokens,
    }


def _wait(turn: Wait) -> Attributes:
    return {
        semconv.WAIT_OWNER: turn.owner,
        semconv.WAIT_DECISION: turn.decision,
        semconv.WAIT_DEADLINE: turn.deadline,
        semconv.WAIT_RESUMABLE: turn.resumable,
    }


def _verdict(verdict: Verdict, at: int) -> Span.Event:
    told: Attributes = {
        semconv.EVALUATION_NAME: verdict.name,
        semconv.EVALUATION_SCORE: None if verdict.score is None else float(verdict.score),
        semconv.EVALUATION_LABEL: verdict.label,
        semconv.EVALUATION_EXPLANATION: verdict.explanation,
        semconv.ERROR_TYPE: verdict.error_type,
    }
    return _event(semconv.EVENT_EVALUATION_RESULT, at, told)


def _refusal(refused: Refused, at: int) -> Span.Event:
    told: Attributes = {semconv.REFUSAL_REASON: refused.reason, semconv.REFUSAL_BY: refused.by}
    return _event(semconv.EVENT_REFUSAL, at, told)


def _fact(value: str | int | float | bool) -> str:
    """Labels are text; a flag is spelled as JSON spells it."""
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _event(name: str, at: int, attributes: Mapping[str, str | bool | int | float | list[str] | None]) -> Span.Event:
    return Span.Event(name=name, time_unix_nano=at, attributes=_pairs(dict(attributes)))


def _fail(span: Span, words: str) -> None:
    span.status.CopyFrom(Status(code=Status.STATUS_CODE_ERROR, message=_whole(words)))
