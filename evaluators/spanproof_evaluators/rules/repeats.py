"""Calls that were made again with the same arguments."""

from collections import Counter
from dataclasses import dataclass

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules._rule import UNSEEN
from spanproof_evaluators.rules.trajectories._calls import calls_of


@dataclass(frozen=True)
class Repeats:
    """Count calls beyond the first of each signature: tool and arguments with sorted keys (evaluators.md B27a, R096).

    The cheapest sign of an agent that goes in circles, and a flag only: of 130 runs with a repeat 41 still passed.
    """

    name: str = "repeats"
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Count the repeats; more than the task allows (none, where it says nothing) raises the flag."""
        if not trial.understood:
            return Result.unavailable(
                self.name, reason="not_captured", explanation="no dialect recognizes any span", label="diagnostic"
            )
        if not trial.tool_calls and trial.completeness.calls_whole:
            return None
        allowed = 0 if task is None or task.max_repeats is None else task.max_repeats
        first: dict[str, str] = {}
        again: list[str] = []
        names: Counter[str] = Counter()
        unrecorded = 0
        for call, signature in zip(trial.tool_calls, calls_of(trial).signatures, strict=True):
            if signature is None:
                unrecorded += 1
                continue
            if signature in first:
                names[call.name] += 1
                again.extend(call.span_ids[:1])
            else:
                first[signature] = call.name
        repeats = names.total()
        told = ", ".join(f"{name} ({count} more)" for name, count in sorted(names.items()))
        if repeats > allowed:
            return Result(
                evaluator=self.name,
                state="fail",
                score=float(repeats),
                label="diagnostic",
                explanation=f"repeated with equal arguments: {told}",
                span_ids=tuple(again),
            )
        if unrecorded > 1 or (unrecorded and first):
            return Result.unavailable(
                self.name,
                reason="not_captured",
                explanation=f"the arguments of {unrecorded} of {len(trial.tool_calls)} calls are not recorded",
                label="diagnostic",
            )
        if not trial.completeness.calls_whole:
            return Result.unavailable(
                self.name, reason="not_captured", explanation=f"none too many seen, but {UNSEEN}", label="diagnostic"
            )
        return Result(
            evaluator=self.name,
            state="pass",
            score=float(repeats),
            label="diagnostic",
            explanation=told or "no call was repeated",
            span_ids=tuple(again),
        )
