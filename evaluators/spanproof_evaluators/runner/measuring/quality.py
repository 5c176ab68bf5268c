"""Task quality: the mean of versioned scores over the trials that were graded (evaluators.md B02)."""

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal

from spanproof_collector.model.trials import Quality
from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.runner.measuring._rates import Trials, inside, left_out, task_key
from spanproof_evaluators.stats.intervals import mean_interval


def task_quality(trials: Trials) -> Measure:
    """Return the mean score over the trials that were graded. Scores of two revisions are not averaged (B02)."""
    kept = inside(trials, "waiting", "infrastructure")
    graded = [(one, score) for one in kept if (score := _latest(one.trial.quality)) is not None]
    ungraded = sum(1 for one in kept if one.declared and not one.trial.quality)
    excluded = dict(left_out(trials, "waiting", "infrastructure"))
    revisions = sorted({(quality.grader, quality.revision) for one in kept for quality in one.trial.quality})
    total = sum((Decimal(str(quality.score)) for _, quality in graded), Decimal(0))
    count = len(graded)
    named = ", ".join(f"{grader} {revision}".strip() for grader, revision in revisions)
    by_task: defaultdict[str, list[float]] = defaultdict(list)
    for one, quality in graded:
        by_task[task_key(one)].append(quality.score)
    means = [sum(scores) / len(scores) for scores in by_task.values()]
    if len(revisions) > 1 or not graded:
        reason = f"scores of several graders or revisions are not averaged: {named}" if graded else "nothing was graded"
        return Measure(
            value=None,
            unit="trial",
            numerator=None,
            denominator=count,
            excluded=excluded,
            unavailable=ungraded,
            n_units=count,
            n_clusters=len(by_task),
            evidence_ids=tuple(one.trial.trial_id for one, _ in graded),
            reason=reason,
            note=f"grader {named}" if named else None,
        )
    every = count + ungraded
    return Measure(
        value=float(total / count),
        unit="trial",
        numerator=float(total),
        denominator=count,
        excluded=excluded,
        unavailable=ungraded,
        bounds=(float(total) / every, (float(total) + ungraded) / every),
        interval=mean_interval(means),
        interval_method="t_95_of_task_means" if len(means) > 1 else "none: a single task",
        n_units=count,
        n_clusters=len(by_task),
        evidence_ids=tuple(one.trial.trial_id for one, _ in graded),
        note=f"grader {named}",
    )


def _latest(quality: Sequence[Quality]) -> Quality | None:
    return max(quality, key=lambda one: one.time, default=None)
