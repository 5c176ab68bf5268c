"""The event stream of an Inspect sample as turns: spans form runs, and tool events answer the calls of model events."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from spanproof_collector.importers._chat import calls_of
from spanproof_collector.importers._content import content, plain_result
from spanproof_collector.importers._fields import fingerprint, ident, listed, moment, number, obj, objects, text, whole
from spanproof_collector.importers._inspect_places import Answer, Asked, Place, settled
from spanproof_collector.importers._session import Call, Inference, Refused, Said, Turn
from spanproof_collector.model.readings import ABSENT, Absent, Recorded, Usage
from spanproof_collector.model.values import Json

Event = dict[str, Json]
Resolve = Callable[[Json], Json]
"""Puts what was attached in the place of its reference."""

_RUNS: Final = frozenset({"agent", "branch"})
"""Types of spans that are runs: of an agent, or of an attempt that goes its own way from a point of another one."""

_SCORING: Final = frozenset({"scorer", "scorers"})
_NEVER_RAN: Final = frozenset({"parsing", "approval"})
"""Types of errors that tell of a call that was not begun."""

_STOPPING: Final = frozenset({"reject", "terminate"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a stream holds."""

    turns: tuple[Turn, ...]
    agent: str | None = None
    """The name of the one agent that did all the work."""

    limit: str | None = None
    """The kind of limit that ended the sample."""

    scores: tuple[Event, ...] = ()
    unfinished: bool = False
    """An inference or a call was still under way."""


@dataclass(slots=True, kw_only=True, eq=False)
class _Span:
    kind: str
    name: str | None
    parent: str | None


def read(events: Iterable[Event], resolve: Resolve, pool: list[Json]) -> Read:
    """Return the turns of a stream.

    Args:
        events: in their order.
        resolve: gives what was attached.
        pool: the messages that inputs refer to by their places.
    """
    reader = _Reader(resolve, pool)
    events = list(events)
    for event in events:
        reader.know(event)
    for event in events:
        reader.take(event)
    return reader.finish()


