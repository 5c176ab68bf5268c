"""Assessing: rules and verifiers over trials, their words into the store and out of it again."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from spanproof_collector.model.filters import Filter
from spanproof_collector.model.results import ResultRow
from spanproof_collector.model.tool_catalogue import EMPTY, ToolCatalogue
from spanproof_collector.model.trials import Trial
from spanproof_collector.store import Store
from spanproof_collector.trials import Component, Settling, Unit, read_components, read_trials
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.outcomes import Outcome, Word
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Suite
from spanproof_evaluators.rules import RULES, false_success
from spanproof_evaluators.rules.false_success import NAME as FALSE_SUCCESS
from spanproof_evaluators.runner import stored
from spanproof_evaluators.runner.attacking import with_attack
from spanproof_evaluators.runner.judging import aborted, every_source, left_out, run_source, solved
from spanproof_evaluators.runner.outcome_sources import DefinedSource, OutcomeSource, decided, nothing_asked, words_of
from spanproof_evaluators.runner.projecting import Projecting

HARD = frozenset(rule.name for rule in RULES if rule.hard)
"""The rules that can fail a trial."""

TRIALS_A_WRITE = 200


Kept = Callable[[Trial, Sequence[str]], None]
"""Told of a trial for which words of earlier evaluations still stand, and of whose they are."""


def assess_trial(
    trial: Trial, suite: Suite | None, sources: Sequence[OutcomeSource] = (), *, judges: tuple[Result, ...] = ()
) -> Assessment:
    """Return what the rules, the verifier of the trial's task and other sources of an outcome say of one trial.

    What ``judges`` said stands beside it and decides nothing.
    """
    assessment, _, _ = _judged(trial, suite, sources, None, judges)
    return assessment


def _judged(
    trial: Trial,
    suite: Suite | None,
    sources: Sequence[OutcomeSource],
    earlier: stored.Earlier | None,
    judges: tuple[Result, ...] = (),
) -> tuple[Assessment, stored.Basis, tuple[str, ...]]:
    """Return what is said of one trial, what that rests on, and whose earlier words still stand.

    An earlier word stands where the evidence is the same and nobody of that name was asked anew. A suite's word goes
    with what the rules said of its tasks: both stand where no suite is given now.
    """
    asked = every_source(suite, sources)
    names = {source.name for source in asked}
    words = words_of(asked, trial)
    standing: tuple[Word, ...] = ()
    basis = stored.Basis.of(words, suite)
    results: tuple[Result, ...] | None = None
    if earlier is not None:
        before = earlier.basis
        standing = tuple(
            word
            for word in before.words
            if word.source not in names
            and not nothing_asked(word.outcome)
            and (suite is None or word.source != before.suite)
            and not (suite is not None and word.source == run_source(suite) and word.outcome.definition != suite.hash)
        )
        if suite is None and before.suite is not None:
            basis = before
            results = tuple(result for result in earlier.results if result.evaluator != FALSE_SUCCESS)
        basis = replace(basis, words=(*words, *standing))
    outcome = decided(basis.words)
    if results is None:
        task = suite.task(trial.task_id) if suite else None
        said = tuple(found for rule in RULES if (found := rule.evaluate(trial, task)) is not None)
        results = with_attack(said, trial, suite)
    claimed = false_success(trial, outcome)
    everything = results if claimed is None else (*results, claimed)
    return _assessment(trial, suite, outcome, everything, judges), basis, tuple(word.source for word in standing)


def evaluate(
    store: Store,
    wanted: Filter,
    suite: Suite | None,
    *,
    sources: Sequence[OutcomeSource] = (),
    unit: Unit = "session",
    at: int | None = None,
    settling: Settling | None = None,
    catalogue: ToolCatalogue = EMPTY,
    left: Callable[[Trial], None] = lambda trial: None,
    kept: Kept = lambda trial, sources: None,
) -> Iterator[Assessment]:
    """Yield every trial's assessment, its results written to the store before it is handed on.

    What earlier evaluations of the same evidence found by sources that are not asked now stands, and counts.

    Args:
        store: where trials are and results go.
        wanted: which trials.
        suite: what the trials' tasks demand.
        sources: who else can say what became of a trial's task.
        unit: ``trace`` splits sessions by trace.
        at: when the evaluation took place, in Unix nanoseconds; now, where nothing is given.
        settling: only trials that are settled by it are evaluated; ``None`` evaluates all.
        catalogue: what people say of tools.
        left: told of each trial that is not, and is left for later.
        kept: told of each trial for which earlier words stand.
    """
    now = time.time_ns()
    moment = now if at is None else at
    rule = settling or Settling()
    rows = Projecting(store, unit, moment, rule)
    batch: list[Component] = []

    def judged() -> Iterator[Assessment]:
        """Yield what is said of the batch, which is empty then."""
        asked: list[tuple[Trial, bool]] = []
        for component in batch:
            for member in component.wanted:
                settled = rule.settled(member.trial, now)
                if settling is None or settled:
                    asked.append((member.trial, settled))
                else:
                    left(member.trial)
        found = stored.by_trial(store.read_results([stored.key(trial) for trial, _ in asked])) if asked else {}
        written: list[ResultRow] = []
        assessments: list[Assessment] = []
        for trial, settled in asked:
            said = found.get((trial.project, stored.key(trial)), {})
            judges = stored.judged(said, trial, suite)
            one, basis, standing = _judged(trial, suite, sources, stored.earlier(said, trial), judges)
            if standing:
                kept(trial, standing)
            assessments.append(replace(one, settled=settled))
            written += stored.rows(one, basis, moment)
        evidence = {id(one.trial): one.evidence for one in assessments}
        for component in batch:
            rows.add(component, evidence)
        batch.clear()
        rows.write()
        store.write_results(written)
        del asked, written, evidence
        while assessments:
            yield assessments.pop(0)

    for component in read_components(store, wanted, unit=unit, catalogue=catalogue):
        if not component.wanted:
            continue
        batch.append(component)
        if sum(len(one.members) for one in batch) >= TRIALS_A_WRITE:
            yield from judged()
    yield from judged()


def judge_again(
    store: Store, trials: Sequence[Trial], suite: Suite | None, sources: Sequence[OutcomeSource]
) -> Iterator[Assessment]:
    """Yield trials with what rules and sources of an outcome say of them now; nothing is stored.

    Words of sources that cannot be asked again stand where the evidence is the same, as ``evaluate`` lets them.
    """
    if not trials:
        return
    found = stored.by_trial(store.read_results([stored.key(trial) for trial in trials]))
    for trial in trials:
        rows = found.get((trial.project, stored.key(trial)), {})
        one, _, _ = _judged(trial, suite, sources, stored.earlier(rows, trial), stored.judged(rows, trial, suite))
        yield one


def assess(
    store: Store,
    wanted: Filter,
    suite: Suite | None = None,
    *,
    unit: Unit = "session",
    settling: Settling | None = None,
    catalogue: ToolCatalogue = EMPTY,
    verifiers: Sequence[DefinedSource] = (),
) -> Iterator[Assessment]:
    """Yield every trial with what the store says of it; nothing is run again.

    Results that were found on other evidence (a span came later) or by another version of the suite or of one of the
    ``verifiers`` are no results on this trial: the outcome is ``unavailable`` and says that the trial waits to be
    evaluated.
    """
    rule, now = settling or Settling(), time.time_ns()
    batch: list[Trial] = []
    for trial in read_trials(store, wanted, unit=unit, catalogue=catalogue):
        batch.append(trial)
        if len(batch) == TRIALS_A_WRITE:
            yield from _read(store, batch, suite, verifiers, rule, now)
            batch = []
    yield from _read(store, batch, suite, verifiers, rule, now)


def _read(
    store: Store,
    trials: Sequence[Trial],
    suite: Suite | None,
    verifiers: Sequence[DefinedSource],
    rule: Settling,
    now: int,
) -> Iterator[Assessment]:
    """Yield the trials with their stored results."""
    if not trials:
        return
    found = stored.by_trial(store.read_results([stored.key(trial) for trial in trials]))
    for trial in trials:
        rows = found.get((trial.project, stored.key(trial)), {})
        outcome, results = stored.read(rows, trial, suite, verifiers)
        judges = stored.judged(rows, trial, suite)
        yield replace(_assessment(trial, suite, outcome, results, judges), settled=rule.settled(trial, now))


def _assessment(
    trial: Trial, suite: Suite | None, outcome: Outcome, results: tuple[Result, ...], judges: tuple[Result, ...]
) -> Assessment:
    """Return the trial with what follows from outcome and results. From what judges said nothing follows."""
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
        judges=judges,
        solved=settled,
        solved_reason=why,
        false_success={"failed": True, "verified": False}.get(outcome.state) if claimed else None,
        left_out=left_out(trial),
        aborted=aborted(trial, results, evaluated=evaluated),
        evidence=stored.evidence_of(trial),
    )
