"""Checking: a trial's checks over the states that were recorded, and over the destinations as they are."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from spanproof_collector.model.trials import EndState as Recorded
from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.checks import AnswerCheck, CheckSpec
from spanproof_evaluators.model.destinations import Destination
from spanproof_evaluators.model.end_states import EndState, UnreadableEndStateError
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.placeholders import PlaceholderError, Values, filled_check
from spanproof_evaluators.model.verifications import Check
from spanproof_evaluators.runner.patience import Patience
from spanproof_evaluators.verifiers import declared, judge


def outcome_by_checks(
    trial: Trial,
    checks: Sequence[CheckSpec],
    *,
    name: str,
    definition: str,
    destinations: Mapping[str, Destination],
    base: Path | None,
    pass_score: float | None = None,
    patience: Patience | None = None,
) -> Outcome:
    """Return what the checks say of a trial.

    Args:
        trial: whose world is looked at.
        checks: what is asked.
        name: what the outcome names as its verifier.
        definition: hash of the file that the checks stand in.
        destinations: where the world is, by name.
        base: the folder that paths are relative to; the working folder where none is given.
        pass_score: the part of the weights that has to pass.
        patience: with destinations that did not answer for the trials before this one.
    """
    folder, values = base or Path.cwd(), values_of(trial)
    used = {where for check in checks for where in check.destinations}
    named = {where: one for where, one in destinations.items() if where in used}
    places = {where: one.place(values, folder) for where, one in named.items()}
    places_before = {
        where: place for where, one in named.items() if (place := one.place_before(values, folder)) is not None
    }
    before = recorded_state(trial, "before")
    looked_at = before.tables is not None or before.files is not None or bool(places_before)
    if not looked_at and not all(isinstance(check, AnswerCheck) and check.quote is None for check in checks):
        found = None
    else:
        found = replace(before, places=places_before)
    after = replace(recorded_state(trial, "after"), places=places)
    asked = [(patience and patience.given_up(check)) or filled_in(check, values) for check in checks]
    outcome = judge(declared(asked, pass_score=pass_score, base=folder), found, after, name=name)
    if patience is not None:
        patience.learn(outcome.checks)
    return replace(outcome, definition=definition)


def values_of(trial: Trial) -> Values:
    """Return what stands for the placeholders of a trial: its ids and its labels."""
    known = {
        "project": trial.project,
        "trial_id": trial.trial_id,
        "session_id": trial.session_id,
        "task_id": trial.task_id,
        "suite": trial.suite,
        "variant": trial.variant,
        "attempt": None if trial.attempt is None else str(trial.attempt),
        "agent": trial.agent_name,
    }
    labels = {f"label.{key}": value for key, value in trial.labels.items()}
    return labels | {name: value for name, value in known.items() if value is not None}


def recorded_state(trial: Trial, phase: Literal["before", "after"]) -> EndState:
    """Return the recorded state of a phase, the first one before, the last one after; or why there is none.

    The submitted answer belongs to the state after, whether or not anything else was recorded.
    """
    recorded: Sequence[Recorded] = sorted(
        (state for state in trial.end_states if state.phase == phase), key=lambda state: state.time
    )
    answer = trial.final_answer if phase == "after" else None
    told = phase == "before" or answer is not None or trial.completeness.content == "captured"
    if not recorded:
        return EndState(missing="end_state_not_recorded", answer=answer, answer_recorded=told)
    chosen = recorded[0] if phase == "before" else recorded[-1]
    if chosen.digest_matches is False:
        return EndState(missing="digest_mismatch", answer=answer, answer_recorded=told, time=chosen.time)
    try:
        return EndState.parse(chosen.state, answer=answer, answer_recorded=told, time=chosen.time)
    except UnreadableEndStateError:
        return EndState(missing="end_state_unreadable", answer=answer, answer_recorded=told, time=chosen.time)


def filled_in(check: CheckSpec, values: Values) -> CheckSpec | Check:
    """Return a check with its placeholders filled in, or that it cannot run."""
    try:
        return filled_check(check, values)
    except PlaceholderError as error:
        return Check(
            name=f"{check.kind} check",
            passed=None,
            reason=error.reason,
            seen=f"{{{error.name}}}",
            kind=check.kind,
            definition=check.definition,
            weight=check.weight,
            required=check.required,
        )
