"""More calls of tools than a good trajectory needs."""

from dataclasses import dataclass

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules._rule import UNSEEN


@dataclass(frozen=True)
class TooManyCalls:
    """Flag more calls of tools than the task expects (R096). A diagnostic: a detour fails no task, a limit does."""

    name: str = "too_many_calls"
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Count the calls. Where some may be missing, only too many of them say anything."""
        if task is None or task.expected_calls is None:
            return None
        if not trial.understood:
            return Result.unavailable(
                self.name, reason="not_captured", explanation="no dialect recognizes any span", label="diagnostic"
            )
        calls, most = len(trial.tool_calls), task.expected_calls
        if calls > most:
            spans = tuple(span for call in trial.tool_calls[most:] for span in call.span_ids[:1])
            return Result(
                evaluator=self.name,
                state="fail",
                score=float(calls),
                label="diagnostic",
                explanation=f"too many calls: {calls} > {most}",
                span_ids=spans,
            )
        if not trial.completeness.calls_whole:
            return Result.unavailable(
                self.name,
                reason="not_captured",
                explanation=f"{calls} of {most} seen, but {UNSEEN}",
                label="diagnostic",
            )
        return Result(
            evaluator=self.name,
            state="pass",
            score=float(calls),
            label="diagnostic",
            explanation=f"{calls} of at most {most} calls",
        )
