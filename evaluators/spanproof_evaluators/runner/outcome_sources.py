"""Where an outcome comes from: whoever can judge the end state of a trial, and what several of them say together."""

from collections.abc import Sequence
from typing import Final, Protocol

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.canonical import digest
from spanproof_evaluators.model.outcomes import EffectOfTrial, Outcome, Word
from spanproof_evaluators.model.verifications import Verdict

NOTHING_ASKED: Final = ("no_verifier", "no_task", "task_not_in_suite", "judged_when_run")
"""Reasons of an outcome that say only that nobody declared a check."""

RECORDED_CHANGES: Final = "recorded_changes"
"""The source that compares what somebody else saw change. Its word counts where no other recorded one is a verdict."""

STATE: Final = "state"
"""Its check of all that changed against all that was meant to."""


class OutcomeSource(Protocol):
    """Judges the end state of trials: by recorded states, at the destination, or in a world of its own."""

    @property
    def name(self) -> str:
        """What the outcome names as its verifier begins with this."""

    @property
    def declared(self) -> bool:
        """True where a person declared checks for these trials: they decide, and what was merely recorded does not."""

    def outcome(self, trial: Trial) -> Outcome | None:
        """Return what became of the trial's task; ``None`` where this source has nothing to say of such a trial."""


class DefinedSource(Protocol):
    """A source that is defined by a file: its stored word is of that very definition, or it is stale."""

    @property
    def name(self) -> str:
        """The source's name."""

    @property
    def definition(self) -> str:
        """The hash of the definition."""

    def asks(self, trial: Trial) -> bool:
        """Return whether it has something to say of such a trial."""


def outcome_by(sources: Sequence[OutcomeSource], trial: Trial) -> Outcome:
    """Return the outcome of a trial by these sources."""
    return decided(words_of(sources, trial))


def words_of(sources: Sequence[OutcomeSource], trial: Trial) -> tuple[Word, ...]:
    """Return what each source says of a trial; one that has nothing to say gives no word."""
    return tuple(
        Word(source=source.name, declared=source.declared, outcome=found)
        for source in sources
        if (found := source.outcome(trial)) is not None
    )


def decided(words: Sequence[Word]) -> Outcome:
    """Return the outcome that several words give.

    Declared checks come first and stand together: one that failed fails, else one that could not run leaves it open.
    Only where nobody declared any, the first of the others with a verdict decides, recorded changes last.
    """
    declared = [word.outcome for word in words if word.declared]
    asked = [found for found in declared if not nothing_asked(found)]
    if asked:
        return together(asked)
    others = [word for word in words if not word.declared]
    recorded = [word.outcome for word in sorted(others, key=lambda word: word.source == RECORDED_CHANGES)]
    for found in recorded:
        if found.state != "unavailable":
            return found
    return next(iter([*recorded, *declared]), Outcome.unavailable("no_verifier"))


def nothing_asked(outcome: Outcome) -> bool:
    """Return whether an outcome says only that nobody declared a check."""
    return outcome.state == "unavailable" and outcome.reason in NOTHING_ASKED


def together(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the conjunction of several outcomes on one trial.

    Raises:
        ValueError: there is none.
    """
    if len(outcomes) == 1:
        return outcomes[0]
    state = _conjunction([one.state for one in outcomes])
    pre_state = _conjunction([one.pre_state for one in outcomes])
    effects: dict[tuple[Verdict, Verdict], EffectOfTrial] = {
        ("failed", "verified"): "caused",
        ("verified", "verified"): "vacuous",
        ("verified", "failed"): "damaged",
        ("failed", "failed"): "unchanged",
    }
    deciding = [one for one in outcomes if one.state == state]
    return Outcome(
        state=state,
        effect_of_trial=effects.get((pre_state, state)),
        reason="; ".join(dict.fromkeys(one.reason for one in deciding)),
        pre_state=pre_state,
        verifier=" + ".join(one.verifier for one in outcomes if one.verifier) or None,
        version=outcomes[0].version,
        definition=_definition([one.definition for one in outcomes if one.definition]),
        checks=tuple(check for one in outcomes for check in one.checks),
        pre_checks=tuple(check for one in outcomes for check in one.pre_checks),
    )


def _definition(hashes: Sequence[str]) -> str | None:
    """Return one hash for several: the same where they agree."""
    several = sorted(set(hashes))
    return (several[0] if len(several) == 1 else digest(several)) if several else None


def _conjunction(states: Sequence[Verdict]) -> Verdict:
    order: tuple[Verdict, ...] = ("failed", "unavailable", "verified")
    return min(states, key=order.index)
