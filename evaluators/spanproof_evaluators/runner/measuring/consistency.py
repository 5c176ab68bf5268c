"""Consistency of courses: how alike the calls of repeated trials of a task are (evaluators.md B10). Diagnostic only."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Final, TypeAlias

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.canonical import canonical
from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.runner.measuring._rates import Trials, inside, left_out
from spanproof_evaluators.stats.intervals import mean_interval
from spanproof_evaluators.stats.similarity import edit_similarity, multiset_jaccard

_LEFT: Final = ("waiting", "infrastructure", "cancelled")
_ALL_PAIRS: Final = 20
"""Up to so many trials of a task every pair is looked at; beyond, each trial and the ten after it, in a circle."""

_PAIRED_WITH: Final = 10

Course: TypeAlias = tuple[str, ...]


def trajectory_consistency(trials: Trials) -> Measure:
    """Return the mean over tasks of how alike two trials are: multiset Jaccard over calls, arguments included."""
    return _consistency(trials, _signatures, multiset_jaccard)


def tool_order_consistency(trials: Trials) -> Measure:
    """Return the mean over tasks of how alike two trials are: normalised edit similarity of their tools' names."""
    return _consistency(trials, _names, edit_similarity)


def _signatures(trial: Trial) -> Course | None:
    if not _known(trial) or any(call.arguments_source is None for call in trial.tool_calls):
        return None
    return tuple(canonical([call.name, call.arguments]) for call in trial.tool_calls)


def _names(trial: Trial) -> Course | None:
    return tuple(call.name for call in trial.tool_calls) if _known(trial) else None


def _known(trial: Trial) -> bool:
    """Return whether the calls of a trial are all known."""
    return trial.understood and trial.completeness.calls_whole and not trial.completeness.root_missing


def _consistency(
    trials: Trials, read: Callable[[Trial], Course | None], alike: Callable[[Course, Course], float]
) -> Measure:
    named = [one for one in trials if one.trial.task_id is not None]
    groups: defaultdict[str, list[Course]] = defaultdict(list)
    unavailable = 0
    for one in inside(named, *_LEFT):
        course = read(one.trial)
        unavailable += course is None
        if course is not None:
            groups[one.trial.task_id or ""].append(course)
    several = {task: courses for task, courses in sorted(groups.items()) if len(courses) > 1}
    excluded: Counter[str] = left_out(named, *_LEFT)
    excluded["no_task"] = len(trials) - len(named)
    excluded["single_trial"] = len(groups) - len(several)
    similar = cache(alike)
    means = [_mean_of_pairs(courses, similar) for courses in several.values()]
    total = sum(means)
    interval = mean_interval(means) if len(set(means)) > 1 else None
    return Measure(
        value=total / len(means) if means else None,
        unit="task",
        numerator=total if means else None,
        denominator=len(means),
        excluded={why: count for why, count in excluded.items() if count},
        unavailable=unavailable,
        interval=(max(interval[0], 0.0), min(interval[1], 1.0)) if interval else None,
        interval_method="t_95_of_task_values" if interval else "none: all tasks alike" if means else None,
        n_units=sum(len(courses) for courses in several.values()),
        n_clusters=len(means),
        reason=None if means else "no task has two trials whose calls are all known",
        note="diagnostic only",
    )


def _mean_of_pairs(courses: Sequence[Course], alike: Callable[[Course, Course], float]) -> float:
    values = [1.0 if one == other else alike(*sorted((one, other))) for one, other in _pairs(courses)]
    return sum(values) / len(values)


def _pairs(courses: Sequence[Course]) -> Iterator[tuple[Course, Course]]:
    count = len(courses)
    for at in range(count):
        behind = range(at + 1, count) if count <= _ALL_PAIRS else range(at + 1, at + 1 + _PAIRED_WITH)
        yield from ((courses[at], courses[other % count]) for other in behind)
