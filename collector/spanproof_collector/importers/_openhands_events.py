"""Walks an OpenHands event stream: actions, and the observations that they cause."""

from dataclasses import dataclass, field, replace
from typing import Final

from spanproof_collector.importers._chat import function_call
from spanproof_collector.importers._fields import ident, integer, listed, moment, obj, objects, openai_usage, text
from spanproof_collector.importers._session import Call, Claim, Inference, Refused, Run, Said, Termination, Turn
from spanproof_collector.model.values import Json

Event = dict[str, Json]

_NO_STEPS: Final = frozenset({"null", "change_agent_state", "agent_state_changed", "recall", "loop_recovery", ""})
"""Kinds of events that are nobody's work."""

_KEPT_BY_US: Final = frozenset(
    {"thought", "blocking", "hidden", "confirmation_state", "is_static", "impl_source", "translated_ipython_code"}
    | {"security_risk", "kernel_init_code", "include_extra", "task_completed", "wait_for_response"}
)
"""Arguments of actions that say how the runtime runs them, not what they do."""

_CLAIMS: Final = {"true": "success", "partial": "partial", "false": "failure"}
_STATES: Final[dict[str, Termination]] = {
    "finished": "completed",
    "stopped": "cancelled",
    "rejected": "completed",
    "error": "infrastructure",
}
_ITERATIONS: Final = ("maximum iteration", "max_iterations", "maximum budget", "budget for task")


def ended_by(words: str) -> Termination:
    """Return what an error tells of the end: a budget that ran out, or a breakdown."""
    return "budget_exhausted" if any(part in words.lower() for part in _ITERATIONS) else "infrastructure"


@dataclass(slots=True, kw_only=True, eq=False)
class _Asked:
    """One answer of a model and the calls that its actions are."""

    inference: Inference
    response_id: str | None = None
    calls: list[Call] = field(default_factory=list)


@dataclass(slots=True, kw_only=True, eq=False)
class _Delegated:
    """The call that handed work to another agent, and what that one does until it answers."""

    asked: _Asked
    place: int
    agent: str | None
    turns: "list[Turn | _Asked]" = field(default_factory=list)


