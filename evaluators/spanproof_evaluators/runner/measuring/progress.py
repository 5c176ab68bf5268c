"""Useful progress: active windows in which evidence was gained, and milestones reached (evaluators.md B03)."""

from collections import Counter

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.runner.measuring._rates import Counted, Trials, inside, left_out, rate, task_key, trial_key
from spanproof_evaluators.runner.windows import windows
from spanproof_evaluators.stats.intervals import mean_interval
from spanproof_evaluators.stats.progress import progress_rate as rate_of


def useful_progress(trials: Trials) -> Measure:
    """Return active windows with evidence gained over active windows; waits and a stale collector are left out."""
    found = [(one, window) for one in trials for window in windows(one.trial)]
    units = [
        Counted(cluster=trial_key(one), hit=window.useful, id=window.span_id)
        for one, window in found
        if window.state == "active"
    ]
    return rate(
        units,
        unit="window",
        empty="no active window was observed",
        excluded=Counter(window.state for _, window in found if window.state != "active"),
    )


def progress_rate(trials: Trials) -> Measure:
    """Return the mean share of milestones reached at best, over trials whose task has milestones and that were watched.

    What was reached at the end and how early stand in the note: the best alone hides what was lost again.
    """
    asked = [one for one in inside(trials, "waiting", "infrastructure") if one.task and one.task.milestones]
    found = []
    for one in asked:
        wanted = one.task.milestones if one.task else ()
        told = rate_of(len(wanted), reached_by_step(one.trial, frozenset(wanted)))
        if told is not None:
            found.append((one, told))
    count, gaps = len(found), len(asked) - len(found)
    total = sum(told.highest for _, told in found)
    by_task: dict[str, list[float]] = {}
    for one, told in found:
        by_task.setdefault(task_key(one), []).append(told.highest)
    means = [sum(shares) / len(shares) for shares in by_task.values()]
    reason = None
    if not count:
        reason = "no progress towards a milestone was recorded" if asked else "no task has milestones"
    return Measure(
        value=total / count if count else None,
        unit="trial",
        numerator=total if count else None,
        denominator=count,
        excluded=left_out(trials, "waiting", "infrastructure"),
        unavailable=gaps,
        bounds=(total / (count + gaps), (total + gaps) / (count + gaps)) if asked else None,
        interval=mean_interval(means) if count else None,
        interval_method=("t_95_of_task_means" if len(means) > 1 else "none: a single task") if count else None,
        n_units=count,
        n_clusters=len(by_task),
        evidence_ids=tuple(one.trial.trial_id for one, _ in found),
        reason=reason,
        note=f"at the end {_mean([told.final for _, told in found]):.3f}, "
        f"mean over the steps {_mean([told.area for _, told in found]):.3f}"
        if count
        else None,
    )


def reached_by_step(trial: Trial, milestones: frozenset[str]) -> list[int]:
    """Return how many milestones held after each active window; nothing where no window speaks of a milestone.

    A window whose key is a milestone says that it was reached (a gain), or lost again (a negative one).
    """
    held: set[str] = set()
    steps: list[int] = []
    for one in sorted(trial.progress, key=lambda each: each.time):
        if one.window != "active":
            continue
        if one.key in milestones and one.delta:
            (held.add if one.delta > 0 else held.discard)(one.key)
        steps.append(len(held))
    watched = any(one.key in milestones for one in trial.progress)
    return steps if watched else []


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
