"""Results as they are stored: one row an evaluator and trial, with what is needed to tell a stale one."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast, get_args

from spanproof_collector.model.results import ResultRow
from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.canonical import Plain, canonical, digest
from spanproof_evaluators.model.outcomes import OUTCOME, EffectOfTrial, Outcome, Word
from spanproof_evaluators.model.results import Kind, Result, State
from spanproof_evaluators.model.suites import Suite
from spanproof_evaluators.model.verifications import Check, Verdict
from spanproof_evaluators.rules import VERSION as RULES_VERSION
from spanproof_evaluators.runner.outcome_sources import DefinedSource
from spanproof_evaluators.verifiers import VERSION

NOT_EVALUATED: Final = ("not_evaluated", "evidence_changed", "suite_changed", "verifiers_changed", "evaluator_changed")
"""Why there is no result: nobody asked, or what was asked then is not what is there now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What an evaluation rests on: who said what, and the suite whose tasks the rules asked."""

    words: tuple[Word, ...] = ()
    suite: str | None = None
    suite_hash: str | None = None

    @classmethod
    def of(cls, words: tuple[Word, ...], suite: Suite | None) -> "Basis":
        """Return the basis of an evaluation by a suite, or by none."""
        return cls(words=words, suite=suite.id if suite else None, suite_hash=suite.hash if suite else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """What an earlier evaluation of the same evidence found."""

    basis: Basis
    results: tuple[Result, ...]


def rows(assessment: Assessment, basis: Basis, at: int) -> list[ResultRow]:
    """Return the rows of one evaluation. The outcome's row is always there and names the others."""
    trial = assessment.trial
    details: dict[str, Plain] = {
        "evidence": assessment.evidence,
        "suite": basis.suite,
        "suite_hash": basis.suite_hash,
        "rules": RULES_VERSION,
        "results": [result.evaluator for result in assessment.results],
        **_told(assessment.outcome),
        "words": [{"source": one.source, "declared": one.declared, **outcome_json(one.outcome)} for one in basis.words],
    }
    verdict = replace(assessment.outcome.as_result(), details=details)
    return [_row(trial, result, at) for result in (verdict, *assessment.results)]


def judge_row(project: str, trial_key: str, result: Result, at: int) -> ResultRow:
    """Return the row of a judge's word on a trial."""
    return _row_of(project, trial_key, result, at)


def judge_details(evidence: str, suite: Suite | None, told: Mapping[str, Plain]) -> dict[str, Plain]:
    """Return the details of a judge's word: what it said, and what tells whether it is stale."""
    return {"evidence": evidence, "suite_hash": suite.hash if suite else None, **told}


def judged(found: Mapping[str, ResultRow], trial: Trial, suite: Suite | None) -> tuple[Result, ...]:
    """Return what judges said of a trial, by the names of evaluators. A word on other evidence is no word on this."""
    words = [(row, _details(row)) for name, row in sorted(found.items()) if row.kind == "judge"]
    evidence = evidence_of(trial) if words else ""
    results = []
    for row, details in words:
        stale = "evidence_changed" if details.get("evidence") != evidence else None
        if stale is None and suite is not None and details.get("suite_hash") not in (None, suite.hash):
            stale = "suite_changed"
        if stale is None:
            results.append(_result(row))
            continue
        results.append(
            Result.unavailable(
                row.evaluator,
                kind="judge",
                version=row.version,
                reason=stale,
                explanation="judged before: 'spanproof judge run' looks again, and asks only where the input changed",
            )
        )
    return tuple(results)


def earlier(found: Mapping[str, ResultRow], trial: Trial) -> Earlier | None:
    """Return what an earlier evaluation found, ``None`` where it saw other evidence or was of another version."""
    row = found.get(OUTCOME)
    if row is None or row.version != VERSION:
        return None
    details = _details(row)
    if details.get("evidence") != evidence_of(trial) or details.get("rules") != RULES_VERSION:
        return None
    suite, suite_hash = details.get("suite"), details.get("suite_hash")
    return Earlier(
        basis=Basis(
            words=_words(details),
            suite=suite if isinstance(suite, str) else None,
            suite_hash=suite_hash if isinstance(suite_hash, str) else None,
        ),
        results=_results(found, details),
    )


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


def read(
    found: Mapping[str, ResultRow], trial: Trial, suite: Suite | None, verifiers: Sequence[DefinedSource] = ()
) -> tuple[Outcome, tuple[Result, ...]]:
    """Return the stored outcome and results of a trial, or why they do not speak of this evidence and these checks."""
    row = found.get(OUTCOME)
    if row is None:
        return Outcome.unavailable("not_evaluated"), ()
    details = _details(row)
    if details.get("evidence") != evidence_of(trial):
        return Outcome.unavailable("evidence_changed"), ()
    if suite is not None and details.get("suite_hash") != suite.hash:
        return Outcome.unavailable("suite_changed"), ()
    if any(_stale(one, trial, _words(details)) for one in verifiers):
        return Outcome.unavailable("verifiers_changed"), ()
    if row.version != VERSION:
        return Outcome.unavailable("evaluator_changed"), ()
    return _outcome(row.state, row.explanation, row.version, details), _results(found, details)


