"""Effects: verified at the destination, unknown, and done although forbidden or done before."""

from collections import Counter

from spanproof_evaluators.model.effects import refused
from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.runner.measuring._rates import (
    Counted,
    Trials,
    effect_id,
    effects_of,
    rate,
    task_key,
    trial_key,
)
from spanproof_evaluators.runner.stored import NOT_EVALUATED


def effect_integrity(trials: Trials) -> Measure:
    """Return verified over verified and failed; what is unknown, reported or refused stands beside it (B04)."""
    found = list(effects_of(trials))
    units = [
        Counted(cluster=trial_key(one), hit=effect.state == "verified", id=effect_id(one, effect))
        for one, effect in found
        if effect.state in ("verified", "failed")
    ]
    states = Counter(effect.state for _, effect in found)
    return rate(
        units,
        unit="effect",
        empty="no effect was attempted",
        unavailable=states["unknown"] + states["reported"],
        excluded={"refused": sum(len(refused(one.trial)) for one in trials)},
        note=f"unknown {states['unknown']}, reported {states['reported']}",
    )


def unknown_effects(trials: Trials) -> Measure:
    """Return the share of attempts that nobody can vouch for (B21)."""
    units = [
        Counted(cluster=trial_key(one), hit=effect.state == "unknown", id=effect_id(one, effect))
        for one, effect in effects_of(trials)
    ]
    return rate(units, unit="effect", empty="no effect was attempted", census=True)


def constraint_violations(trials: Trials) -> Measure:
    """Return the share of trials that broke a hard constraint: a forbidden tool, an effect that took place twice."""
    units: list[Counted] = []
    gaps = 0
    for one in trials:
        if not one.results and one.outcome.reason in NOT_EVALUATED:
            gaps += 1
            continue
        found = [one.result(name) for name in ("forbidden_tools", "duplicate_effect")]
        states = {result.state for result in found if result is not None}
        if "fail" in states or states == {"pass"}:
            units.append(Counted(cluster=task_key(one), hit="fail" in states, id=one.trial.trial_id))
        elif states:
            gaps += 1
    return rate(units, unit="trial", empty="no trial had a constraint to break", unavailable=gaps, census=True)
