"""The trajectory against the task's reference."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.expected_effects import identity
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules import _trajectories as trajectories
from spanproof_evaluators.rules._rule import UNSEEN, Rule

_METRICS: Final[Mapping[str, Callable[[Sequence[str], Sequence[str]], float | bool | None]]] = {
    "trajectory_exact_match": trajectories.exact_match,
    "trajectory_in_order_match": trajectories.in_order_match,
    "trajectory_any_order_match": trajectories.any_order_match,
    "trajectory_precision": trajectories.precision,
    "trajectory_recall": trajectories.recall,
}
"""By the names of Vertex AI; multisets, so that a call made twice is not one made once (evaluators.md B26)."""


@dataclass(frozen=True)
class TrajectoryMatch:
    """Hold the calls that were made against the task's ``reference_trajectory``. A diagnostic: the end state decides.

    It passes at 1. On 200 trials of tau-bench the best of these agreed with the verified reward in 154; whether the
    same effects took place (``effect_ledger``) in 195.
    """

    name: str
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Compare; nothing where the task has no reference."""
        if task is None or task.reference_trajectory is None:
            return None
        gap = gap_of(trial)
        if gap is not None:
            return Result.unavailable(self.name, reason="not_captured", explanation=gap, label="diagnostic")
        made = [identity(call.name, call.arguments) for call in trial.tool_calls]
        wanted = [identity(one.tool, one.arguments) for one in task.reference_trajectory]
        found = _METRICS[self.name](made, wanted)
        if found is None:
            why = "no call was made" if wanted else "the reference has no call"
            return Result.unavailable(self.name, reason="undefined", explanation=f"0 of 0: {why}", label="diagnostic")
        return Result(
            evaluator=self.name,
            state="pass" if found == 1 else "fail",
            score=float(found),
            label="diagnostic",
            explanation=f"{float(found):.3f}: {len(made)} calls made, {len(wanted)} in the reference",
            span_ids=tuple(span for call in trial.tool_calls for span in call.span_ids[:1]),
        )


@dataclass(frozen=True)
class TrajectoryModeMatch:
    """Match the calls with the task's reference in the mode of agentevals that the task asks for. A diagnostic.

    One call is one message; calls are matched bipartitely, so the order of the reference matters to ``strict`` alone.
    """

    name: str = "trajectory_mode_match"
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Match; nothing where the task asks for no mode."""
        if task is None or task.reference_trajectory is None or task.reference_match is None:
            return None
        gap = gap_of(trial)
        if gap is not None:
            return Result.unavailable(self.name, reason="not_captured", explanation=gap, label="diagnostic")
        how = task.reference_match
        made = [[(call.name, call.arguments)] for call in trial.tool_calls]
        wanted = [[(one.tool, one.arguments)] for one in task.reference_trajectory]
        found = trajectories.matches(made, wanted, how.mode, how.arguments)
        return Result(
            evaluator=self.name,
            state="pass" if found else "fail",
            score=float(found),
            label="diagnostic",
            explanation=f"{how.mode}, arguments {how.arguments}: {len(made)} made, {len(wanted)} in the reference",
            span_ids=tuple(span for call in trial.tool_calls for span in call.span_ids[:1]),
        )


def gap_of(trial: Trial) -> str | None:
    """Return why the calls cannot be compared."""
    if not trial.understood:
        return "no dialect recognizes any span"
    if not trial.completeness.calls_whole:
        return UNSEEN
    blank = sum(call.arguments_source is None for call in trial.tool_calls)
    return f"the arguments of {blank} of {len(trial.tool_calls)} calls are not recorded" if blank else None


TRAJECTORY_RULES: Final[tuple[Rule, ...]] = (*(TrajectoryMatch(name=name) for name in _METRICS), TrajectoryModeMatch())
"""One rule a metric, and one for the mode that a task asks for."""
