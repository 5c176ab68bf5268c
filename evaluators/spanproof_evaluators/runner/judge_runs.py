"""A run of judges over stored trials: what is asked, and what the answers are stored as.

The store is read first and written last. While judges are asked nobody holds it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from spanproof_collector.model.filters import Filter
from spanproof_collector.model.results import ResultRow
from spanproof_collector.model.tool_catalogue import EMPTY, ToolCatalogue
from spanproof_collector.model.trials import Trial
from spanproof_collector.store import Store
from spanproof_collector.trials import Settling, Unit, read_trials
from spanproof_evaluators.errors import SameFamilyError
from spanproof_evaluators.judges.asking import Work
from spanproof_evaluators.judges.families import families
from spanproof_evaluators.judges.journal import Key
from spanproof_evaluators.model.canonical import Plain, digest
from spanproof_evaluators.model.judge_sources import JudgeSources
from spanproof_evaluators.model.judgements import (
    FAMILY_UNKNOWN,
    SAME_FAMILY,
    Judge,
    Judgement,
    as_json,
)
from spanproof_evaluators.model.panels import DISAGREEMENT, PanelVerdict, panel
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.rubrics import Rubric
from spanproof_evaluators.model.suites import Suite
from spanproof_evaluators.runner import stored
from spanproof_evaluators.runner.judge_inputs import NotJudged, judge_input

_WRITTEN_AT_ONCE: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One trial and judge: what is to be asked, or why nothing is. It holds nothing of the trial but its names."""

    project: str
    trial_key: str
    trial_id: str
    evidence: str
    judge: Judge
    work: Work | None
    not_judged: NotJudged | None = None
    flags: tuple[str, ...] = ()


def plan(
    store: Store,
    wanted: Filter,
    rubric: Rubric,
    judges: Sequence[Judge],
    *,
    suite: Suite | None = None,
    declared: JudgeSources | None = None,
    allowed: frozenset[str] = frozenset(),
    unit: Unit = "session",
    settling: Settling | None = None,
    catalogue: ToolCatalogue = EMPTY,
    now: int,
) -> tuple[list[Planned], int]:
    """Return what is to be asked of every trial that is settled, and how many are not.

    Args:
        store: where the trials are.
        wanted: which trials.
        rubric: what is asked.
        judges: who is asked.
        suite: the tasks' texts and sources.
        declared: texts and sources for tasks that no suite has.
        allowed: families, or models by name, that may judge agents of their own family.
        unit: ``trace`` splits sessions by trace.
        settling: when a trial is settled; ``None``: all are.
        catalogue: what people say of tools.
        now: in Unix nanoseconds.

    Raises:
        SameFamilyError: every trial would be judged by a model of its agent's family, and none is allowed to.
    """
    found: list[Planned] = []
    left = 0
    for trial in read_trials(store, wanted, unit=unit, catalogue=catalogue):
        if settling is not None and not settling.settled(trial, now):
            left += 1
            continue
        given = judge_input(trial, rubric, suite, declared)
        evidence = stored.evidence_of(trial)
        for judge in judges:
            refused, flags = may_judge(judge, trial, allowed)
            nothing = given if isinstance(given, NotJudged) else refused
            found.append(
                Planned(
                    project=trial.project,
                    trial_key=stored.key(trial),
                    trial_id=trial.trial_id,
                    evidence=evidence,
                    judge=judge,
                    work=None
                    if nothing is not None or isinstance(given, NotJudged)
                    else Work(judge=judge, rubric=rubric, given=given),
                    not_judged=nothing,
                    flags=flags,
                )
            )
    if found and all(one.not_judged is not None and one.not_judged.reason == "same_family" for one in found):
        named = sorted({str(one.judge.family) for one in found})
        raise SameFamilyError(
            f"the judge is of the agents' own model family ({', '.join(named)}) on every trial: models are lenient "
            f"with their relatives. Take a judge of another family, or say --allow-same-family {named[0]}: every "
            "report will show it"
        )
    return found, left


def may_judge(judge: Judge, trial: Trial, allowed: frozenset[str]) -> tuple[NotJudged | None, tuple[str, ...]]:
    """Return why a judge may not judge an agent, and what has to be shown where it does."""
    agents = families(trial.models) or frozenset({None})
    if judge.family is None or agents == {None}:
        return None, (FAMILY_UNKNOWN,)
    unknown = (FAMILY_UNKNOWN,) if None in agents else ()
    if judge.family not in agents:
        return None, unknown
    if {judge.family, judge.model, judge.name} & allowed:
        return None, (SAME_FAMILY, *unknown)
    return NotJudged(reason="same_family", explanation=f"judge and agent are both of the family {judge.family}"), ()


