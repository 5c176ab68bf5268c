"""Tools that the task requires."""

from dataclasses import dataclass

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules._rule import UNSEEN


@dataclass(frozen=True)
class RequiredTools:
    """Fail when a tool the task requires was never used (evaluators.md B23). A diagnostic: the end state decides."""

    name: str = "required_tools"
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Look for the required calls; one that did not run or was refused is no use of a tool."""
        if task is None or not task.required_tools:
            return None
        if not trial.understood:
            return Result.unavailable(self.name, reason="not_captured", explanation="no dialect recognizes any span")
        used = [
            call
            for call in trial.tool_calls
            if call.name in task.required_tools and call.executed != "no" and call.effect.state != "refused"
        ]
        missing = sorted(set(task.required_tools) - {call.name for call in used})
        spans = tuple(span for call in used for span in call.span_ids[:1])
        if not missing:
            return Result(evaluator=self.name, state="pass", explanation="all were used", span_ids=spans)
        if trial.status == "incomplete" or trial.completeness.root_missing:
            return Result.unavailable(
                self.name,
                reason="incomplete",
                explanation=f"not seen in a trace that is not whole: {', '.join(missing)}",
                span_ids=spans,
            )
        if not trial.completeness.calls_whole:
            return Result.unavailable(
                self.name,
                reason="not_captured",
                explanation=f"not seen: {', '.join(missing)}; but {UNSEEN}",
                span_ids=spans,
            )
        return Result(evaluator=self.name, state="fail", explanation=f"not used: {', '.join(missing)}", span_ids=spans)
