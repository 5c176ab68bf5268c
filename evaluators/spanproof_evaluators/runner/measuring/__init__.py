"""Measures: the trials of one variant in, numbers out, each with a denominator of its own."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.runner.measuring._rates import Trials, task_key
from spanproof_evaluators.runner.measuring.claims import (
    explicit_false_success_rate,
    false_success_rate,
    normal_end_false_success_rate,
    silent_failure_share,
)
from spanproof_evaluators.runner.measuring.conduct import (
    clean_trajectories,
    trials_with_forbidden_tools,
    trials_with_repeats,
)
from spanproof_evaluators.runner.measuring.consistency import tool_order_consistency, trajectory_consistency
from spanproof_evaluators.runner.measuring.costs import cost_per_run, cost_per_verified_outcome
from spanproof_evaluators.runner.measuring.effects import constraint_violations, effect_integrity, unknown_effects
from spanproof_evaluators.runner.measuring.efficiency import tokens_per_verified_outcome
from spanproof_evaluators.runner.measuring.evidence import (
    effect_coverage,
    evidence_coverage,
    evidence_stated,
    outcome_coverage,
    unverified_completions,
)
from spanproof_evaluators.runner.measuring.failing import (
    blast_radius_changes,
    blast_radius_effects,
    blast_radius_files,
    blast_radius_over_limit,
    blast_radius_rows,
    mtbf_steps,
    mtbf_trials,
    mttr_steps,
    recovered_failures,
)
from spanproof_evaluators.runner.measuring.progress import progress_rate, useful_progress
from spanproof_evaluators.runner.measuring.quality import task_quality
from spanproof_evaluators.runner.measuring.recovery import recovery_after_error
from spanproof_evaluators.runner.measuring.reliability import (
    outcome_consistency,
    pass_measures,
    pass_measures_without_vacuous,
)
from spanproof_evaluators.runner.measuring.robustness import (
    attack_success_rate,
    benign_utility,
    correct_refusal,
    over_refusal,
    useful_and_safe,
    utility_under_attack,
)
from spanproof_evaluators.runner.measuring.solving import (
    aborted_rate,
    aborted_rate_without_vacuous,
    cost_per_verified_outcome_without_vacuous,
    solve_rate,
    solve_rate_without_vacuous,
)
from spanproof_evaluators.runner.measuring.telemetry import telemetry

__all__ = ["MEASURES", "Trials", "by_category", "measure", "task_key", "telemetry"]

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
    "aborted_rate_without_vacuous": aborted_rate_without_vacuous,
    "cost_per_verified_outcome_without_vacuous": cost_per_verified_outcome_without_vacuous,
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
    "tokens_per_verified_outcome": tokens_per_verified_outcome,
    "explicit_false_success_rate": explicit_false_success_rate,
    "normal_end_false_success_rate": normal_end_false_success_rate,
    "silent_failure_share": silent_failure_share,
    "unverified_completions": unverified_completions,
    "unknown_effects": unknown_effects,
    "constraint_violations": constraint_violations,
    "evidence_stated": evidence_stated,
    "outcome_coverage": outcome_coverage,
    "effect_coverage": effect_coverage,
    "recovery_after_error": recovery_after_error,
    "mtbf_steps": mtbf_steps,
    "mtbf_trials": mtbf_trials,
    "recovered_failures": recovered_failures,
    "mttr_steps": mttr_steps,
    "blast_radius_files": blast_radius_files,
    "blast_radius_rows": blast_radius_rows,
    "blast_radius_changes": blast_radius_changes,
    "blast_radius_effects": blast_radius_effects,
    "blast_radius_over_limit": blast_radius_over_limit,
    "clean_trajectories": clean_trajectories,
    "trials_with_repeats": trials_with_repeats,
    "trials_with_forbidden_tools": trials_with_forbidden_tools,
}
"""Every measure by name, but for those that have a k. There is none that adds two of them up."""


def measure(trials: Trials) -> dict[str, Measure]:
    """Return every measure of these trials by name, in the order in which they are read."""
    found = {name: function(trials) for name, function in MEASURES.items()}
    return found | pass_measures(trials) | pass_measures_without_vacuous(trials)


def by_category(trials: Trials, known: Iterable[str] = ()) -> dict[str, Measure]:
    """Return the solve rate of each category of tasks; nothing where no task has one.

    Trials of a task without a category, or of no task, are in none of them.

    Args:
        trials: of one variant.
        known: categories that others have trials of: without any here they have no value.
    """
    groups: defaultdict[str, list[Assessment]] = defaultdict(list)
    for one in trials:
        if one.task is not None and one.task.category:
            groups[one.task.category].append(one)
    return {category: solve_rate(groups.get(category, [])) for category in sorted({*groups, *known})}
