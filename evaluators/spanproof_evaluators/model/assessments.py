"""An assessment: one trial, with what rules and verifiers said of it."""

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

    def result(self, evaluator: str) -> Result | None:
        """Return what an evaluator said, ``None`` where it was not asked or had nothing to say."""
        return next((one for one in self.results if one.evaluator == evaluator), None)

    @property
    def declared(self) -> bool:
        """True when the agent declared the task done."""
        return self.trial.claim.state == "success"
