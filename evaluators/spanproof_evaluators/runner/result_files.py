"""What a file of results says as measures: recounted from its rows."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.model.result_files import ResultFile
from spanproof_evaluators.model.result_files._format import INFRASTRUCTURE, AttemptRow, ScoreSummary
from spanproof_evaluators.model.suites import REFUSALS
from spanproof_evaluators.runner.measuring._amounts import Amount, amounts
from spanproof_evaluators.runner.measuring._rates import Counted, rate
from spanproof_evaluators.runner.measuring.reliability import Attempts, pass_at_over, pass_hat_over

_NOBODY: Final = "no verified outcome"


def measures_of(found: ResultFile) -> dict[str, Measure]:
    """Return the measures that a file's rows give, by their names."""
    if found.trajectories:
        return _courses(found)
    if not found.attempts:
        return {}
    rows = found.attempts
    judged = [row for row in rows if row.passed is not None]
    excluded = Counter(INFRASTRUCTURE for row in rows if row.reason == INFRASTRUCTURE)
    unknown = len(rows) - len(judged) - excluded.total()
    told = {
        "solve_rate": rate(
            [_counted(row, row.passed is True) for row in judged],
            unit="trial",
            empty="no attempt has a verdict",
            unavailable=unknown,
            excluded=excluded,
        )
    }
    first = [row for row in judged if row.attempt == 0]
    if first and len({row.attempt for row in rows}) > 1:
        told["first_attempt"] = rate([_counted(row, row.passed is True) for row in first], unit="task", empty="none")
    if any(row.aborted is not None for row in rows):
        known = [row for row in rows if row.aborted is not None]
        told["aborted_rate"] = rate(
            [_counted(row, row.aborted is True) for row in known],
            unit="trial",
            empty="no attempt says how it ended",
            unavailable=len(rows) - len(known) - excluded.total(),
            excluded=excluded,
        )
    told |= _spent(rows, judged)
    tasks = _tasks(rows)
    told |= pass_at_over(tasks, excluded) | pass_hat_over(tasks, excluded)
    scores = [Amount(cluster=row.task, value=row.score, id=_id(row)) for row in rows if row.score is not None]
    if scores:
        total = sum(one.value for one in scores)
        told["mean_score"] = Measure(
            value=total / len(scores),
            unit="trial",
            numerator=total,
            denominator=len(scores),
            excluded=dict(excluded),
            interval_method="none: scores of one's own making",
            n_units=len(scores),
            n_clusters=len({one.cluster for one in scores}),
            note="a mean of parts: it says nothing of what has to be there",
        )
    return told


def _spent(rows: Sequence[AttemptRow], judged: Sequence[AttemptRow]) -> dict[str, Measure]:
    """Return what the attempts took, of all rows over those that succeeded; never over one where none did."""
    solved = [row for row in judged if row.passed]
    told: dict[str, Measure] = {}
    if any(row.tokens is not None for row in rows):
        spent = sum(row.tokens or 0 for row in rows)
        gaps = sum(row.tokens is None for row in rows)
        told["tokens_per_verified_outcome"] = Measure(
            value=spent / len(solved) if solved and not gaps else None,
            unit="token",
            numerator=spent,
            denominator=len(solved),
            unavailable=gaps,
            bounds=(spent / len(solved), None) if solved and gaps else None,
            n_units=len(rows),
            n_clusters=len({row.task for row in rows}),
            reason=None if solved and not gaps else _NOBODY if not solved else f"{gaps} attempts tell no tokens",
            per="verified outcome",
        )
    steps = [Amount(cluster=row.task, value=row.steps, id=_id(row)) for row in solved if row.steps is not None]
    if any(row.steps is not None for row in rows):
        told["steps_when_solved"] = amounts(
            steps, unit="call", per="trial", empty=_NOBODY, unavailable=len(solved) - len(steps)
        )
    return told


def extrapolated(found: ResultFile, k: int) -> dict[str, float]:
    """Return the plug-in estimates for k attempts, means over tasks: biased, and so never called a measure (R061)."""
    from spanproof_evaluators.stats.reliability import extrapolated_pass_at_k, extrapolated_pass_hat_k

    rates = [task.solved / task.judged for task in _tasks(found.attempts) if task.judged]
    if not rates:
        return {}
    return {
        f"pass_at_{k}_plug_in": sum(extrapolated_pass_at_k(p, k) for p in rates) / len(rates),
        f"pass_hat_{k}_plug_in": sum(extrapolated_pass_hat_k(p, k) for p in rates) / len(rates),
    }