def words(
    planned: Iterable[Planned], verdicts: Mapping[Key, Judgement]
) -> list[tuple[Planned, Result, Judgement | None]]:
    """Return every judge's word on every trial; what the budget did not reach has none.

    Where judges of a panel differ, each of their words is labeled ``disagreement``.
    """
    everything = list(planned)
    differing = {one.input_hash for one in panels(everything, verdicts) if one.disagrees}
    found: list[tuple[Planned, Result, Judgement | None]] = []
    for one in everything:
        if one.not_judged is not None:
            told = Result.unavailable(
                one.judge.evaluator,
                kind="judge",
                version=one.judge.hash,
                reason=one.not_judged.reason,
                explanation=one.not_judged.explanation,
            )
            found.append((one, told, None))
        elif one.work is not None and (verdict := verdicts.get(one.work.key)) is not None:
            verdict = replace(verdict, flags=one.flags)
            found.append((one, _result(verdict, one.work.given.hash in differing), verdict))
    return found


def panels(planned: Iterable[Planned], verdicts: Mapping[Key, Judgement]) -> list[PanelVerdict]:
    """Return what the judges say together, input by input; nothing where there is one judge alone."""
    everything = [one.work.key for one in planned if one.work is not None]
    if len({judge_hash for judge_hash, _ in everything}) < 2:
        return []
    return panel(verdicts[key] for key in dict.fromkeys(everything) if key in verdicts)


def store_words(
    store: Store,
    found: Sequence[tuple[Planned, Result, Judgement | None]],
    together: Sequence[PanelVerdict],
    *,
    rubric: Rubric,
    suite: Suite | None,
    at: int,
) -> None:
    """Write every word, and what panels say, as results of kind ``judge``."""
    rows: list[ResultRow] = []
    by_input = {one.input_hash: one for one in together}
    panels_told: set[str] = set()
    for one, result, verdict in found:
        told: dict[str, Plain] = {"judgement": as_json(verdict)} if verdict is not None else {}
        details = stored.judge_details(one.evidence, suite, told)
        rows.append(stored.judge_row(one.project, one.trial_key, replace(result, details=details), at))
        several = by_input.get(one.work.given.hash) if one.work is not None else None
        if several is not None and one.trial_key not in panels_told:
            panels_told.add(one.trial_key)
            details = stored.judge_details(one.evidence, suite, {"judges": [j.judge.hash for j in several.judgements]})
            rows.append(
                stored.judge_row(
                    one.project, one.trial_key, replace(panel_result(rubric, several), details=details), at
                )
            )
    for start in range(0, len(rows), _WRITTEN_AT_ONCE):
        store.write_results(rows[start : start + _WRITTEN_AT_ONCE])


def panel_result(rubric: Rubric, together: PanelVerdict) -> Result:
    """Return what a panel says of one input. Where its judges differ, that is no verdict: people decide."""
    said = ", ".join(f"{one.judge.name} {one.state}" for one in together.judgements)
    return Result(
        evaluator=f"panel:{rubric.id}",
        version=digest(sorted(one.judge.hash for one in together.judgements)),
        kind="judge",
        state=together.state,
        label=DISAGREEMENT if together.disagrees else None,
        reason=together.reason if together.state != "pass" else None,
        explanation=said + (f"; they differ on {', '.join(together.criteria)}" if together.criteria else ""),
    )


def _result(verdict: Judgement, differs: bool) -> Result:
    return Result(
        evaluator=verdict.judge.evaluator,
        version=verdict.judge.hash,
        kind="judge",
        state=verdict.state,
        label=DISAGREEMENT if differs else None,
        reason=verdict.reason,
        explanation=_explanation(verdict),
    )


def _explanation(verdict: Judgement) -> str:
    """Return a verdict in a line: what did not pass and why, and what has to be shown with it."""
    parts = [verdict.explanation] if verdict.explanation else []
    for one in verdict.criteria:
        if one.means in ("failed", "abstained"):
            parts.append(f"{one.criterion}: {one.answer}" + (f" ({one.rationale})" if one.rationale else ""))
    if verdict.state == "pass" and not parts:
        parts.append(f"{sum(one.means == 'passed' for one in verdict.criteria)} criteria passed")
    if SAME_FAMILY in verdict.flags:
        parts.append(f"FLAG: judge of the agent's own model family ({verdict.judge.family}), allowed by name")
    if FAMILY_UNKNOWN in verdict.flags:
        parts.append("FLAG: the model family of judge or agent is not known")
    return "; ".join(parts)
