"""What a rule is."""

from typing import Final, Protocol

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task

UNSEEN: Final = "which tools every inference asked for was not captured"
"""Why a call that is not seen may still have been made."""


class Rule(Protocol):
    """Looks at a trial, and at the task where there is one. Its settings are the fields of a frozen dataclass."""

    @property
    def name(self) -> str:
        """What results are stored under."""

    @property
    def hard(self) -> bool:
        """True for a constraint that fails the trial; false for a diagnostic, which never decides success."""

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Return what the rule found; ``None`` when nobody asked anything of it."""
