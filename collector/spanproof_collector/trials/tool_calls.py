"""Tool calls: one call once, however many spans, log records and message parts tell of it.

Three things tell of a call. A model's output asks for it; later inputs repeat it and bring its result; a tool span
shows it being run. They are joined by call id; where a span carries none, by name and equal arguments, in order.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from spanproof_collector.dialects import canonical
from spanproof_collector.model.readings import (
    ABSENT,
    Absent,
    AgentRun,
    CallPart,
    Decision,
    DecisionPart,
    Message,
    Recorded,
    ResponsePart,
    ToolRun,
)
from spanproof_collector.trials._reading import ReadSpan, ReadTrial
from spanproof_instrumentation import semconv

HANDOFF: Final = re.compile(
    r"^(handoff|hand_off|handover)(_|$)|^(transfer|delegate|escalate|route|connect)_(back_)?to_"
)
"""Names of tools that hand over to another agent."""


@dataclass(slots=True, kw_only=True, eq=False)
class JoinedCall:
    """One call while its sources are brought together."""

    name: str
    call_id: str | None
    arguments: Recorded = ABSENT
    response: Recorded = ABSENT
    response_is_error: bool | None = None
    asked_by: ReadSpan | None = None
    asked_at: tuple[int, int, str, int]
    """Where it stands in the order of asking: start, depth and id of the span that asked, then its place there."""

    runs: list[tuple[ReadSpan, ToolRun]] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    """What was decided on it, in order of time."""

    _spelled: tuple[Recorded, str] | None = field(default=None, init=False, repr=False)

    @property
    def arguments_text(self) -> str:
        """The canonical text of its arguments, made once for each value that they had."""
        spelled = self._spelled
        if spelled is None or spelled[0] is not self.arguments:
            text = "" if isinstance(self.arguments, Absent) else canonical(self.arguments)
            self._spelled = spelled = (self.arguments, text)
        return spelled[1]

    @property
    def signature(self) -> str | None:
        """Name and arguments as one text; ``None`` where the arguments are not known."""
        return None if isinstance(self.arguments, Absent) else _signature(self.name, self.arguments)

    @property
    def settled(self) -> bool:
        """True when one of its spans ended with a result, an error or a refusal."""
        return any(
            run.stopped is None and (item.failed or not isinstance(run.result, Absent) or _refused(item))
            for item, run in self.runs
        )


def _refused(item: ReadSpan) -> bool:
    return any(event.name == semconv.EVENT_REFUSAL for event in item.span.events)


def _signature(name: str, arguments: Recorded) -> str:
    return f"{name}\0{'' if isinstance(arguments, Absent) else canonical(arguments)}"


def _fitting(calls: Iterable[JoinedCall], name: str, arguments: Recorded, bare: str | None = None) -> list[JoinedCall]:
    """Return the calls whose name and arguments do not contradict: what was not recorded contradicts nothing.

    ``bare`` is the value of an only argument whose name was left out.
    """
    named = [call for call in calls if not (call.name and name and call.name != name)]
    if bare is not None:
        return [call for call in named if isinstance(call.arguments, Absent) or _only_value(call.arguments) == bare]
    if isinstance(arguments, Absent):
        return named
    text = canonical(arguments)
    return [call for call in named if isinstance(call.arguments, Absent) or call.arguments_text == text]


def _only_value(arguments: Recorded) -> str | None:
    """The value of an only argument, as text."""
    value = next(iter(arguments.values())) if isinstance(arguments, dict) and len(arguments) == 1 else arguments
    return value if isinstance(value, str) else None if isinstance(value, Absent) else canonical(value)


class _Calls:
    """The calls found so far."""

    def __init__(self) -> None:
        self.all: list[JoinedCall] = []
        self._by_id: dict[str, list[JoinedCall]] = defaultdict(list)
        self._by_name: dict[str, list[JoinedCall]] = defaultdict(list)
        self._by_text: dict[tuple[str, str], list[JoinedCall]] = defaultdict(list)
        self._blank: dict[str, list[JoinedCall]] = defaultdict(list)
        self._place: dict[int, int] = {}

    def add(self, call: JoinedCall) -> JoinedCall:
        self._place[id(call)] = len(self.all)
        self.all.append(call)
        if call.call_id:
            self._by_id[call.call_id].append(call)
        self._by_name[call.name].append(call)
        if isinstance(call.arguments, Absent):
            self._blank[call.name].append(call)
        else:
            self._by_text[call.name, call.arguments_text].append(call)
        return call

    def fill(self, call: JoinedCall, arguments: Recorded) -> None:
        """Take the arguments of a call of which they were not known."""
        if not isinstance(call.arguments, Absent) or isinstance(arguments, Absent):
            return
        call.arguments = arguments
        self._blank[call.name] = [other for other in self._blank[call.name] if other is not call]
        self._by_text[call.name, call.arguments_text].append(call)

    def candidates(
        self, name: str, call_id: str | None, arguments: Recorded, bare: str | None = None
    ) -> list[JoinedCall]:
        """The calls that this may be: those with its id; without ids on one side, those with its name."""
        if call_id and call_id in self._by_id:
            return _fitting(self._by_id[call_id], name, arguments, bare)
        if bare is not None or isinstance(arguments, Absent):
            found = _fitting(self._by_name.get(name, ()), name, arguments, bare)
        else:
            alike = [*self._by_text.get((name, canonical(arguments)), ()), *self._blank.get(name, ())]
            found = sorted(alike, key=lambda call: self._place[id(call)])
        return [call for call in found if not call_id or not call.call_id]

    def known(self, call_id: str) -> bool:
        """True where somebody asked under this id."""
        return call_id in self._by_id

    def unanswered(self, call_id: str) -> JoinedCall | None:
        """The latest call with this id that has no result yet."""
        return next((c for c in reversed(self._by_id.get(call_id, ())) if isinstance(c.response, Absent)), None)


def _parts(messages: Iterable[Message]) -> Iterator[CallPart | ResponsePart | DecisionPart]:
    for message in messages:
        for part in message.parts:
            if isinstance(part, CallPart | ResponsePart | DecisionPart):
                yield part


def _asks(calls: _Calls, item: ReadSpan, messages: Iterable[Message]) -> None:
    asked: list[JoinedCall] = []
    for place, part in enumerate(_parts(messages)):
        if isinstance(part, ResponsePart):  # a tool that runs at the provider answers in the same output
            answered = _answered(calls, asked, part)
            if answered is not None:
                answered.response, answered.response_is_error = part.response, part.is_error
        elif isinstance(part, CallPart):
            call = calls.add(
                JoinedCall(
                    name=part.name,
                    call_id=part.call_id,
                    arguments=part.arguments,
                    asked_by=item,
                    asked_at=(*item.order, place),
                )
            )
            asked.append(call)


def _replay(calls: _Calls, item: ReadSpan, history: Iterable[Message]) -> None:
    """Walk one input: the n-th telling of a call is the n-th such call known; a result goes to a call before it."""
    parts = list(_parts(history))
    named_here = {part.call_id for part in parts if isinstance(part, CallPart) and part.call_id}
    told: set[int] = set()
    open_here: list[JoinedCall] = []
    for place, part in enumerate(parts):
        if isinstance(part, CallPart):
            known = next((c for c in _retold(calls, item, part, named_here) if id(c) not in told), None)
            if known is None:
                # asked for in a call whose span is lost or was never written
                start, depth, span_id = item.order
                known = calls.add(
                    JoinedCall(
                        name=part.name,
                        call_id=part.call_id,
                        arguments=part.arguments,
                        asked_by=None,
                        asked_at=(start, depth - 1, span_id, place),
                    )
                )
            calls.fill(known, part.arguments)
            told.add(id(known))
            open_here.append(known)
        elif isinstance(part, DecisionPart):
            decided = next((known for known in reversed(open_here) if known.call_id == part.call_id), None)
            if decided is not None and not any(one.approved == part.approved for one in decided.decisions):
                decided.decisions.append(Decision(approved=part.approved, call_id=part.call_id, reason=part.reason))
        else:
            answered = _answered(calls, open_here, part)
            if answered is not None and isinstance(answered.response, Absent):
                answered.response = part.response
                answered.response_is_error = part.is_error


def _retold(calls: _Calls, item: ReadSpan, part: CallPart, named_here: set[str]) -> Iterator[JoinedCall]:
    """The calls asked for before an inference that a part of its input may repeat.

    Some senders repeat a call under the id of another item of the provider's. An id that nobody asked under repeats an
    equal call whose own id this input does not have.
    """
    earlier = calls.candidates(part.name, part.call_id, part.arguments)
    yield from (call for call in earlier if call.asked_at[:3] <= item.order)
    if part.call_id and not calls.known(part.call_id) and not isinstance(part.arguments, Absent):
        for call in calls.candidates(part.name, None, part.arguments):
            if call.call_id and call.call_id not in named_here and call.asked_at[:3] <= item.order:
                yield call


def _answered(calls: _Calls, open_here: list[JoinedCall], part: ResponsePart) -> JoinedCall | None:
    call_id = part.call_id
    for index in reversed(range(len(open_here))) if call_id else range(len(open_here)):
        known = open_here[index]
        named = not part.name or not known.name or part.name == known.name
        if (known.call_id == call_id and call_id) or ((not call_id or not known.call_id) and named):
            return open_here.pop(index)
    return calls.unanswered(call_id) if call_id else None


def _attach(
    trial: ReadTrial, calls: _Calls, owners: dict[tuple[str, str], JoinedCall], item: ReadSpan, run: ToolRun
) -> None:
    key = (item.span.trace_id, item.span.span_id)
    for ancestor in trial.ancestors(item):
        if isinstance(ancestor.reading, AgentRun):
            break  # another agent's call, though it bears the name of the tool that started that agent
        if isinstance(ancestor.reading, ToolRun) and run.name in (ancestor.reading.name, ""):
            outer = owners.get((ancestor.span.trace_id, ancestor.span.span_id))
            if outer is not None:
                owners[key] = outer
                calls.fill(outer, run.arguments)
                outer.runs.append((item, run))
                return
    if run.handoff_to is not None:
        fitting = _handoffs(trial, calls, item, run.handoff_to)
    else:
        fitting = calls.candidates(run.name, run.call_id, run.arguments, run.bare_argument)
    chosen = next((call for call in fitting if not call.runs), None)
    if chosen is None:
        # a run that paused for a decision shows the call again when it goes on
        chosen = next((call for call in fitting if not call.settled and call.signature is not None), None)
    if chosen is None:
        chosen = calls.add(JoinedCall(name=run.name, call_id=run.call_id, asked_at=(*item.order, 0)))
    calls.fill(chosen, run.arguments if run.bare_argument is None else run.bare_argument)
    owners[key] = chosen
    chosen.runs.append((item, run))


def _handoffs(trial: ReadTrial, calls: _Calls, item: ReadSpan, target: str) -> list[JoinedCall]:
    """The calls that may have asked for a handoff: a handoff's span tells the agents and never the tool.

    Those that name the agent; else those whose name is a handoff's, else those asked for beside it, latest first.
    """
    words = re.sub(r"\W+", "_", target.lower()).strip("_")
    asked = [call for call in calls.all if not call.runs and _may_precede(call, item)]
    named = [call for call in asked if words and words in re.sub(r"\W+", "_", call.name.lower())]
    of_class = [call for call in asked if HANDOFF.search(call.name.lower())]
    beside = [
        call
        for call in asked
        if call.asked_by is not None and call.asked_by.span.parent_span_id == item.span.parent_span_id
    ]
    return named or of_class[::-1] or beside[::-1]


def _may_precede(call: JoinedCall, item: ReadSpan) -> bool:
    """True unless the call was asked for in another trace or later; who asked is not known of every call."""
    if call.asked_by is None:
        return True
    return call.asked_at[0] <= item.span.start and call.asked_by.span.trace_id == item.span.trace_id


def _decided(
    trial: ReadTrial, calls: _Calls, owners: dict[tuple[str, str], JoinedCall], item: ReadSpan, decision: Decision
) -> None:
    """Give a decision to its call: by call id, else to the tool span around it, else to the latest of its name."""
    fitting = calls.candidates(decision.name or "", decision.call_id, ABSENT) if decision.call_id else []
    around = (owners.get((outer.span.trace_id, outer.span.span_id)) for outer in trial.ancestors(item))
    owner = next((call for call in around if call is not None), None)
    if fitting:
        owner = fitting[-1]
    elif owner is None and decision.name:
        named = [call for call in calls.all if call.name == decision.name and call.asked_at[0] <= item.span.start]
        owner = named[-1] if named else None
    if owner is not None:
        owner.decisions.append(decision)


def of_user(trial: ReadTrial) -> list[JoinedCall]:
    """Return the calls that the user made. Only spans tell of them."""
    return [
        JoinedCall(
            name=run.name,
            call_id=run.call_id,
            arguments=run.arguments,
            asked_at=(*item.order, 0),
            runs=[(item, run)],
        )
        for item, run in trial.user_tools()
    ]


def join(trial: ReadTrial) -> list[JoinedCall]:
    """Return the calls of a trial in the order in which they were asked for."""
    calls = _Calls()
    models = trial.models()
    for item, call in models:
        _asks(calls, item, call.output or ())
    if not models:
        for item, agent in trial.agents():
            if not any(isinstance(outer.reading, AgentRun) for outer in trial.ancestors(item)):
                _replay(calls, item, agent.input or ())
                _asks(calls, item, agent.output or ())
    for item, call in models:
        _replay(calls, item, call.input or ())
    owners: dict[tuple[str, str], JoinedCall] = {}
    for item, run in sorted(trial.tools(), key=lambda pair: (pair[1].mcp_side is not None, pair[0].order)):
        _attach(trial, calls, owners, item, run)
    for item, decision in trial.decisions():
        _decided(trial, calls, owners, item, decision)
    return sorted(calls.all, key=lambda call: call.asked_at)
