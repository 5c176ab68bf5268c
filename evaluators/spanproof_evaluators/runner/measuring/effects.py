"""Effects: verified at the destination, unknown, and done although forbidden or done before."""

from collections import Counter
from dataclasses import replace
from typing import Final

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

_NONE: Final = "no effect was attempted"


def effect_integrity(trials: Trials) -> Measure:
    """Return verified over verified and failed; what is unknown, reported or refused stands beside it (B04)."""
    found = list(effects_of(trials))
    units = [
        Counted(cluster=trial_key(one), hit=effect.state == "verified", id=effect_id(one, effect))
        for one, effect in found
        if effect.state in ("verified", "failed")
    ]
    states = Counter(effect.state for _, effect in found)
    unseen = _unseen(trials)
    measure = rate(
        units,
        unit="effect",
        empty=_NONE,
        unavailable=states["unknown"] + states["reported"] + unseen,
        excluded={"refused": sum(len(refused(one.trial)) for one in trials)},
        note=f"unknown {states['unknown']}, reported {states['reported']}" + (f", {_told(unseen)}" if unseen else ""),
    )
    return measure if found or not unseen else replace(measure, reason=f"none is recorded, and {_told(unseen)}")


def unknown_effects(trials: Trials) -> Measure:
    """Return the share of attempts that nobody can vouch for (B21)."""
    units = [
        Counted(cluster=trial_key(one), hit=effect.state == "unknown", id=effect_id(one, effect))
        for one, effect in effects_of(trials)
    ]
    unseen = _unseen(trials)
    told = _told(unseen) if unseen else None
    measure = rate(units, unit="effect", empty=_NONE, unavailable=unseen, census=True, note=told)
    return measure if units or not unseen else replace(measure, reason=f"none is recorded, and {told}")


def _unseen(trials: Trials) -> int:
    """Return of how many trials calls may not be recorded. Each counts as one effect that nobody knows of."""
    return sum(not one.trial.completeness.calls_whole for one in trials)


def _told(unseen: int) -> str:
    return f"calls of {unseen} trial{'s' if unseen != 1 else ''} may be unseen"


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
