"""Calls that were made after the agent had declared that it was done."""

from dataclasses import dataclass

from spanproof_collector.model.trials import ToolCall, Trial
from spanproof_collector.trials.claims.declared import finishes
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules._rule import UNSEEN
from spanproof_evaluators.rules.trajectories._calls import first_spans, named
from spanproof_evaluators.rules.trajectories._saying import Gap, said, unavailable


@dataclass(frozen=True)
class CallsAfterCompletion:
    """Flag calls after a structured declaration that the task is done (MAST 1.5, unaware of termination; B.11).

    A declaration is the event ``spanproof.claim`` with success, or a finishing call (``finish``, ``submit`` and the
    like) of the trial's own agent that was not turned down. Calls of the same inference, and calls after somebody spoke
    again, do not count. Words are no declaration. Score: such calls.
    """

    name: str = "calls_after_completion"
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Look for them; nothing where nothing was declared."""
        if not trial.understood:
            return unavailable(self.name, "not_captured", "no dialect recognizes any span")
        first = next((at for at, call in enumerate(trial.tool_calls) if declares(trial, call)), None)
        if first is None and trial.declared_at is None:
            if not trial.completeness.calls_whole:
                return unavailable(self.name, "not_captured", f"no declaration seen, but {UNSEEN}")
            return None
        after = _after_call(trial, first) if first is not None else []
        after += [call for call in _after_event(trial) if all(call is not other for other in after)]
        again = _spoken_again(trial, first)
        gap: Gap | None = None
        if after and again is None:
            gap, after = ("not_captured", "whether somebody spoke again after the declaration is not recorded"), []
        elif again is not None:
            after = [call for call in after if call.asked_by not in again]
        return said(
            self.name,
            trial,
            flagged=bool(after),
            score=float(len(after)),
            told=f"called after the task was declared done: {named(after)}" if after else "none",
            spans=first_spans(after),
            gap=gap,
        )


def declares(trial: Trial, call: ToolCall) -> bool:
    """Return whether a call declares that the task is done."""
    if not finishes(call) or call.executed == "no" or call.error is not None or call.effect.state == "refused":
        return False
    return all(one.own for one in trial.inferences if one.span_id == call.asked_by)


def _after_call(trial: Trial, first: int) -> list[ToolCall]:
    done = trial.tool_calls[first]
    return [call for call in trial.tool_calls[first + 1 :] if call.asked_by is None or call.asked_by != done.asked_by]


def _after_event(trial: Trial) -> list[ToolCall]:
    if trial.declared_at is None:
        return []
    return [call for call in trial.tool_calls if call.started_at > trial.declared_at]


def _spoken_again(trial: Trial, first: int | None) -> set[str] | None:
    """Return the inferences since somebody spoke again after the declaration; ``None`` where that is not recorded."""
    started = {step.span_id: step.started_at for step in trial.steps}
    done = trial.tool_calls[first].asked_by if first is not None else None
    times = [at for at in (started.get(done or ""), trial.declared_at) if at is not None]
    since = min(times, default=0)
    later = [one for one in trial.inferences if started.get(one.span_id, 0) > since and one.span_id != done]
    found: set[str] = set()
    for one in later:
        if one.prompted or found:
            found.add(one.span_id)
        elif one.prompted is None:
            return None
    return found
