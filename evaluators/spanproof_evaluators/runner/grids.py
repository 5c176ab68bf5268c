"""Grids: one or two things that are varied, every combination of them tried on the same tasks, and which one matters.

A difference between two levels is the mean over tasks of the difference of what each solves of a task, over the levels
of the other factor; its interval is Student's over tasks. Of more than two levels the best is held against the worst,
chosen by what was seen: the note says so. Tasks that some combination has no verdict on are left out, and counted.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import product
from statistics import fmean
from typing import Final

from spanproof_evaluators.errors import FilterError
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.grids import Cell, Estimate, Factor, FactorDifference, Grid, Levels
from spanproof_evaluators.model.reports import Report
from spanproof_evaluators.stats.comparisons import paired_difference
from spanproof_evaluators.stats.intervals import student_t

MOST_FACTORS: Final = 2
_LEVEL: Final = 0.975


def read_factors(given: Sequence[str]) -> tuple[Factor, ...]:
    """Return the factors that ``KEY=A,B`` say.

    Raises:
        FilterError: a text is none, there are more than two, or a level stands there twice.
    """
    if len(given) > MOST_FACTORS:
        raise FilterError(f"--grid was given {len(given)} times: a table has two ways at most")
    found: list[Factor] = []
    for text in given:
        key, _, rest = text.partition("=")
        levels = tuple(level.strip() for level in rest.split(",") if level.strip())
        if not key.isidentifier() or len(levels) < 2 or len(set(levels)) < len(levels):
            raise FilterError(f"--grid {text!r} names no factor with two levels: give KEY=A,B")
        if any(one.key == key for one in found):
            raise FilterError(f"--grid names {key} twice")
        found.append(Factor(key=key, levels=levels))
    return tuple(found)


def combinations(factors: Sequence[Factor]) -> tuple[Levels, ...]:
    """Return every combination of levels."""
    return tuple(product(*(factor.levels for factor in factors)))


def variant_of(levels: Levels) -> str:
    """Return what the variant of a combination is called."""
    return "-".join(levels)


def grid(report: Report, factors: tuple[Factor, ...]) -> Grid:
    """Return the table of a report whose variants are the combinations of these factors."""
    variants = {variant.name: variant for variant in report.variants}
    cells: list[Cell] = []
    shares: dict[Levels, Mapping[str, float | None]] = {}
    for levels in combinations(factors):
        found = variants.get(variant_of(levels))
        rate = found.measures["solve_rate"] if found is not None else None
        cells.append(Cell(levels=levels, variant=variant_of(levels), solve_rate=rate))
        shares[levels] = _shares(found.assessments if found is not None else ())
    every = {task for share in shares.values() for task in share}
    whole = sorted(task for task in every if all(share.get(task) is not None for share in shares.values()))
    by_task = {levels: {task: share[task] or 0.0 for task in whole} for levels, share in shares.items()}
    differences: list[FactorDifference] = []
    per_factor: list[dict[str, float]] = []
    for place, factor in enumerate(factors) if whole else ():
        means = {level: _marginal(by_task, place, level, whole) for level in factor.levels}
        ranked = sorted(factor.levels, key=lambda level, means=means: fmean(means[level].values()))  # type: ignore[misc]
        worse, better = ranked[0], ranked[-1]
        of_task = {task: means[better][task] - means[worse][task] for task in whole}
        per_factor.append(of_task)
        differences.append(
            FactorDifference(
                key=factor.key,
                better=better,
                worse=worse,
                estimate=_estimate(of_task, 1.0),
                note=f"the best and the worst of {len(factor.levels)}, chosen by these trials"
                if len(factor.levels) > 2
                else None,
            )
        )
    larger = None
    if len(per_factor) == MOST_FACTORS:
        larger = _estimate({task: per_factor[0][task] - per_factor[1][task] for task in whole}, 2.0)
    return Grid(
        factors=factors,
        cells=tuple(cells),
        differences=tuple(differences),
        larger=larger,
        said=_said(differences, larger),
        left_out=tuple(sorted(every - set(whole))),
    )


def _shares(trials: Sequence[Assessment]) -> dict[str, float | None]:
    """Return what is solved of each task; ``None`` where a trial that counts has no verdict."""
    by_task: defaultdict[str, list[bool | None]] = defaultdict(list)
    for one in trials:
        if one.left_out is None:
            by_task[one.trial.task_id or ""].append(one.solved)
    return {
        task: None if any(one is None for one in solved) else fmean(1.0 if one else 0.0 for one in solved)
        for task, solved in by_task.items()
    }


def _marginal(
    by_task: Mapping[Levels, Mapping[str, float]], place: int, level: str, tasks: Sequence[str]
) -> dict[str, float]:
    """Return what is solved of each task at one level, over the levels of the other factor."""
    cells = [share for levels, share in by_task.items() if levels[place] == level]
    return {task: fmean(share[task] for share in cells) for task in tasks}


def _estimate(of_task: Mapping[str, float], most: float) -> Estimate:
    """Return the mean over tasks; no such difference can be larger than ``most``."""
    found = paired_difference(list(of_task.values()), list(of_task))
    error = found.clustered_error
    interval = None
    if error:
        reach = student_t(_LEVEL, found.clusters - 1) * error
        interval = (max(-most, found.value - reach), min(most, found.value + reach))
    return Estimate(value=found.value, interval=interval, tasks=found.clusters)


def _said(differences: Sequence[FactorDifference], larger: Estimate | None) -> str:
    """Return which difference is larger, in words."""
    if not differences:
        return "no task has a verdict in every combination: nothing can be said"
    if larger is None:
        return "one factor: there is nothing to hold its difference against"
    first, second = (one.key for one in differences)
    if larger.interval is None:
        return f"over {larger.tasks} task(s) that are alike nobody can say whether {first} or {second} matters more"
    if larger.interval[0] > 0:
        return f"the difference of {first} is larger than that of {second}"
    if larger.interval[1] < 0:
        return f"the difference of {second} is larger than that of {first}"
    more = first if larger.value > 0 else second
    return f"{more} seems to matter more, and chance is not ruled out"
