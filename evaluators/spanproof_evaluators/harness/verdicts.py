"""The verdicts of a run as a source of outcomes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.harness.journal import RunError, read_journal
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.suites import Suite
from spanproof_evaluators.runner.judging import run_source


@dataclass(frozen=True, slots=True, kw_only=True)
class RunVerdicts:
    """The verdicts of a run as a source of outcomes: what was judged while the worlds were there."""

    suite: Suite
    verdicts: Mapping[str, Outcome]
    broken: Mapping[str, str]

    @classmethod
    def read(cls, path: Path, suite: Suite) -> Self:
        """Return the verdicts that a run's journal tells.

        Raises:
            RunError: it cannot be read, is none, or the suite was another one when they were found.
        """
        header, known = read_journal(path)
        if header.hash != suite.hash:
            ours, theirs = f"{suite.id} ({suite.hash[:12]})", f"{header.suite} ({header.hash[:12]})"
            raise RunError(f"the verdicts of {path} are by suite {theirs}, not by {ours}: give the suite of the run")
        return cls(suite=suite, verdicts=dict(known.verdicts.values()), broken=known.broken)

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
