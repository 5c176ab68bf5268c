"""Evidence: how much of what was claimed and attempted has a verdict (evaluators.md B01, R049)."""

from dataclasses import replace

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


def outcome_coverage(trials: Trials) -> Measure:
    """Return the share of declared completions whose outcome has a verdict."""
    declared = [one for one in trials if one.declared]
    units = [
        Counted(cluster=task_key(one), hit=one.outcome.state != "unavailable", id=one.trial.trial_id)
        for one in declared
    ]
    return rate(units, unit="trial", empty="no completion was declared", census=True)


def effect_coverage(trials: Trials) -> Measure:
    """Return the share of attempted effects that a receipt settles; a tool's word is none."""
    units = [
        Counted(cluster=trial_key(one), hit=effect.state in ("verified", "failed"), id=effect_id(one, effect))
        for one, effect in effects_of(trials)
    ]
    return rate(
        units,
        unit="effect",
        empty="no effect was attempted",
        excluded={"refused": sum(len(refused(one.trial)) for one in trials)},
        census=True,
    )


def evidence_coverage(trials: Trials) -> Measure:
    """Return the weaker of the two parts: they are counted in different units, and so are never added."""
    return _weaker(outcome_coverage(trials), effect_coverage(trials))


def evidence_stated(trials: Trials) -> Measure:
    """Return the share that has a state at all, verdict or explicit gap (R049, gate 1); the weaker of the two parts."""
    outcomes = [
        Counted(cluster=task_key(one), hit=one.outcome.reason not in NOT_EVALUATED, id=one.trial.trial_id)
        for one in trials
        if one.declared
    ]
    effects = [
        Counted(cluster=trial_key(one), hit=effect.state != "reported", id=effect_id(one, effect))
        for one, effect in effects_of(trials)
    ]
    return _weaker(
        rate(outcomes, unit="trial", empty="no completion was declared", census=True),
        rate(effects, unit="effect", empty="no effect was attempted", census=True),
    )


def _weaker(outcomes: Measure, effects: Measure) -> Measure:
    """Return the part that has less evidence, with both in words. Outcomes that nobody declared are a gap."""
    note = (
        f"outcomes {outcomes.numerator}/{outcomes.denominator} of declared completions, "
        f"effects {effects.numerator}/{effects.denominator} of attempts"
    )
    chosen = outcomes
    if outcomes.value is not None and effects.value is not None and effects.value < outcomes.value:
        chosen = effects
    return _with_note(chosen, note)


def _with_note(measure: Measure, note: str) -> Measure:
    return replace(measure, note=note)


def unverified_completions(trials: Trials) -> Measure:
    """Return the share of declared completions that no verifier could judge."""
    units = [
        Counted(cluster=task_key(one), hit=one.outcome.state == "unavailable", id=one.trial.trial_id)
        for one in trials
        if one.declared
    ]
    return rate(units, unit="trial", empty="no completion was declared", census=True)
