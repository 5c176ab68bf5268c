"""Reliability over repeated trials of a task: once at least, every time, and alike (evaluators.md B07-B09)."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.runner.measuring._rates import Trials, inside, left_out
from spanproof_evaluators.runner.measuring.solving import split, without_vacuous
from spanproof_evaluators.stats.intervals import clopper_pearson, mean_interval
from spanproof_evaluators.stats.reliability import agreement_of_two, pass_at_k, pass_hat_k

_LEFT: Final = ("waiting", "infrastructure", "cancelled")
_MOST: Final = 10
"""The largest k that is told; with more trials a task the estimators still use all of them."""

Estimator = Callable[[int, int, int], float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """The trials of one task."""

    solved: int
    judged: int
    open: int
    """Trials of which nobody can say whether they are solved."""

    @classmethod
    def of(cls, values: Sequence[bool | None]) -> "Attempts":
        """Count what is known of each trial."""
        return cls(
            solved=sum(value is True for value in values),
            judged=sum(value is not None for value in values),
            open=sum(value is None for value in values),
        )


def pass_measures(trials: Trials) -> dict[str, Measure]:
    """Return pass@k and pass^k for each k up to the most trials a task has, and for the most that every task has.

    ``pass_at_k`` and ``pass_hat_k`` are those of the largest k that every task has trials for; ``pass_at_1``,
    ``pass_hat_1`` and so on those of each k. Where a task has fewer judged trials than k, the measure has no value: a
    mean over the other tasks would be another number. Trials that the infrastructure broke are no attempts.
    """
    tasks, excluded = _tasks(trials)
    most = _most(tasks)
    common = min(most, min((task.judged for task in tasks), default=0))
    found: dict[str, Measure] = {}
    for name, estimator in (("pass_at", pass_at_k), ("pass_hat", pass_hat_k)):
        found[f"{name}_k"] = _mean(tasks, estimator, max(common, 1), excluded)
        for k in range(1, most + 1):
            found[f"{name}_{k}"] = _mean(tasks, estimator, k, excluded)
    return found


def pass_measures_without_vacuous(trials: Trials) -> dict[str, Measure]:
    """Return pass^k for the same k over the tasks that were not done before a trial began (B15)."""
    rest, vacuous, unknown = split(trials)
    every, _ = _tasks(trials)
    tasks, excluded = _tasks(rest)
    most = _most(every)
    return {
        f"pass_hat_{k}_without_vacuous": without_vacuous(_mean(tasks, pass_hat_k, k, excluded), vacuous, unknown)
        for k in range(1, most + 1)
    }


def outcome_consistency(trials: Trials) -> Measure:
    """Return the mean over tasks of the chance that two of its trials end alike: agents fail alike, or at random."""
    tasks, excluded = _tasks(trials)
    single = sum(task.judged + task.open < 2 for task in tasks)
    open_ = sum(task.judged < 2 <= task.judged + task.open for task in tasks)
    several = [task for task in tasks if task.judged >= 2]
    gone = excluded + Counter(single_trial=single, fewer_than_two_judged=open_)
    found = _mean(several, lambda n, c, _: agreement_of_two(n, c), 2, gone, ends=_agreements)
    reason = found.reason
    if not several and tasks:
        reason = "no task has two judged trials" if open_ else "no task was tried twice"
    return replace(found, k=None, reason=reason)


def _agreements(task: Attempts) -> tuple[float | None, float | None]:
    """Return the least and the most agreement that a task may have, however its open trials ended."""
    tried = task.judged + task.open
    found = [agreement_of_two(tried, task.solved + more) for more in range(task.open + 1)]
    known = [each for each in found if each is not None]
    return min(known, default=None), max(known, default=None)


def _tasks(trials: Trials) -> tuple[list[Attempts], Counter[str]]:
    """Return what is known of each task, and how many trials left, by reason. A trial without a task is no attempt."""
    named = [one for one in trials if one.trial.task_id is not None]
    groups: defaultdict[str, list[bool | None]] = defaultdict(list)
    for one in inside(named, *_LEFT):
        groups[one.trial.task_id or ""].append(one.solved)
    excluded = left_out(named, *_LEFT)
    excluded["no_task"] = len(trials) - len(named)
    return [Attempts.of(values) for _, values in sorted(groups.items())], excluded


def _most(tasks: Sequence[Attempts]) -> int:
    """Return the largest k that is told. Trials that nobody judged count: the measure says then why it has no value."""
    return min(max((task.judged + task.open for task in tasks), default=0), _MOST)


def pass_hat_over(tasks: Sequence[Attempts], excluded: Counter[str]) -> dict[str, Measure]:
    """Return pass^k for each k up to the most trials that a task has."""
    return {f"pass_hat_{k}": _mean(tasks, pass_hat_k, k, excluded) for k in _each(tasks)}


def pass_at_over(tasks: Sequence[Attempts], excluded: Counter[str]) -> dict[str, Measure]:
    """Return pass@k for each k up to the most trials that a task has."""
    return {f"pass_at_{k}": _mean(tasks, pass_at_k, k, excluded) for k in _each(tasks)}


def _each(tasks: Sequence[Attempts]) -> range:
    return range(1, min(max((task.judged for task in tasks), default=0), _MOST) + 1)


def _mean(
    tasks: Sequence[Attempts],
    estimator: Estimator,
    k: int,
    excluded: Counter[str],
    ends: Callable[[Attempts], tuple[float | None, float | None]] | None = None,
) -> Measure:
    """Return the mean of an estimator over tasks; with bounds over what nobody could judge.

    ``ends`` gives the least and the most of a task where that is not none of the open trials solved, and all of them.
    """
    values = [estimator(task.judged, task.solved, k) for task in tasks]
    known = [value for value in values if value is not None]
    short = len(values) - len(known)
    total: float = sum(known)
    if all(value in (0.0, 1.0) for value in known):
        total = round(total)  # tasks that did it every time, or once: a count
    worst = [ends(task)[0] if ends else estimator(task.judged + task.open, task.solved, k) for task in tasks]
    best = [ends(task)[1] if ends else estimator(task.judged + task.open, task.solved + task.open, k) for task in tasks]
    reason = None
    if not tasks:
        reason = "no task has a trial to count"
    elif short:
        fewer = "no judged trial" if k == 1 else f"fewer than {k} judged trials"
        reason = f"{short} of {len(tasks)} tasks have {fewer}"
    whole = bool(tasks) and not short
    interval, method = _interval(known) if whole else (None, None)
    return Measure(
        value=total / len(known) if whole else None,
        unit="task",
        numerator=total if whole else None,
        denominator=len(tasks),
        excluded={why: count for why, count in excluded.items() if count},
        unavailable=sum(task.open for task in tasks),
        bounds=(_average(worst, 0.0), _average(best, 1.0)) if tasks else None,
        interval=interval,
        interval_method=method,
        n_units=sum(task.judged for task in tasks),
        n_clusters=len(tasks),
        reason=reason,
        k=k,
    )


def _interval(values: Sequence[float]) -> tuple[tuple[float, float] | None, str]:
    """Return the interval of a mean over tasks. Tasks that are all alike do not show that there is no spread."""
    if len(values) < 2:
        return None, "none: a single task"
    if len(set(values)) > 1:
        found = mean_interval(values)
        return ((max(found[0], 0.0), min(found[1], 1.0)) if found else None), "t_95_of_task_values"
    if values[0] in (0.0, 1.0):
        return clopper_pearson(round(values[0]) * len(values), len(values)), "clopper_pearson_95_of_tasks: all alike"
    return None, "none: all tasks alike"


def _average(values: Sequence[float | None], otherwise: float) -> float:
    return sum(otherwise if value is None else value for value in values) / len(values)
