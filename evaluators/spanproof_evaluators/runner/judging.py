"""Judging: the outcome of a trial by its task's checks, and whether that solves it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.assessments import LeftOut
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Suite
from spanproof_evaluators.runner.checking import outcome_by_checks
from spanproof_evaluators.runner.outcome_sources import RECORDED_CHANGES, STATE, OutcomeSource, outcome_by

RUN_LABEL: Final = "suite_run"
"""The label of a trial that ``spanproof suite run`` made: it was judged while its world was there."""


def run_source(suite: Suite) -> str:
    """Return the name of the source whose words are the verdicts of runs of a suite."""
    return f"{suite.id} (run)"


def left_out(trial: Trial) -> LeftOut | None:
    """Return why a trial leaves the denominators: the infrastructure broke it, it waits for somebody, it was stopped.

    A wait counts only with owner, decision, deadline and a resumable state, and until its deadline.
    """
    if trial.status_reason == "infrastructure":
        return "infrastructure"
    if trial.status == "waiting" and trial.waits:
        last = max(trial.waits, key=lambda wait: wait.time)
        if last.legitimate and last.deadline is not None and trial.ended_at <= last.deadline:
            return "waiting"
    if trial.status == "aborted" and trial.status_reason == "cancelled":
        return "cancelled"
    return None


def outcome_of(trial: Trial, suite: Suite | None, sources: Sequence[OutcomeSource] = ()) -> Outcome:
    """Return what became of a trial's task: by the suite's checks, and by what else was asked."""
    return outcome_by(every_source(suite, sources), trial)


def every_source(suite: Suite | None, sources: Sequence[OutcomeSource]) -> tuple[OutcomeSource, ...]:
    """Return the suite's checks, where there is a suite, and what else was asked."""
    return (*([SuiteChecks(suite)] if suite is not None else []), *sources)


@dataclass(frozen=True, slots=True)
class SuiteChecks:
    """The checks of a suite's tasks, over the end states that were recorded."""

    suite: Suite

    @property
    def name(self) -> str:
        """The suite's id."""
        return self.suite.id

    @property
    def declared(self) -> bool:
        """True: a person wrote the suite."""
        return True

    def outcome(self, trial: Trial) -> Outcome:
        """Return what the task's checks say of the recorded end state. Nothing recorded is no failure."""
        return _by_checks(trial, self.suite)


def _by_checks(trial: Trial, suite: Suite) -> Outcome:
    task = suite.task(trial.task_id)
    if task is None:
        return Outcome.unavailable("no_task" if trial.task_id is None else "task_not_in_suite")
    name = f"{suite.id}/{task.id}"
    if not task.checks:
        return Outcome.unavailable("no_verifier")
    if RUN_LABEL in trial.labels:
        return Outcome.unavailable("judged_when_run", verifier=name)
    reason = left_out(trial)
    if reason in ("infrastructure", "waiting"):
        return Outcome.unavailable(reason, verifier=name)
    return outcome_by_checks(
        trial,
        task.checks,
        name=name,
        definition=suite.hash,
        destinations=suite.destinations,
        base=suite.base,
        pass_score=task.pass_score,
    )


def solved(trial: Trial, outcome: Outcome, results: Sequence[Result], hard: frozenset[str]) -> tuple[bool | None, str]:
    """Return whether a trial is solved, and why: finished within its budget, constraints kept, outcome verified.

    A conjunction of three values: one no is a no, else one unknown leaves it open (design.md, "solved").
    """
    reason = left_out(trial)
    if reason:
        return None, reason
    conditions: list[tuple[bool | None, str]] = [_finished(trial)]
    for result in results:
        if result.evaluator in hard:
            kept = {"pass": True, "fail": False}.get(result.state)
            if kept is None and result.reason == "receipt_missing" and _as_meant(outcome):
                continue
            conditions.append((kept, f"{result.evaluator}: {result.explanation or result.reason}"))
    verdict = {"verified": True, "failed": False}.get(outcome.state)
    conditions.append((verdict, f"outcome {outcome.state}: {outcome.reason}"))
    for value in (False, None):
        found = [why for holds, why in conditions if holds is value]
        if found:
            return value, "; ".join(found)
    return True, "finished within budget, outcome verified"


def _as_meant(outcome: Outcome) -> bool:
    """Return whether the whole recorded world changed as was meant and in nothing else.

    Then nothing is in it twice: what a rule left open for want of receipts is settled by what it would have changed.
    """
    seen = any(check.name == STATE and check.passed for check in outcome.checks)
    return outcome.state == "verified" and outcome.verifier == RECORDED_CHANGES and seen


def aborted(trial: Trial, results: Sequence[Result], *, evaluated: bool = True) -> bool | None:
    """Return whether a trial was stopped before it was done: by its own budget, or by somebody.

    Before the rules were asked, only what the trace itself tells is known.
    """
    if trial.status_reason == "infrastructure":
        return False
    if trial.status == "aborted" or trial.status_reason == "budget_exhausted":
        return True
    budgets = next((result for result in results if result.evaluator == "budgets"), None)
    if budgets is None:
        return False if evaluated else None
    return {"fail": True, "pass": False}.get(budgets.state)


def _finished(trial: Trial) -> tuple[bool | None, str]:
    """Return whether the trial ran to its end."""
    told = trial.status + (f" ({trial.status_reason})" if trial.status_reason else "")
    if trial.status_reason == "budget_exhausted":
        return False, told
    match trial.status:
        case "complete":
            return True, told
        case "aborted" | "error":
            return False, told
        case "incomplete" | "waiting":
            return None, told
