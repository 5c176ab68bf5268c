"""Assessing: rules and verifiers over trials, their words into the store and out of it again."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from spanproof_collector.model.filters import Filter
from spanproof_collector.model.trials import Trial
from spanproof_collector.store import Store
from spanproof_collector.trials import Settling, Unit, read_trials
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Suite
from spanproof_evaluators.rules import RULES, false_success
from spanproof_evaluators.runner import stored
from spanproof_evaluators.runner.judging import aborted, left_out, outcome_of, solved
from spanproof_evaluators.runner.outcome_sources import OutcomeSource

HARD = frozenset(rule.name for rule in RULES if rule.hard)
"""The rules that can fail a trial."""

TRIALS_A_WRITE = 200


def assess_trial(trial: Trial, suite: Suite | None, sources: Sequence[OutcomeSource] = ()) -> Assessment:
    """Return what the rules, the verifier of the trial's task and other sources of an outcome say of one trial."""
    task = suite.task(trial.task_id) if suite else None
    outcome = outcome_of(trial, suite, sources)
    found = [rule.evaluate(trial, task) for rule in RULES]
    found.append(false_success(trial, outcome))
    return _assessment(trial, suite, outcome, tuple(result for result in found if result is not None))


def evaluate(
    store: Store,
    wanted: Filter,
    suite: Suite | None,
    *,
    sources: Sequence[OutcomeSource] = (),
    unit: Unit = "session",
    at: int | None = None,
    settling: Settling | None = None,
    left: Callable[[Trial], None] = lambda trial: None,
) -> Iterator[Assessment]:
    """Yield every trial's assessment, its results written to the store before it is handed on.

    Args:
        store: where trials are and results go.
        wanted: which trials.
        suite: what the trials' tasks demand.
        sources: who else can say what became of a trial's task.
        unit: ``trace`` splits sessions by trace.
        at: when the evaluation took place, in Unix nanoseconds; now, where nothing is given.
        settling: only trials that are settled by it are evaluated; ``None`` evaluates all.
        left: told of each trial that is not, and is left for later.
    """
    moment = time.time_ns() if at is None else at
    now = time.time_ns()
    batch: list[Assessment] = []
    for trial in read_trials(store, wanted, unit=unit):
        settled = (settling or Settling()).settled(trial, now)
        if settling is not None and not settled:
            left(trial)
            continue
        batch.append(replace(assess_trial(trial, suite, sources), settled=settled))
        if len(batch) == TRIALS_A_WRITE:
            yield from _written(store, batch, suite, moment)
            batch = []
    yield from _written(store, batch, suite, moment)


def assess(
    store: Store,
    wanted: Filter,
    suite: Suite | None = None,
    *,
    unit: Unit = "session",
    settling: Settling | None = None,
) -> Iterator[Assessment]:
    """Yield every trial with what the store says of it; nothing is run again.

    Results that were found on other evidence (a span came later) or by another version of the suite are no results on
    this trial: the outcome is ``unavailable`` and says that the trial waits to be evaluated.
    """
    rule, now = settling or Settling(), time.time_ns()
    batch: list[Trial] = []
    for trial in read_trials(store, wanted, unit=unit):
        batch.append(trial)
        if len(batch) == TRIALS_A_WRITE:
            yield from _read(store, batch, suite, rule, now)
            batch = []
    yield from _read(store, batch, suite, rule, now)


def _written(store: Store, batch: Sequence[Assessment], suite: Suite | None, at: int) -> Sequence[Assessment]:
    """Return the assessments after their results are durable."""
    store.write_results([row for one in batch for row in stored.rows(one, suite, at)])
    return batch


def _read(store: Store, trials: Sequence[Trial], suite: Suite | None, rule: Settling, now: int) -> Iterator[Assessment]:
    """Yield the trials with their stored results."""
    if not trials:
        return
    found = stored.by_trial(store.read_results([stored.key(trial) for trial in trials]))
    for trial in trials:
        outcome, results = stored.read(found.get((trial.project, stored.key(trial)), {}), trial, suite)
        yield replace(_assessment(trial, suite, outcome, results), settled=rule.settled(trial, now))


def _assessment(trial: Trial, suite: Suite | None, outcome: Outcome, results: tuple[Result, ...]) -> Assessment:
    """Return the trial with what follows from outcome and results."""
    settled, why = solved(trial, outcome, results, HARD)
    evaluated = bool(results) or outcome.reason not in stored.NOT_EVALUATED
    if not evaluated:
        settled, why = (settled, why) if settled is False else (None, outcome.reason)
    claimed = trial.claim.state == "success"
    return Assessment(
        trial=trial,
        task=suite.task(trial.task_id) if suite else None,
        outcome=outcome,
        results=results,
        solved=settled,
        solved_reason=why,
        false_success={"failed": True, "verified": False}.get(outcome.state) if claimed else None,
        left_out=left_out(trial),
        aborted=aborted(trial, results, evaluated=evaluated),
        evidence=stored.evidence_of(trial),
    )
