"""An outcome: what a verifier says of the world after a trial, and whether the trial brought it about."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.verifications import Check, Verdict, Verification

OUTCOME: Final = "outcome"
"""The name under which what a verifier found is stored."""

EffectOfTrial = Literal["caused", "vacuous", "damaged", "unchanged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The verdict on an end state. ``unavailable`` carries the reason; it is neither success nor failure."""

    state: Verdict
    effect_of_trial: EffectOfTrial | None = None
    """``None`` where either state was not judged."""

    reason: str = ""
    pre_state: Verdict = "unavailable"
    verifier: str | None = None
    """Who judged; ``None`` where nobody did."""

    version: str = "1"
    definition: str | None = None
    """SHA-256 of what judged, where it is a file: of a verifier file, of a suite."""

    score: float | None = None
    """The weight of the checks that passed, as a part of all weights; ``None`` where nobody gave weights."""

    checks: tuple[Check, ...] = ()
    pre_checks: tuple[Check, ...] = ()
    details: Mapping[str, Plain] = field(default_factory=dict)
    """What else the verifier tells, kept beside its verdict: what it ran in, what it saw on the way."""

    @classmethod
    def unavailable(cls, reason: str, *, verifier: str | None = None) -> "Outcome":
        """Return an outcome that says: no verdict is possible, and why."""
        return cls(state="unavailable", reason=reason, verifier=verifier)

    def as_result(self) -> Result:
        """Return the outcome as a verifier's word, as it is stored and printed."""
        return Result(
            evaluator=OUTCOME,
            version=self.version,
            kind="verifier",
            state=self.state,
            score=self.score,
            label=self.effect_of_trial,
            reason=self.reason if self.state == "unavailable" else None,
            explanation=self.reason,
        )

    @classmethod
    def of(cls, before: Verification, after: Verification, *, verifier: str, version: str) -> "Outcome":
        """Return what two verifications say together: fail to pass is caused, pass to pass vacuous (B15)."""
        effect: EffectOfTrial | None = None
        match before.state, after.state:
            case "failed", "verified":
                effect = "caused"
            case "verified", "verified":
                effect = "vacuous"
            case "verified", "failed":
                effect = "damaged"
            case "failed", "failed":
                effect = "unchanged"
        return cls(
            state=after.state,
            effect_of_trial=effect,
            reason=_reason(after),
            pre_state=before.state,
            verifier=verifier,
            version=version,
            score=after.score,
            checks=after.checks,
            pre_checks=before.checks,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One source's word on a trial. Several of them give the outcome, and each is kept by itself."""

    source: str
    """The source's name: a later word of the same source takes this one's place."""

    declared: bool
    """True where a person declared checks; false for what was merely recorded."""

    outcome: Outcome


def _reason(found: Verification) -> str:
    """Return the reason in one line: the gap, else the checks that failed, else how many passed."""
    match found.state:
        case "unavailable":
            return found.reason or "check_could_not_run"
        case "failed":
            wrong = "; ".join(f"{check.name}: {check.seen}" for check in found.checks if check.passed is False)
            return wrong or "the score that is asked for was not reached"
        case "verified":
            count = sum(check.passed is True for check in found.checks)
            told = f"{count} check{'s' if count != 1 else ''} passed"
            return told if count == len(found.checks) else f"{told} of {len(found.checks)}"
