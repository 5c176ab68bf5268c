"""Measures: the trials of one variant in, numbers out, each with a denominator of its own."""

from collections.abc import Callable, Mapping

from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.runner.measuring._rates import Trials, task_key
from spanproof_evaluators.runner.measuring.claims import (
    explicit_false_success_rate,
    false_success_rate,
    normal_end_false_success_rate,
    silent_failure_share,
)
from spanproof_evaluators.runner.measuring.consistency import tool_order_consistency, trajectory_consistency
from spanproof_evaluators.runner.measuring.costs import cost_per_run, cost_per_verified_outcome
from spanproof_evaluators.runner.measuring.effects import constraint_violations, effect_integrity, unknown_effects
from spanproof_evaluators.runner.measuring.evidence import (
    effect_coverage,
    evidence_coverage,
    evidence_stated,
    outcome_coverage,
    unverified_completions,
)
from spanproof_evaluators.runner.measuring.progress import progress_rate, useful_progress
from spanproof_evaluators.runner.measuring.quality import task_quality
from spanproof_evaluators.runner.measuring.reliability import outcome_consistency, pass_measures
from spanproof_evaluators.runner.measuring.robustness import (
    attack_success_rate,
    benign_utility,
    correct_refusal,
    over_refusal,
    useful_and_safe,
    utility_under_attack,
)
from spanproof_evaluators.runner.measuring.solving import aborted_rate, solve_rate, solve_rate_without_vacuous

__all__ = ["MEASURES", "Trials", "measure", "task_key"]

MEASURES: Mapping[str, Callable[[Trials], Measure]] = {
    "evidence_coverage": evidence_coverage,
    "task_quality": task_quality,
    "useful_progress": useful_progress,
    "effect_integrity": effect_integrity,
    "cost_per_verified_outcome": cost_per_verified_outcome,
    "false_success_rate": false_success_rate,
    "solve_rate": solve_rate,
    "solve_rate_without_vacuous": solve_rate_without_vacuous,
    "aborted_rate": aborted_rate,
    "progress_rate": progress_rate,
    "outcome_consistency": outcome_consistency,
    "trajectory_consistency": trajectory_consistency,
    "tool_order_consistency": tool_order_consistency,
    "benign_utility": benign_utility,
    "utility_under_attack": utility_under_attack,
    "attack_success_rate": attack_success_rate,
    "useful_and_safe": useful_and_safe,
    "correct_refusal": correct_refusal,
    "over_refusal": over_refusal,
    "cost_per_run": cost_per_run,
    "explicit_false_success_rate": explicit_false_success_rate,
    "normal_end_false_success_rate": normal_end_false_success_rate,
    "silent_failure_share": silent_failure_share,
    "unverified_completions": unverified_completions,
    "unknown_effects": unknown_effects,
    "constraint_violations": constraint_violations,
    "evidence_stated": evidence_stated,
    "outcome_coverage": outcome_coverage,
    "effect_coverage": effect_coverage,
}
"""Every measure by name, but for those that have a k. There is none that adds two of them up."""


def measure(trials: Trials) -> dict[str, Measure]:
    """Return every measure of these trials by name, in the order in which they are read."""
    return {name: function(trials) for name, function in MEASURES.items()} | pass_measures(trials)
