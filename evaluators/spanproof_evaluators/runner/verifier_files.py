"""The verifiers of a file, attached to trials by filter."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from spanproof_collector.model.filters import Filter
from spanproof_collector.model.trials import Trial
from spanproof_collector.trials.matching import matches
from spanproof_evaluators.errors import VerifierFileError
from spanproof_evaluators.model.moments import read_moment
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.verifier_files import Attached, VerifierFile, Where, read_verifier_file
from spanproof_evaluators.runner.checking import outcome_by_checks
from spanproof_evaluators.runner.judging import left_out
from spanproof_evaluators.runner.outcome_sources import together
from spanproof_evaluators.runner.patience import Patience


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierFileChecks:
    """The checks of a verifier file, at the destinations that it names."""

    file: VerifierFile
    base: Path
    """What paths are relative to."""

    attached: tuple[tuple[Filter, Attached], ...]
    patience: Patience

    @classmethod
    def read(cls, path: Path) -> "VerifierFileChecks":
        """Return the checks that a file holds.

        Raises:
            VerifierFileError: it cannot be read as a verifier file.
        """
        file = read_verifier_file(path)
        return cls(
            file=file,
            base=path.absolute().parent,
            patience=Patience(file.destinations),
            attached=tuple((_filter(one.where, f"{path}", one.id), one) for one in file.verifiers),
        )

    @property
    def name(self) -> str:
        """The file's id."""
        return self.file.id

    @property
    def declared(self) -> bool:
        """True: a person wrote the file."""
        return True

    @property
    def definition(self) -> str:
        """The hash of the file."""
        return self.file.hash

    def asks(self, trial: Trial) -> bool:
        """Return whether a verifier is attached to the trial."""
        return any(matches(trial, wanted) for wanted, _ in self.attached)

    def idle(self, trials: Iterable[Trial]) -> list[str]:
        """Return the verifiers that are attached to none of these trials."""
        left = {one.id: wanted for wanted, one in self.attached}
        for trial in trials:
            left = {name: wanted for name, wanted in left.items() if not matches(trial, wanted)}
        return [f"{self.name}/{name}" for name in left]

    def outcome(self, trial: Trial) -> Outcome | None:
        """Return what every verifier says that is attached to the trial, together; ``None`` where none is."""
        mine = [one for wanted, one in self.attached if matches(trial, wanted)]
        if not mine:
            return None
        found = [self._judged(trial, one) for one in mine]
        return together(found)

    def _judged(self, trial: Trial, one: Attached) -> Outcome:
        name = f"{self.file.id}/{one.id}"
        reason = left_out(trial)
        if reason in ("infrastructure", "waiting"):
            return replace(Outcome.unavailable(reason, verifier=name), definition=self.file.hash)
        return outcome_by_checks(
            trial,
            one.checks,
            name=name,
            definition=self.file.hash,
            destinations=self.file.destinations,
            base=self.base,
            pass_score=one.pass_score,
            patience=self.patience,
        )


def _filter(where: Where, path: str, verifier: str) -> Filter:
    """Return the filter that a verifier says.

    Raises:
        VerifierFileError: a time cannot be read.
    """

    def many(given: str | Sequence[str]) -> tuple[str, ...]:
        return (given,) if isinstance(given, str) else tuple(given)

    def moment(key: str, given: str | int | None) -> int | None:
        try:
            return None if given is None else read_moment(str(given))
        except ValueError as error:
            raise VerifierFileError(path, f"verifiers.{verifier}.where.{key}", str(error)) from error

    return Filter(
        since=moment("since", where.since),
        until=moment("until", where.until),
        projects=many(where.project),
        sessions=many(where.session),
        trials=many(where.trial),
        tasks=many(where.task),
        suites=many(where.suite),
        sources=many(where.source),
        variants=many(where.variant),
        agents=many(where.agent),
        models=many(where.model),
        tools=many(where.tool),
        texts=many(where.text),
        labels=tuple(where.label.items()),
    )
