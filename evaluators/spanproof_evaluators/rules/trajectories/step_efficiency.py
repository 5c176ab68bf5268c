"""How many calls were made for each call of a reference."""

from dataclasses import dataclass

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules.trajectories._calls import first_spans
from spanproof_evaluators.rules.trajectories._saying import said, unavailable


@dataclass(frozen=True)
class StepEfficiency:
    """Score: calls made over calls of the task's ``reference_trajectory`` (evaluators.md B28). Flag: more than 1.

    Without a reference there is nothing to say, and a reference without a call has no ratio. A shorter way than the
    reference's passes: whether it led anywhere is the end state's to say.
    """

    name: str = "step_efficiency"
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Divide; nothing where the task has no reference."""
        if task is None or task.reference_trajectory is None:
            return None
        if not trial.understood:
            return unavailable(self.name, "not_captured", "no dialect recognizes any span")
        made, reference = len(trial.tool_calls), len(task.reference_trajectory)
        if not reference and trial.completeness.calls_whole:
            return unavailable(self.name, "undefined", f"{made} of 0: the reference has no call")
        return said(
            self.name,
            trial,
            flagged=0 < reference < made,
            score=made / max(reference, 1),
            told=f"{made} calls made, {reference} in the reference",
            spans=first_spans(trial.tool_calls[reference:]),
        )
