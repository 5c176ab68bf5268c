"""The arguments of calls against those of the task's reference."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spanproof_collector.model.trials import ToolCall, Trial
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import ReferenceCall, Task
from spanproof_evaluators.rules._arguments import Fault, faults_of
from spanproof_evaluators.rules.trajectories._calls import first_spans
from spanproof_evaluators.rules.trajectories._saying import unavailable
from spanproof_evaluators.rules.trajectory_match import gap_of
from spanproof_evaluators.stats.matching import cheapest_pairs

_MOST_PAIRED: Final = 100
"""Of more calls of one tool than so many on a side, no call is sought that was made in the stead of another."""


@dataclass(frozen=True)
class ToolArgumentMatch:
    """Share of the reference's calls that have a call of their own with fitting arguments (evaluators.md B24).

    Calls and references of one tool are matched one to one, as many as can be (maximum bipartite matching: neither
    order matters). Flag: less than all. Further calls do not count here. How a parameter fits: ``_arguments``.
    """

    name: str = "tool_argument_match"
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Match; nothing where the task has no reference."""
        if task is None or task.reference_trajectory is None:
            return None
        gap = gap_of(trial)
        if gap is not None:
            return unavailable(self.name, "not_captured", gap)
        if not task.reference_trajectory:
            return unavailable(self.name, "undefined", "0 of 0: the reference has no call")
        schemas = {tool.name: tool.parameters for tool in trial.tools}
        wanted: defaultdict[str, list[ReferenceCall]] = defaultdict(list)
        for one in task.reference_trajectory:
            wanted[one.tool].append(one)
        matched: list[ToolCall] = []
        told: list[Plain] = []
        near: list[ToolCall] = []
        for tool, references in wanted.items():
            calls = [call for call in trial.tool_calls if call.name == tool]
            faults = [[faults_of(one, call.arguments, schemas.get(tool)) for call in calls] for one in references]
            fit, rest = _matched(faults)
            matched += [calls[column] for _, column in fit]
            nearest = _nearest(faults, rest, [at for at in range(len(calls)) if at not in {c for _, c in fit}])
            for row in rest:
                column = nearest.get(row)
                near += [calls[column]] if column is not None else []
                told.append(_unmatched(references[row], None if column is None else faults[row][column]))
        count = len(task.reference_trajectory)
        details: dict[str, Plain] = {"unmatched": told}
        return Result(
            evaluator=self.name,
            state="fail" if told else "pass",
            score=len(matched) / count,
            label="diagnostic",
            explanation=f"{len(matched)} of {count} calls of the reference have a call with fitting arguments",
            span_ids=first_spans(near if told else matched),
            details=details if told else {},
        )


def _matched(faults: Sequence[Sequence[dict[str, Fault]]]) -> tuple[list[tuple[int, int]], list[int]]:
    """Return as many pairs that fit as there can be, and the references that are left."""
    pairs = cheapest_pairs([[float(bool(wrong)) for wrong in row] for row in faults])
    fit = [(row, column) for row, column in pairs if not faults[row][column]]
    taken = {row for row, _ in fit}
    return fit, [row for row in range(len(faults)) if row not in taken]


def _nearest(
    faults: Sequence[Sequence[dict[str, Fault]]], rows: Sequence[int], columns: Sequence[int]
) -> dict[int, int]:
    """Return which call stands for which reference that none fits: at the least faults in all."""
    if not rows or not columns or max(len(rows), len(columns)) > _MOST_PAIRED:
        return {}
    pairs = cheapest_pairs([[float(len(faults[row][column])) for column in columns] for row in rows])
    return {rows[row]: columns[column] for row, column in pairs}


def _unmatched(one: ReferenceCall, wrong: dict[str, Fault] | None) -> Plain:
    parameters: Plain = None if wrong is None else {name: wrong[name] for name in sorted(wrong)}
    return {"tool": one.tool, "arguments": dict(one.arguments), "nearest": parameters}
