"""An assessment: one trial, with what rules and verifiers said of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task

LeftOut = Literal["infrastructure", "waiting", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """One trial and the verdicts on it."""

    trial: Trial
    task: Task | None
    """``None`` in production, or where the suite does not know the task."""

    outcome: Outcome
    results: tuple[Result, ...] = ()
    judges: tuple[Result, ...] = ()
    """What judges said. It stands beside the rest and decides nothing: neither outcome, nor solved, nor a rule."""

    solved: bool | None
    """Finished within its budget and outcome verified; ``None`` where that cannot be said."""

    solved_reason: str
    false_success: bool | None
    """Claimed success, and the outcome failed. ``None``: no claim, or no verdict."""

    left_out: LeftOut | None = None
    """Why the trial leaves the denominators; it is counted there."""

    aborted: bool | None = False
    """Stopped by its own budget or by somebody, before it was done. ``None``: no rule could say."""

    evidence: str = ""
    """SHA-256 of the trial as it was read."""

    settled: bool = True
    """Whether no more of the trial is to be expected."""

    def result(self, evaluator: str) -> Result | None:
        """Return what an evaluator said, ``None`` where it was not asked or had nothing to say."""
        return next((one for one in self.results if one.evaluator == evaluator), None)

    @property
    def declared(self) -> bool:
        """True when the agent declared the task done."""
        return self.trial.claim.state == "success"

    @property
    def all_results(self) -> tuple[Result, ...]:
        """The outcome's word first, then the rules', then the judges'."""
        return (self.outcome.as_result(), *self.results, *self.judges)

    @property
    def unknown(self) -> bool:
        """True when an effect of the trial is unknown."""
        return any(call.effect.state == "unknown" for call in self.trial.tool_calls)

    @property
    def unproven(self) -> bool:
        """True when success was claimed and there is no verdict on it."""
        return self.declared and self.outcome.state == "unavailable"

    @property
    def urgency(self) -> int:
        """Where the trial stands in a list: false successes, unknown effects, unproven claims, the rest."""
        if self.false_success:
            return 0
        if self.unknown:
            return 1
        return 2 if self.unproven else 3


def by_urgency(assessments: Iterable[Assessment]) -> list[Assessment]:
    """Return the trials as they are listed: the most urgent kind first, then the newest."""
    return sorted(assessments, key=lambda one: (one.urgency, -one.trial.started_at, one.trial.trial_id))