def _stale(source: DefinedSource, trial: Trial, words: Sequence[Word]) -> bool:
    """Return whether what is stored is not what a source of this definition says of a trial."""
    stored = [word.outcome.definition for word in words if word.source == source.name]
    if not source.asks(trial):
        return bool(stored)
    return stored != [source.definition]


def _words(details: Mapping[str, Plain]) -> tuple[Word, ...]:
    words = details.get("words")
    return tuple(_word(one) for one in words if isinstance(one, dict)) if isinstance(words, list) else ()


def _results(found: Mapping[str, ResultRow], details: Mapping[str, Plain]) -> tuple[Result, ...]:
    """Return the other words of the evaluation whose outcome has these details."""
    names = details.get("results")
    return tuple(_result(found[str(name)]) for name in names if name in found) if isinstance(names, list) else ()


def _row(trial: Trial, result: Result, at: int) -> ResultRow:
    return _row_of(trial.project, key(trial), result, at)


def _row_of(project: str, trial_key: str, result: Result, at: int) -> ResultRow:
    return ResultRow(
        project=project,
        trial_id=trial_key,
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


def _told(outcome: Outcome) -> dict[str, Plain]:
    """Return what of an outcome stands in no column."""
    return {
        "pre_state": outcome.pre_state,
        "effect_of_trial": outcome.effect_of_trial,
        "verifier": outcome.verifier,
        "definition": outcome.definition,
        "score": outcome.score,
        "checks": [_check(check) for check in outcome.checks],
        "pre_checks": [_check(check) for check in outcome.pre_checks],
        "told": dict(outcome.details),
    }


def outcome_json(outcome: Outcome) -> dict[str, Plain]:
    """Return an outcome with all that it says."""
    return {"state": outcome.state, "reason": outcome.reason, "version": outcome.version, **_told(outcome)}


def outcome_of_json(told: Mapping[str, Plain]) -> Outcome:
    """Return an outcome as it was kept."""
    return _outcome(str(told.get("state")), str(told.get("reason", "")), str(told.get("version", "")), told)


def _word(told: Mapping[str, Plain]) -> Word:
    """Return a word as it was kept."""
    return Word(
        source=str(told.get("source")),
        declared=told.get("declared") is True,
        outcome=outcome_of_json(told),
    )


def _outcome(state: str, reason: str, version: str, details: Mapping[str, Plain]) -> Outcome:
    effect, pre_state, verifier = details.get("effect_of_trial"), details.get("pre_state"), details.get("verifier")
    definition = details.get("definition")
    return Outcome(
        state=cast("Verdict", state) if state in get_args(Verdict) else "unavailable",
        effect_of_trial=cast("EffectOfTrial", effect) if effect in get_args(EffectOfTrial) else None,
        reason=reason,
        pre_state=cast("Verdict", pre_state) if pre_state in get_args(Verdict) else "unavailable",
        verifier=verifier if isinstance(verifier, str) else None,
        version=version,
        definition=definition if isinstance(definition, str) else None,
        score=_number(details.get("score")),
        checks=_checks(details.get("checks")),
        pre_checks=_checks(details.get("pre_checks")),
        details=told if isinstance(told := details.get("told"), dict) else {},
    )


def _details(row: ResultRow) -> dict[str, Plain]:
    found = json.loads(row.details) if row.details else {}
    return found if isinstance(found, dict) else {}


def _check(check: Check) -> dict[str, Plain]:
    return {
        "name": check.name,
        "passed": check.passed,
        "seen": check.seen,
        "reason": check.reason,
        "kind": check.kind,
        "destination": check.destination,
        "time": None if check.time is None else str(check.time),
        "definition": check.definition,
        "weight": check.weight,
        "required": check.required,
        "score": check.score,
    }


def _checks(found: Plain) -> tuple[Check, ...]:
    checks = []
    for one in found if isinstance(found, list) else []:
        if isinstance(one, dict):
            passed, reason, destination = one.get("passed"), one.get("reason"), one.get("destination")
            seen_at = one.get("time")
            checks.append(
                Check(
                    name=str(one.get("name", "")),
                    passed=passed if isinstance(passed, bool) else None,
                    seen=str(one.get("seen", "")),
                    reason=reason if isinstance(reason, str) else None,
                    kind=str(one.get("kind", "")),
                    destination=destination if isinstance(destination, str) else None,
                    time=int(seen_at) if isinstance(seen_at, str) and seen_at.isdigit() else None,
                    definition=str(one.get("definition", "")),
                    weight=_number(one.get("weight")),
                    required=one.get("required") is not False,
                    score=_number(one.get("score")),
                )
            )
    return tuple(checks)


def _number(value: Plain) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _sound(text: str) -> str:
    """Return text that every store can keep: lone surrogates, which JSON lets through, become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