class _Reader:
    def __init__(self, resolve: Resolve, pool: list[Json]) -> None:
        self._resolve = resolve
        self._pool = pool
        self._spans: dict[str, _Span] = {}
        self._places: dict[str, Place] = {}
        self._root = Place()
        self._steps: list[str] = []
        self._spawned: dict[str, str] = {}
        """The span of each tool whose run an agent's span is, by the agent's."""

        self._tools: dict[str, list[Place]] = {}
        """Runs inside the span of a tool, which wait for its event."""

        self._refused: dict[str, Refused] = {}
        self._limit: str | None = None
        self._scores: list[Event] = []
        self._unfinished = False

    # --- spans ---

    def know(self, event: Event) -> None:
        """Take note of spans and of what a tool event says of them, wherever they stand."""
        if event.get("event") == "span_begin" and (span_id := ident(event.get("id"))):
            self._spans[span_id] = _Span(
                kind=text(event.get("type")) or "", name=text(event.get("name")), parent=ident(event.get("parent_id"))
            )
        spawned = ident(event.get("agent_span_id"))
        if event.get("event") == "tool" and spawned is not None:
            self._spawned[spawned] = ident(event.get("id")) or ""

    def _above(self, span_id: str | None) -> Iterator[tuple[str, _Span]]:
        seen: set[str] = set()
        while span_id is not None and span_id in self._spans and span_id not in seen:
            seen.add(span_id)
            yield span_id, self._spans[span_id]
            span_id = self._spans[span_id].parent

    def _place(self, span_id: str | None) -> Place:
        """Return the run that a span belongs to, opened where its first event stands."""
        for found, span in self._above(span_id):
            if span.kind in _RUNS:
                return self._opened(found, span)
        return self._root

    def _opened(self, span_id: str, span: _Span) -> Place:
        if span_id in self._places:
            return self._places[span_id]
        outer = self._place(span.parent)
        place = Place(name=span.name, key=span_id, kind=span.kind)
        if span.kind == "branch":
            place.heard = set(outer.heard)  # it replays what its parent heard
        self._places[span_id] = place
        tool = self._tool_of(span_id, span)
        if tool is None:
            outer.turns.append(place)
        else:
            self._tools.setdefault(tool, []).append(place)
        return place

    def _tool_of(self, span_id: str, span: _Span) -> str | None:
        """Return what names the call that a run works for: the span of its tool, or the id of the call."""
        if span_id in self._spawned:
            return f"call {self._spawned[span_id]}"
        for found, above in self._above(span.parent):
            if above.kind in _RUNS:
                return None
            if above.kind == "tool":
                return f"span {found}"
        return None

    def _scoring(self, span_id: str | None) -> bool:
        return any(span.kind in _SCORING for _, span in self._above(span_id)) or bool(
            _SCORING.intersection(self._steps)
        )

    # --- events ---

    def take(self, event: Event) -> None:
        kind, span_id = event.get("event"), ident(event.get("span_id"))
        at = moment(event.get("timestamp"))
        match kind:
            case "step":
                self._step(event)
            case "span_begin":
                self._place(ident(event.get("id")))
            case "model" if not self._scoring(span_id) and event.get("role") != "grader":
                self._model(event, self._place(span_id), at)
            case "tool" if not self._scoring(span_id):
                self._tool(event, self._place(span_id), at)
            case "subtask":
                self._subtask(event, self._place(span_id))
            case "approval":
                self._approval(event)
            case "compaction":
                words = text(event.get("summary")) or ""
                self._place(span_id).turns.append(Said(role="environment", kind="compaction", text=words, at=at))
            case "input":
                words = text(self._resolve(event.get("input"))) or ""
                self._place(span_id).turns.append(Said(role="user", text=words, at=at))
            case "sample_limit":
                self._limit = text(event.get("type")) or "custom"
            case "score":
                self._scores.append(event)
            case _:
                pass

    def _step(self, event: Event) -> None:
        """Older streams tell solvers and scorers by steps that begin and end."""
        if event.get("action") == "begin":
            self._steps.append(text(event.get("type")) or "")
        elif self._steps:
            self._steps.pop()

    def _approval(self, event: Event) -> None:
        call = obj(event.get("call"))
        if event.get("decision") in _STOPPING and event.get("stage") != "result":
            by = text(event.get("approver")) or "approver"
            reason = text(event.get("explanation")) or f"{event['decision']} by {by}"
            self._refused[ident(call.get("id")) or ""] = Refused(by=by, reason=reason)

    def _subtask(self, event: Event, place: Place) -> None:
        inner = _Reader(self._resolve, self._pool)
        events = objects(event.get("events"))
        for each in events:
            inner.know(each)
        for each in events:
            inner.take(each)
        if inner._root.turns:
            run = inner._root
            run.name, run.key, run.kind = text(event.get("name")), ident(event.get("uuid")), "subtask"
            place.turns.append(run)

    def _model(self, event: Event, place: Place, at: int | None) -> None:
        for message in self._input(event):
            self._hear(message, place)
        output = obj(event.get("output"))
        choices = objects(output.get("choices"))
        if event.get("pending") is True and not choices:
            self._unfinished = True
            return
        message = obj(self._resolve(obj(choices[0].get("message")))) if choices else {}
        said = content(message.get("content"))
        named, answering = text(event.get("model")), text(output.get("model"))
        provider, model = _model_name(answering or named)
        place.heard.add(_key(message))
        answer = Answer(
            inference=Inference(
                text=said.text or None,
                reasoning=said.reasoning,
                parts=said.parts,
                model=model,
                provider=provider or _model_name(named)[0],
                finish_reason=text(choices[0].get("stop_reason")) if choices else None,
                usage=usage_of(obj(output.get("usage"))),
                error=text(event.get("error")) or text(output.get("error")),
                started_at=at,
                at=moment(event.get("completed")) or at,
                key=ident(event.get("uuid")),
            )
        )
        for item, call in zip(objects(message.get("tool_calls")), calls_of(message), strict=False):
            broken = text(item.get("parse_error"))
            refused = Refused(by="harness", reason=broken) if broken else None
            answer.calls.append(Asked(call=replace(call, refused=refused)))
        place.turns.append(answer)

    def _input(self, event: Event) -> Iterator[Event]:
        yield from objects(event.get("input"))
        for reference in listed(event.get("input_refs")):
            match reference:
                case [int(first), int(last)]:
                    yield from objects(self._pool[max(first, 0) : max(last, 0)])
                case _:
                    pass

    def _hear(self, message: Event, place: Place) -> None:
        """Take what an input has that was not heard before: words of others, and results that no tool event tells."""
        key = _key(message)
        if key in place.heard:
            return
        place.heard.add(key)
        role = message.get("role")
        if role in ("system", "user"):
            said = content(self._resolve(message.get("content")))
            summary = obj(message.get("metadata")).get("summary") is True
            kind = "compaction" if summary else "text"
            spoke = "environment" if summary else str(role)
            place.turns.append(Said(role=spoke, kind=kind, text=said.text, parts=said.parts))  # type: ignore[arg-type]
        elif role == "tool":
            asked = place.open(ident(message.get("tool_call_id")))
            if asked is not None:
                _answer(asked, self._resolve(message.get("content")), obj(message.get("error")))

    def _tool(self, event: Event, place: Place, at: int | None) -> None:
        call_id = ident(event.get("id"))
        asked = place.open(call_id)
        if asked is None:
            asked = Asked(call=Call(name=text(event.get("function")) or "", call_id=call_id))
            place.turns.append(asked)
        if event.get("arguments") is not None:
            asked.call = replace(asked.call, arguments=self._resolve(event["arguments"]))
        asked.call = replace(
            asked.call, at=at, answered_at=moment(event.get("completed")), key=ident(event.get("uuid"))
        )
        asked.runs += self._tools.pop(f"call {call_id}", []) + self._tools.pop(
            f"span {ident(event.get('span_id'))}", []
        )
        nested = objects(event.get("events"))
        if nested:
            asked.runs.append(self._nested(event, nested))
        if asked.runs or text(event.get("agent")):
            asked.call = replace(asked.call, effect_class="handoff")
        if event.get("pending") is True:
            self._unfinished = True
            return
        refused = self._refused.pop(call_id or "", None)
        if refused is not None:
            asked.call, asked.answered = replace(asked.call, refused=refused), True
            return
        _answer(asked, self._resolve(event["result"]) if "result" in event else ABSENT, obj(event.get("error")))

    def _nested(self, event: Event, events: list[Event]) -> Place:
        """Older streams hold the events of a tool's own work inside of its event."""
        inner = _Reader(self._resolve, self._pool)
        for each in events:
            inner.know(each)
        for each in events:
            inner.take(each)
        run = inner._root
        run.name, run.key, run.kind = text(event.get("agent")), ident(event.get("uuid")), "agent"
        return run

    def finish(self) -> Read:
        for waiting in self._tools.values():
            self._root.turns += waiting  # the event of their tool is not there
        root, agent = self._root, None
        only = root.turns[0] if len(root.turns) == 1 else None
        if isinstance(only, Place) and only.kind == "agent":
            root, agent = only, only.name
        return Read(
            turns=tuple(settled(root)),
            agent=agent,
            limit=self._limit,
            scores=tuple(self._scores),
            unfinished=self._unfinished,
        )


