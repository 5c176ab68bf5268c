"""Solving: the shares of trials that were solved and that were aborted (evaluators.md R004, B14)."""

from collections import Counter
from dataclasses import replace

from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.runner.measuring._rates import Counted, Trials, inside, left_out, rate, task_key


def solve_rate(trials: Trials) -> Measure:
    """Return the share of trials that were solved, over those of which it can be said."""
    kept = inside(trials, "waiting", "infrastructure", "cancelled")
    units = [
        Counted(cluster=task_key(one), hit=one.solved, id=one.trial.trial_id) for one in kept if one.solved is not None
    ]
    return rate(
        units,
        unit="trial",
        empty="no trial has a verdict",
        unavailable=len(kept) - len(units),
        excluded=left_out(trials, "waiting", "infrastructure", "cancelled"),
    )


def solve_rate_without_vacuous(trials: Trials) -> Measure:
    """Return the solve rate without tasks that were done before the trial began."""
    vacuous = [one for one in trials if one.outcome.effect_of_trial == "vacuous"]
    rest = solve_rate([one for one in trials if one.outcome.effect_of_trial != "vacuous"])
    return replace(rest, excluded={**rest.excluded, "vacuous": len(vacuous)} if vacuous else rest.excluded)


def aborted_rate(trials: Trials) -> Measure:
    """Return the share of trials that were stopped before they were done, by reason."""
    kept = inside(trials, "waiting", "infrastructure")
    units = [
        Counted(cluster=task_key(one), hit=one.aborted, id=one.trial.trial_id)
        for one in kept
        if one.aborted is not None
    ]
    reasons = Counter(one.trial.status_reason or "over_budget" for one in kept if one.aborted)
    return rate(
        units,
        unit="trial",
        empty="no trial",
        unavailable=len(kept) - len(units),
        excluded=left_out(trials, "waiting", "infrastructure"),
        note=", ".join(f"{reason} {count}" for reason, count in sorted(reasons.items())) or None,
    )
