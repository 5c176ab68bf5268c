"""Solving: the shares of trials that were solved and that were aborted (evaluators.md R004, B14)."""

from collections import Counter, defaultdict
from dataclasses import replace
from typing import Final

from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.runner.measuring._rates import Counted, Trials, inside, left_out, rate, task_key
from spanproof_evaluators.runner.measuring.costs import cost_per_verified_outcome

_LEFT: Final = ("waiting", "infrastructure", "cancelled")


def solve_rate(trials: Trials) -> Measure:
    """Return the share of trials that were solved, over those of which it can be said."""
    kept = inside(trials, *_LEFT)
    units = [
        Counted(cluster=task_key(one), hit=one.solved, id=one.trial.trial_id) for one in kept if one.solved is not None
    ]
    found = rate(
        units,
        unit="trial",
        empty="no trial has a verdict",
        unavailable=len(kept) - len(units),
        excluded=left_out(trials, *_LEFT),
    )
    verified = sum(one.outcome.state == "verified" for one in kept)
    if units or not verified:
        return found
    reasons = Counter(one.solved_reason for one in kept if one.outcome.state == "verified")
    why = reasons.most_common(1)[0][0]
    return replace(found, reason=f"{verified} of {len(kept)} verified, and open whether solved: {why}")


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
        parts=dict(sorted(reasons.items())),
    )


def split(trials: Trials) -> tuple[Trials, Trials, int]:
    """Return the trials of tasks that were not done before they began, those of tasks that were, and the open ones.

    A task is vacuous where its checks pass on the state before: whoever keeps that state is taken out with whoever
    spoils it, or only the failures of the task would stay. A trial whose own state before was not judged goes with the
    other trials of its task where these agree; else nobody knows, and it stays in and is counted.
    """
    by_task: defaultdict[str, set[str]] = defaultdict(set)
    for one in trials:
        if one.outcome.pre_state != "unavailable":
            by_task[task_key(one)].add(one.outcome.pre_state)
    rest, vacuous, unknown = [], [], 0
    for one in trials:
        own = {one.outcome.pre_state} - {"unavailable"} or by_task[task_key(one)]
        if own == {"verified"}:
            vacuous.append(one)
            continue
        rest.append(one)
        unknown += own != {"failed"}
    return rest, vacuous, unknown


def without_vacuous(found: Measure, vacuous: Trials, unknown: int) -> Measure:
    """Return a measure of the rest with how many trials of vacuous tasks left, and of how many nobody knows."""
    excluded = {**found.excluded, "vacuous": len(vacuous)} if vacuous else found.excluded
    told = f"of {unknown} nobody judged the state before" if unknown else None
    return replace(found, excluded=excluded, note="; ".join(filter(None, (found.note, told))) or None)


def solve_rate_without_vacuous(trials: Trials) -> Measure:
    """Return the solve rate without tasks that were done before the trial began."""
    rest, vacuous, unknown = split(trials)
    return without_vacuous(solve_rate(rest), vacuous, unknown)


def aborted_rate_without_vacuous(trials: Trials) -> Measure:
    """Return the share of aborted trials without tasks that were done before the trial began."""
    rest, vacuous, unknown = split(trials)
    return without_vacuous(aborted_rate(rest), vacuous, unknown)


def cost_per_verified_outcome_without_vacuous(trials: Trials) -> Measure:
    """Return what a trusted result costs without tasks that were done before the trial began."""
    rest, vacuous, unknown = split(trials)
    return without_vacuous(cost_per_verified_outcome(rest), vacuous, unknown)