def _answer(asked: Asked, result: Recorded, error: Event) -> None:
    asked.answered = True
    if error:
        kind, words = text(error.get("type")), text(error.get("message")) or "error"
        if kind in _NEVER_RAN:
            asked.call = replace(
                asked.call, refused=Refused(by="approver" if kind == "approval" else "harness", reason=words)
            )
        else:
            asked.call = replace(asked.call, error=words)
    elif not isinstance(result, Absent):
        asked.call = replace(asked.call, result=plain_result(result))


def _key(message: Event) -> str:
    """Return what a message is known by: its id, else what it says."""
    named = ident(message.get("id"))
    return named or fingerprint(json.dumps([message.get("role"), message.get("content")], sort_keys=True))


def _model_name(name: str | None) -> tuple[str | None, str | None]:
    """Split the provider from a model's name."""
    if name is None:
        return None, None
    provider, slash, model = name.partition("/")
    return (provider, model) if slash else (None, name)


def usage_of(used: Event) -> Usage:
    """Return the tokens; the total tells whether cached ones are part of the input or stand beside it."""
    given, answered = whole(used.get("input_tokens")), whole(used.get("output_tokens"))
    read, written = whole(used.get("input_tokens_cache_read")), whole(used.get("input_tokens_cache_write"))
    total = number(used.get("total_tokens"))
    beside = (read or 0) + (written or 0)
    if given is not None and beside and total == given + (answered or 0) + beside:
        given += beside
    return Usage(
        input_tokens=given,
        output_tokens=answered,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=whole(used.get("reasoning_tokens")),
    )
