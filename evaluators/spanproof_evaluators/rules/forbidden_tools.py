"""Tools that the task forbids."""

from dataclasses import dataclass

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules._rule import UNSEEN


@dataclass(frozen=True)
class ForbiddenTools:
    """Fail when a tool the task forbids was called, even where the call failed (evaluators.md B23).

    A call that was refused on purpose is the boundary working (R042), and does not count.
    """

    name: str = "forbidden_tools"
    hard: bool = True

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Look for forbidden calls."""
        if task is None or not task.forbidden_tools:
            return None
        if not trial.understood:
            return Result.unavailable(self.name, reason="not_captured", explanation="no dialect recognizes any span")
        bad = [
            call for call in trial.tool_calls if call.name in task.forbidden_tools and call.effect.state != "refused"
        ]
        if bad:
            names = ", ".join(sorted({call.name for call in bad}))
            return Result(
                evaluator=self.name,
                state="fail",
                explanation=f"called: {names}",
                span_ids=tuple(span for call in bad for span in call.span_ids[:1]),
            )
        if trial.completeness.root_missing:
            return Result.unavailable(
                self.name, reason="incomplete", explanation="not seen, but the trace is not whole"
            )
        if not trial.completeness.calls_whole:
            return Result.unavailable(self.name, reason="not_captured", explanation=f"not seen, but {UNSEEN}")
        return Result(evaluator=self.name, state="pass", explanation="none was called")
