"""What the inferences of a trial tell of its course: who spoke before each, what it could ask for, what came back."""

from collections.abc import Iterator, Sequence

from spanproof_collector.model.readings import AgentRun, CallPart, Message, ModelCall, ResponsePart, Text
from spanproof_collector.model.trials import Inference, OrphanResult
from spanproof_collector.trials._reading import ReadSpan, ReadTrial
from spanproof_collector.trials.tool_calls import JoinedCall
from spanproof_instrumentation import semconv


def inferences(trial: ReadTrial) -> tuple[Inference, ...]:
    """Return every inference, in order."""
    offered_by_run = any(run.tools for _, run in trial.agents())
    return tuple(
        Inference(
            span_id=item.span.span_id,
            agent=_agent(trial, item),
            own=not trial.delegated(item),
            failed=item.failed,
            prompted=_prompted(call),
            offered=bool(call.tools) or offered_by_run,
        )
        for item, call in trial.models()
    )


def orphan_results(trial: ReadTrial, calls: Sequence[JoinedCall]) -> tuple[OrphanResult, ...]:
    """Return the answers that inferences were given to calls of no known id, each id once.

    Where a call has no id, an answer may be its own whatever id it bears: then nothing can be told.
    """
    asked = {call.call_id for call in calls} | {run.call_id for call in calls for _, run in call.runs if run.call_id}
    if None in asked or "" in asked:
        return ()
    found: dict[str, str] = {}
    for item, call in trial.models():
        for message in _new(call):
            for part in message.parts:
                if isinstance(part, ResponsePart) and part.call_id and part.call_id not in asked:
                    found.setdefault(part.call_id, item.span.span_id)
    return tuple(OrphanResult(call_id=call_id, span_id=span_id) for call_id, span_id in found.items())


def error_of(item: ReadSpan) -> str | None:
    """Return what is said of a span's failure: ``error.type``, then the words."""
    if not item.failed:
        return None
    kind = item.span.attributes.get(semconv.ERROR_TYPE)
    told = [kind] if isinstance(kind, str) and kind else []
    told += [item.error] if item.error and item.error not in told else []
    return ": ".join(told) or None


def _agent(trial: ReadTrial, item: ReadSpan) -> str | None:
    """Return the name of the agent that an inference was made for: as its span says, else the nearest run around it."""
    named = item.span.attributes.get(semconv.AGENT_NAME)
    if isinstance(named, str) and named:
        return named
    around = (outer.reading for outer in trial.ancestors(item))
    return next((run.name for run in around if isinstance(run, AgentRun) and run.name), None)


def _prompted(call: ModelCall) -> bool | None:
    if call.input is None:
        return None
    return any(
        isinstance(part, Text) and part.content.strip()
        for message in _new(call)
        if message.role not in ("system", "assistant")
        for part in message.parts
    )


def _new(call: ModelCall) -> Iterator[Message]:
    """Yield what an inference was given since the agent's last words or calls, latest first."""
    for message in reversed(call.input or ()):
        if message.role == "assistant" or any(isinstance(part, CallPart) for part in message.parts):
            return
        yield message
