"""Cost: all that was billed, over runs and over verified outcomes (evaluators.md B05)."""

from collections import defaultdict
from decimal import Decimal

from spanproof_evaluators.model.measures import Measure, money
from spanproof_evaluators.runner.measuring._rates import Trials, task_key
from spanproof_evaluators.stats.intervals import ratio_of_totals


def cost_per_verified_outcome(trials: Trials) -> Measure:
    """Return all cost over the outcomes verified at the destination: what a trusted result costs, failures included."""
    verified = [one for one in trials if one.outcome.state == "verified"]
    return _cost(trials, verified, nothing="no verified outcome")


def cost_per_run(trials: Trials) -> Measure:
    """Return all cost over all runs: diagnostic, because it rewards cheap failures (R033)."""
    return _cost(trials, trials, nothing="no run")


def _cost(trials: Trials, over: Trials, *, nothing: str) -> Measure:
    """Return all covered cost over some of the trials, a ratio of totals. A run without a bill leaves a lower bound."""
    bills = [one.trial.cost.usd for one in trials if one.trial.cost.covered and one.trial.cost.usd is not None]
    known = [bill for one in trials if (bill := one.trial.cost.usd) is not None]
    spent = sum(known, Decimal(0)) if known else None
    uncovered = len(trials) - len(bills)
    count = len(over)
    reason = None
    if spent is None:
        reason = f"none of {len(trials)} runs has a bill" + ("" if count else f", and there is {nothing}")
    elif not count:
        reason = f"{nothing}; spent ${money(spent)}" + (" at least" if uncovered else "")
    elif uncovered:
        reason = f"incomplete: {uncovered} of {len(trials)} runs have no bill"
    low = spent / count if count and spent is not None else None
    interval = _interval(trials, over) if reason is None else None
    return Measure(
        value=low if reason is None else None,
        unit="usd",
        numerator=spent,
        denominator=count,
        unavailable=uncovered,
        bounds=(low, None if uncovered else low) if low is not None else None,
        interval=interval,
        interval_method=_method(interval, reason),
        n_units=len(trials),
        n_clusters=len({task_key(one) for one in trials}),
        evidence_ids=tuple(one.trial.trial_id for one in over),
        reason=reason,
        note=f"billed for {len(bills)} of {len(trials)} runs",
    )


def _interval(trials: Trials, over: Trials) -> tuple[float, float] | None:
    """Return the interval of all cost over what it bought, task by task."""
    totals: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for one in trials:
        totals[task_key(one)][0] += float(one.trial.cost.usd or 0)
    for one in over:
        totals[task_key(one)][1] += 1
    return ratio_of_totals([(cost, count) for cost, count in totals.values()])


def _method(interval: tuple[float, float] | None, reason: str | None) -> str:
    if interval is not None:
        return "fieller_95_over_tasks"
    return "none: no value" if reason else "none: too few tasks, or all alike, to tell the spread"