class EventReader:
    """Walks a stream. Ids may have gaps; an observation names the action that caused it."""

    def __init__(self) -> None:
        self._turns: list[Turn | _Asked] = []
        self._delegated: list[_Delegated] = []
        self._caused: dict[str, tuple[_Asked | None, int]] = {}
        self._users: dict[str, int] = {}
        self.termination: Termination | None = None

    def take(self, event: Event) -> None:
        """Take the next event."""
        if isinstance(event.get("action"), str):
            self._action(event, str(event["action"]))
        elif isinstance(event.get("observation"), str):
            self._observation(event, str(event["observation"]))

    def finish(self) -> tuple[Turn, ...]:
        """Return the turns."""
        while self._delegated:
            self._end_delegation(None)
        return _settled(self._turns)

    @property
    def _here(self) -> "list[Turn | _Asked]":
        return self._delegated[-1].turns if self._delegated else self._turns

    # --- actions ---

    def _action(self, event: Event, kind: str) -> None:
        args, at = obj(event.get("args")), moment(event.get("timestamp"))
        source = event.get("source")
        words = text(args.get("content")) or ""
        if kind in _NO_STEPS:
            return
        if kind == "system":
            self._here.append(Said(role="system", text=words, at=at))
        elif kind == "condensation":
            self._here.append(Said(role="environment", kind="compaction", text=text(args.get("summary")) or "", at=at))
        elif source == "user":
            self._by_user(event, kind, args, at)
        elif source == "environment":
            self._here.append(Said(role="environment", text=words or text(event.get("message")) or "", at=at))
        elif kind in ("message", "finish", "reject"):
            self._words(event, kind, args, at)
        else:
            self._call(event, kind, args, at)

    def _by_user(self, event: Event, kind: str, args: Event, at: int | None) -> None:
        if kind == "message":
            images: tuple[Event, ...] = tuple(
                {"type": "image", "omitted": True} for _ in listed(args.get("image_urls"))
            )
            self._here.append(Said(role="user", text=text(args.get("content")) or "", parts=images, at=at))
            return
        # typed by the human into the same terminal
        given = {key: value for key, value in args.items() if key not in _KEPT_BY_US}
        self._users[ident(event.get("id")) or ""] = len(self._here)
        self._here.append(Call(name=kind, arguments=given, requestor="user", at=at))

    def _words(self, event: Event, kind: str, args: Event, at: int | None) -> None:
        """A message, or the end of the work in the agent's own words. The end is no call that anything would answer."""
        outputs = obj(args.get("outputs"))
        said = (
            text(args.get("content"))
            or text(args.get("final_thought"))
            or text(args.get("thought"))
            or text(outputs.get("content"))
            or text(outputs.get("reason"))
        )
        self._here.append(replace(_inference(event, at), text=said))
        completed = args.get("task_completed")
        known = _CLAIMS.get(str(completed).lower()) if completed is not None else None
        if kind == "reject":
            known = "failure"
        if known is not None:
            self._here.append(Claim(state=known, text=said, at=at))  # type: ignore[arg-type]
        if kind in ("finish", "reject") and not self._delegated:
            self.termination = "completed"

    def _call(self, event: Event, kind: str, args: Event, at: int | None) -> None:
        told = obj(event.get("tool_call_metadata"))
        response = text(obj(told.get("model_response")).get("id"))
        asked = self._asked(response)
        if asked is None:
            thought = text(args.get("thought"))
            asked = _Asked(inference=replace(_inference(event, at), text=thought), response_id=response)
            self._here.append(asked)
        call = _asked_for(event, kind, args, told)
        if text(args.get("confirmation_state")) == "rejected":
            call = replace(call, refused=Refused(by="user", reason="the user rejected the action"))
        asked.calls.append(replace(call, at=at, key=call.call_id))
        place = len(asked.calls) - 1
        self._caused[ident(event.get("id")) or ""] = (asked, place)
        if kind == "delegate":
            self._delegated.append(_Delegated(asked=asked, place=place, agent=text(args.get("agent"))))

    def _asked(self, response: str | None) -> _Asked | None:
        """The answer of a model that this action is a further part of."""
        last = self._here[-1] if self._here else None
        same = isinstance(last, _Asked) and response is not None and last.response_id == response
        return last if same and isinstance(last, _Asked) else None

    # --- observations ---

    def _observation(self, event: Event, kind: str) -> None:
        extras, at = obj(event.get("extras")), moment(event.get("timestamp"))
        if kind == "agent_state_changed":
            self._state(text(extras.get("agent_state")), text(extras.get("reason")) or text(event.get("content")) or "")
            return
        if kind in _NO_STEPS:
            return
        words = event.get("content")
        if kind == "delegate" and self._delegated:
            self._end_delegation(event)
            return
        cause = ident(event.get("cause")) or ""
        asked, place = self._caused.get(cause, (None, 0))
        if asked is not None:
            asked.calls[place] = _answered(asked.calls[place], kind, words, at, extras)
        elif cause in self._users and self._users[cause] < len(self._here):
            typed = self._here[self._users[cause]]
            if isinstance(typed, Call):
                self._here[self._users[cause]] = _answered(typed, kind, words, at, extras)
        elif isinstance(words, str) and words:
            self._here.append(Said(role="environment", text=words, at=at))

    def _state(self, state: str | None, reason: str) -> None:
        """The last state that ends anything holds; work that goes on has not ended."""
        if self._delegated:
            return
        ended = _STATES.get(state or "")
        if ended == "infrastructure":
            ended = ended_by(reason)
        if ended is not None or state == "running":
            self.termination = ended

    def _end_delegation(self, event: Event | None) -> None:
        done = self._delegated.pop()
        call = done.asked.calls[done.place]
        run = Run(agent=done.agent, turns=_settled(done.turns))
        if event is not None:
            answer = event.get("content") or obj(event.get("extras")).get("outputs")
            call = replace(call, result=answer, answered_at=moment(event.get("timestamp")))
        done.asked.calls[done.place] = replace(call, runs=(run,), effect_class="handoff")


def _settled(turns: "list[Turn | _Asked]") -> tuple[Turn, ...]:
    return tuple(replace(t.inference, calls=tuple(t.calls)) if isinstance(t, _Asked) else t for t in turns)


def _inference(event: Event, at: int | None) -> Inference:
    response = obj(obj(event.get("tool_call_metadata")).get("model_response"))
    choices = objects(response.get("choices"))
    said = obj(choices[0].get("message")) if choices else {}
    return Inference(
        text=text(said.get("content")),
        reasoning=text(said.get("reasoning_content")),
        model=text(response.get("model")),
        response_id=text(response.get("id")),
        finish_reason=text(choices[0].get("finish_reason")) if choices else None,
        usage=openai_usage(response.get("usage")),
        at=at,
    )


def _asked_for(event: Event, kind: str, args: Event, told: Event) -> Call:
    """The function that the model named, with its own arguments; without functions the action itself."""
    call_id = ident(told.get("tool_call_id"))
    choices = objects(obj(told.get("model_response")).get("choices"))
    asked = objects(obj(choices[0].get("message")).get("tool_calls")) if choices else []
    own = next((function_call(item) for item in asked if call_id is not None and item.get("id") == call_id), None)
    if own is not None and own.name:
        return own
    given = {key: value for key, value in args.items() if key not in _KEPT_BY_US}
    return Call(name=text(told.get("function_name")) or kind, call_id=call_id, arguments=given)


def _answered(call: Call, kind: str, words: Json, at: int | None, extras: Event) -> Call:
    if kind == "user_rejected":
        return replace(call, refused=Refused(by="user", reason=str(words or "the user rejected the action")))
    if kind == "error":
        return replace(call, error=str(words or "error"), answered_at=at)
    # the first versions tell the code beside the command, later ones in what they know of the shell
    code = integer(obj(extras.get("metadata")).get("exit_code", extras.get("exit_code")))
    return replace(call, result=words, answered_at=at, exit_code=code)
