"""Gating: a policy over one variant's trials, with a baseline where the policy asks for one."""

from collections.abc import Sequence

from spanproof_evaluators.gates import Evidence, decide_by, tonight_alone
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.calibrations import Calibration
from spanproof_evaluators.model.comparisons import Comparison, Observation
from spanproof_evaluators.model.decisions import Decision
from spanproof_evaluators.model.policies import Policy
from spanproof_evaluators.runner.comparing import compare, observed
from spanproof_evaluators.runner.judged_rates import judged_rates
from spanproof_evaluators.runner.measuring import by_category, measure
from spanproof_evaluators.stats.sequential import e_value


def gate(
    trials: Sequence[Assessment],
    policy: Policy,
    *,
    name: str,
    baseline: Sequence[Observation] | None = None,
    baseline_name: str = "baseline",
    together: Evidence = tonight_alone,
    calibrations: Sequence[Calibration] = (),
    suite_hash: str | None = None,
) -> tuple[Decision, Comparison | None]:
    """Return what a policy says of a variant, and the comparison that it used.

    Args:
        trials: the variant's, with their stored verdicts.
        policy: the gates.
        name: of the variant.
        baseline: the trials to compare with; ``None`` leaves the gates that need them unavailable.
        baseline_name: of the baseline.
        together: the evidence of all nights from this one's e-value.
        calibrations: what is known of judges, for gates on them.
        suite_hash: of the suite that the trials are judged by.

    Raises:
        UnequalSetsError: the baseline has other tasks or other repeats.
        PolicyError: the policy names a measure that there is not.
    """
    comparison = None
    if baseline is not None and policy.needs_baseline:
        comparison = compare(baseline, [observed(one) for one in trials], names=(baseline_name, name))
    decision = decide_by(
        policy,
        measure(trials),
        categories=by_category(trials),
        comparison=comparison,
        together=together,
        no_effects_expected=all(one.task is not None and one.task.effects == "none" for one in trials),
        judged=judged_rates(trials, calibrations, suite_hash=suite_hash),
    )
    return decision, comparison


def night_evidence(comparison: Comparison) -> float:
    """Return the evidence of one night that losses are likelier than gains: an e-value, to be multiplied."""
    return e_value(comparison.solve_rate.worse, comparison.solve_rate.better)