def as_rows_report(found: ResultFile) -> dict[str, Plain]:
    """Return the five figures of the rows by their own names. What nothing was solved for has none (R008, R009)."""
    told = measures_of(found)
    names = {
        "losningsgrad": "solve_rate",
        "pass_at_1": "first_attempt",
        "kostnad_per_lyckad": "tokens_per_verified_outcome",
        "medelsteg_lyckade": "steps_when_solved",
        "avbrutna": "aborted_rate",
    }
    if "first_attempt" not in told and "solve_rate" in told:
        names["pass_at_1"] = "solve_rate"
    return {
        name: float(told[of].value) if of in told and told[of].value is not None else None  # type: ignore[arg-type]
        for name, of in names.items()
    }


def as_eval_report(found: ResultFile, timestamp: str) -> dict[str, Plain]:
    """Return a report by name in the shape that such files have. What broke has no verdict, and no score of 0.0."""
    scored = [row.score for row in found.attempts if row.score is not None]
    return {
        "timestamp": timestamp,
        "total": len(found.attempts),
        "passed": sum(row.passed is True for row in found.attempts),
        "avg_score": round(sum(scored) / len(scored), 3) if scored else None,
        "results": {
            row.task: {"passed": row.passed, "score": row.score, "details": row.details} for row in found.attempts
        },
    }


def _courses(found: ResultFile) -> dict[str, Measure]:
    rows = found.trajectories
    unit = [(str(place), row) for place, row in enumerate(rows)]
    hits = {
        "clean_trajectories": [row.clean for row in rows],
        "trials_with_repeats": [row.repeats > 0 for row in rows],
        "trials_with_errors": [row.errors > 0 for row in rows],
    }
    told = {
        name: rate(
            [Counted(cluster=at, hit=hit, id=at) for (at, _), hit in zip(unit, each, strict=True)],
            unit="trial",
            empty="no trajectory",
            census=True,
        )
        for name, each in hits.items()
    }
    told["tool_calls"] = amounts(
        [Amount(cluster=at, value=row.steps, id=at) for at, row in unit], unit="call", per="trial", empty="none"
    )
    return told


def _tasks(rows: Sequence[AttemptRow]) -> list[Attempts]:
    groups: defaultdict[str, list[bool | None]] = defaultdict(list)
    for row in rows:
        if row.reason != INFRASTRUCTURE:
            groups[row.task].append(row.passed)
    return [Attempts.of(values) for _, values in sorted(groups.items())]


def _counted(row: AttemptRow, hit: bool) -> Counted:
    return Counted(cluster=row.task, hit=hit, id=_id(row))


def _id(row: AttemptRow) -> str:
    return f"{row.task}#{row.attempt}"


OVERALL_DROP: Final = 2.0
CATEGORY_DROP: Final = 5.0
REFUSAL_FLOOR: Final = 90.0
STEPS_GROWTH: Final = 1.3
TOKENS_GROWTH: Final = 1.5
"""The founding thresholds, in points of a percent and as factors (R103). Each is passed only by more than that."""


def point_gate(new: ScoreSummary, old: ScoreSummary) -> tuple[bool | None, list[str]]:
    """Return whether a summary passes against a baseline by the founding point rules, and why not.

    ``None`` where a rule cannot be asked: a category that is not there passes nothing (R104). A difference of floats
    is compared after rounding to a billionth: 84.0 - 86.0 is a drop of exactly 2 points.
    """
    reasons: list[str] = []
    open_: list[str] = []

    def fell(name: str, now: float, before: float, limit: float) -> None:
        drop = round(now - before, 9)
        if drop < -limit:
            reasons.append(f"{name} {before:.1f} -> {now:.1f} ({drop:+.1f} points)")

    fell("overall", new.overall, old.overall, OVERALL_DROP)
    for name, before in old.categories.items():
        if name in new.categories:
            fell(f"category {name}", new.categories[name], before, CATEGORY_DROP)
        else:
            open_.append(f"category {name} is not in the new results")
    refusals = [share for name, share in new.categories.items() if name in REFUSALS]
    if not refusals:
        open_.append("no category of refusals: nobody knows whether the agent guesses")
    reasons += [f"refusals {one:.1f} % < {REFUSAL_FLOOR:.1f} %" for one in refusals if one < REFUSAL_FLOOR]
    for what, now, then, limit in (
        ("steps", new.mean_steps, old.mean_steps, STEPS_GROWTH),
        ("tokens", new.mean_tokens, old.mean_tokens, TOKENS_GROWTH),
    ):
        if now is None or then is None:
            if then is not None:
                open_.append(f"mean {what} are not in the new results")
        elif round(now - then * limit, 9) > 0:
            reasons.append(f"{what} {then:.1f} -> {now:.1f}, more than {limit:g} times as many")
    if reasons:
        return False, reasons + open_
    return (None, open_) if open_ else (True, [])


def without_verdict(row: AttemptRow, why: str) -> AttemptRow:
    """Return a row of an attempt that something else broke than the agent."""
    return replace(row, passed=None, reason=INFRASTRUCTURE, score=None, aborted=None, details=why)
