"""Reporting: assessments in, variants side by side out, with the certificate that lets anybody recompute them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal

from spanproof_collector.model.filters import UNNAMED
from spanproof_evaluators.gates import decide, release_policy
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.calibrations import Calibration
from spanproof_evaluators.model.canonical import digest
from spanproof_evaluators.model.comparisons import Observation
from spanproof_evaluators.model.decisions import Gate
from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.model.reports import Report, VariantReport
from spanproof_evaluators.model.suites import Suite
from spanproof_evaluators.rules import VERSION as RULES_VERSION
from spanproof_evaluators.runner import stored
from spanproof_evaluators.runner.before import before
from spanproof_evaluators.runner.inversions import inversions
from spanproof_evaluators.runner.judged_rates import judged_rates
from spanproof_evaluators.runner.measuring import by_category, measure, task_key, telemetry
from spanproof_evaluators.verifiers import VERSION as VERIFIERS_VERSION

By = Literal["variant", "agent", "model", "suite", "source"]
MEASURES_VERSION: Final = "4"
"""Raised when a measure comes to mean something else."""

_GROUPS: Mapping[By, Callable[[Assessment], str | None]] = {
    "variant": lambda one: one.trial.variant,
    "agent": lambda one: one.trial.agent_name,
    "model": lambda one: ", ".join(one.trial.models) or None,
    "suite": lambda one: one.trial.suite,
    "source": lambda one: one.trial.source,
}


def report(
    assessments: Sequence[Assessment],
    suite: Suite | None,
    *,
    described: str,
    by: By = "variant",
    policy: Sequence[Gate] | None = None,
    baseline: tuple[str, Sequence[Observation]] | None = None,
    calibrations: Sequence[Calibration] = (),
) -> Report:
    """Return the report on these trials. The order in which they come does not matter.

    Args:
        assessments: the trials with their stored verdicts.
        suite: the definition that they were judged by, if any.
        described: the filter in words.
        by: what stands side by side.
        policy: the gates; the release policy where none is given.
        baseline: name and trials of what stands in brackets beside the numbers.
        calibrations: what is known of judges: their rates are corrected by it.
    """
    gates = tuple(policy) if policy is not None else release_policy()
    every = tuple(sorted(assessments, key=_order))
    groups: defaultdict[str, list[Assessment]] = defaultdict(list)
    for one in every:
        groups[_GROUPS[by](one) or UNNAMED].append(one)
    categories = {one.task.category for one in every if one.task is not None and one.task.category}
    judged = _judged(groups, calibrations, suite)
    variants = tuple(_variant(name, groups[name], gates, categories, judged[name]) for name in sorted(groups))
    return Report(
        suite_id=suite.id if suite else None,
        suite_hash=suite.hash if suite else None,
        filter=described,
        by=by,
        variants=variants,
        assessments=every,
        inversions=inversions(variants),
        before=before(*baseline) if baseline is not None else None,
        certificate=certificate(every, suite, gates, by, calibrations),
    )


def certificate(
    assessments: Sequence[Assessment],
    suite: Suite | None,
    policy: Sequence[Gate],
    by: str,
    calibrations: Sequence[Calibration] = (),
) -> str:
    """Return the SHA-256 over everything that the numbers are a function of.

    Trials by id and hash of their evidence, every stored word on them, the suite, the gates, calibrations of judges and
    the versions of rules, verifiers and measures; not when it was evaluated, nor where it is stored.
    """
    judges = {result.version for one in assessments for result in one.judges} if calibrations else set()
    used = sorted(one.hash for one in calibrations if one.judge_hash in judges)
    known: dict[str, object] = {"calibrations": used} if used else {}
    return digest(
        known
        | {
            "trials": [
                [one.trial.project, one.trial.trial_id, one.evidence] for one in sorted(assessments, key=_order)
            ],
            "results": [
                [one.outcome, one.results, *([one.judges] if one.judges else ())]
                for one in sorted(assessments, key=_order)
            ],
            "suite": suite.hash if suite else None,
            "gates": tuple(policy),
            "by": by,
            "versions": [RULES_VERSION, VERIFIERS_VERSION, MEASURES_VERSION],
        }
    )


def _order(one: Assessment) -> tuple[str, int, str, str, str]:
    trial = one.trial
    return (trial.task_id or "", trial.started_at, trial.project, trial.trial_id, stored.key(trial))


def _judged(
    groups: Mapping[str, Sequence[Assessment]], calibrations: Sequence[Calibration], suite: Suite | None
) -> dict[str, dict[str, Measure]]:
    """Return the rates by judges of each group, the same names for all."""
    suite_hash = suite.hash if suite is not None else None
    found: dict[str, dict[str, Measure]] = {}
    for name, trials in groups.items():
        rates = judged_rates(trials, calibrations, suite_hash=suite_hash)
        found[name] = {called: measure for rate in rates.values() for called, measure in rate.measures.items()}
    names = sorted({called for measures in found.values() for called in measures})
    return {name: {called: measures.get(called, _NOT_JUDGED) for called in names} for name, measures in found.items()}


_NOT_JUDGED: Final = Measure(
    value=None, unit="trial", numerator=None, denominator=0, n_units=0, n_clusters=0, reason="nothing to correct by"
)


def _variant(
    name: str,
    trials: Sequence[Assessment],
    policy: Sequence[Gate],
    categories: Iterable[str],
    judged: Mapping[str, Measure],
) -> VariantReport:
    measures = measure(trials)
    no_effects = all(one.task is not None and one.task.effects == "none" for one in trials)
    return VariantReport(
        name=name,
        trials=len(trials),
        tasks=len({task_key(one) for one in trials}),
        measures=measures,
        categories=by_category(trials, categories),
        telemetry=telemetry(trials),
        decision=decide(policy, measures, no_effects_expected=no_effects),
        assessments=tuple(trials),
        judged=judged,
    )
