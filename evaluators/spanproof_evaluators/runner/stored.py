"""Results as they are stored: one row an evaluator and trial, with what is needed to tell a stale one."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, cast, get_args

from spanproof_collector.model.results import ResultRow
from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.canonical import Plain, canonical, digest
from spanproof_evaluators.model.outcomes import OUTCOME, EffectOfTrial, Outcome
from spanproof_evaluators.model.results import Kind, Result, State
from spanproof_evaluators.model.suites import Suite
from spanproof_evaluators.model.verifications import Check, Verdict
from spanproof_evaluators.verifiers import VERSION

NOT_EVALUATED: Final = ("not_evaluated", "evidence_changed", "suite_changed", "evaluator_changed")
"""Why there is no result: nobody asked, or what was asked then is not what is there now."""


def rows(assessment: Assessment, suite: Suite | None, at: int) -> list[ResultRow]:
    """Return the rows of one evaluation. The outcome's row is always there and names the others."""
    trial = assessment.trial
    details: dict[str, Plain] = {
        "evidence": assessment.evidence,
        "suite": suite.id if suite else None,
        "suite_hash": suite.hash if suite else None,
        "results": [result.evaluator for result in assessment.results],
        "pre_state": assessment.outcome.pre_state,
        "effect_of_trial": assessment.outcome.effect_of_trial,
        "verifier": assessment.outcome.verifier,
        "checks": [_check(check) for check in assessment.outcome.checks],
        "pre_checks": [_check(check) for check in assessment.outcome.pre_checks],
    }
    verdict = replace(assessment.outcome.as_result(), details=details)
    return [_row(trial, result, at) for result in (verdict, *assessment.results)]


def evidence_of(trial: Trial) -> str:
    """Return the SHA-256 of what is known of a trial: not of how it came, which equal spans do not share."""
    return digest(replace(trial, source="", path=None, received_at=None))


def key(trial: Trial) -> str:
    """Return what a trial's results are stored under."""
    return trial.key


def by_trial(found: Iterable[ResultRow]) -> dict[tuple[str, str], dict[str, ResultRow]]:
    """Return rows by project and key of the trial, then by evaluator."""
    sorted_: defaultdict[tuple[str, str], dict[str, ResultRow]] = defaultdict(dict)
    for row in found:
        sorted_[row.project, row.trial_id][row.evaluator] = row
    return sorted_


def read(found: Mapping[str, ResultRow], trial: Trial, suite: Suite | None) -> tuple[Outcome, tuple[Result, ...]]:
    """Return the stored outcome and results of a trial, or why they do not speak of this evidence and this suite."""
    row = found.get(OUTCOME)
    if row is None:
        return Outcome.unavailable("not_evaluated"), ()
    details = _details(row)
    if details.get("evidence") != evidence_of(trial):
        return Outcome.unavailable("evidence_changed"), ()
    if suite is not None and details.get("suite_hash") != suite.hash:
        return Outcome.unavailable("suite_changed"), ()
    if row.version != VERSION:
        return Outcome.unavailable("evaluator_changed"), ()
    names = details.get("results")
    told = [found[str(name)] for name in names if name in found] if isinstance(names, list) else []
    return _outcome(row, details), tuple(_result(one) for one in told)


def _row(trial: Trial, result: Result, at: int) -> ResultRow:
    return ResultRow(
        project=trial.project,
        trial_id=key(trial),
        evaluator=result.evaluator,
        version=result.version,
        kind=result.kind,
        state=result.state,
        score=result.score,
        label=_sound(result.label or ""),
        reason=_sound(result.reason or ""),
        explanation=_sound(result.explanation),
        span_ids=result.span_ids,
        details=canonical(result.details) if result.details else "",
        evaluated_at=at,
    )


def _result(row: ResultRow) -> Result:
    return Result(
        evaluator=row.evaluator,
        version=row.version,
        kind=cast("Kind", row.kind),
        state=cast("State", row.state),
        score=row.score,
        label=row.label or None,
        reason=row.reason or None,
        explanation=row.explanation,
        span_ids=row.span_ids,
        details=_details(row),
    )


def _outcome(row: ResultRow, details: Mapping[str, Plain]) -> Outcome:
    effect, pre_state, verifier = details.get("effect_of_trial"), details.get("pre_state"), details.get("verifier")
    return Outcome(
        state=cast("Verdict", row.state),
        effect_of_trial=cast("EffectOfTrial", effect) if effect in get_args(EffectOfTrial) else None,
        reason=row.explanation,
        pre_state=cast("Verdict", pre_state) if pre_state in get_args(Verdict) else "unavailable",
        verifier=verifier if isinstance(verifier, str) else None,
        version=row.version,
        checks=_checks(details.get("checks")),
        pre_checks=_checks(details.get("pre_checks")),
    )


def _details(row: ResultRow) -> dict[str, Plain]:
    found = json.loads(row.details) if row.details else {}
    return found if isinstance(found, dict) else {}


def _check(check: Check) -> dict[str, Plain]:
    return {"name": check.name, "passed": check.passed, "seen": check.seen, "reason": check.reason}


def _checks(found: Plain) -> tuple[Check, ...]:
    checks = []
    for one in found if isinstance(found, list) else []:
        if isinstance(one, dict):
            passed, reason = one.get("passed"), one.get("reason")
            checks.append(
                Check(
                    name=str(one.get("name", "")),
                    passed=passed if isinstance(passed, bool) else None,
                    seen=str(one.get("seen", "")),
                    reason=reason if isinstance(reason, str) else None,
                )
            )
    return tuple(checks)


def _sound(text: str) -> str:
    """Return text that every store can keep: lone surrogates, which JSON lets through, become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
