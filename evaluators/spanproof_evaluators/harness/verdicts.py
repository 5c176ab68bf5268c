"""The verdicts of a run as a source of outcomes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.suites import Suite
from spanproof_evaluators.runner.judging import run_source


@dataclass(frozen=True, slots=True, kw_only=True)
class RunVerdicts:
    """The verdicts of a run as a source of outcomes: what was judged while the worlds were there."""

    suite: Suite
    verdicts: Mapping[str, Outcome]
    broken: Mapping[str, str]

    @property
    def name(self) -> str:
        """The name under which ``evaluate`` lets these words stand."""
        return run_source(self.suite)

    @property
    def declared(self) -> bool:
        """True: a person wrote the suite."""
        return True

    def outcome(self, trial: Trial) -> Outcome | None:
        """Return the verdict on a trial of the run."""
        found = self.verdicts.get(trial.trial_id)
        if found is not None:
            return replace(found, definition=self.suite.hash)
        why = self.broken.get(trial.trial_id)
        if why is None:
            return None
        return replace(
            Outcome.unavailable("infrastructure", verifier=f"{self.suite.id}/{trial.task_id}"),
            definition=self.suite.hash,
            details={"ended": why},
        )
