"""Claims against outcomes: declared completions that failed their check (evaluators.md B06)."""

from dataclasses import replace
from typing import Final

from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.runner.measuring._rates import Counted, Trials, inside, interval_of, rate, task_key

IMPLICIT: Final = "implicit_"
"""How the names of rules begin that take a delivered answer for a claim."""


def false_success_rate(trials: Trials) -> Measure:
    """Return failed over declared, unavailable ones in the denominator as in the contract table (R032e, B06)."""
    return _failed_of([one for one in trials if one.declared], trials)


def explicit_false_success_rate(trials: Trials) -> Measure:
    """Return the same over what was said in so many words: without answers that only imply that the task is done (B31).

    Whether an answer without a word on the task claims success is the reader's guess; this leaves it out.
    """
    said = [one for one in trials if one.declared and not one.trial.claim.rule.startswith(IMPLICIT)]
    implied = sum(one.declared for one in trials) - len(said)
    found = _failed_of(said, trials)
    return replace(found, excluded={**found.excluded, "implicit_claim": implied} if implied else found.excluded)


def normal_end_false_success_rate(trials: Trials) -> Measure:
    """Return the same where every run that ended by itself counts as a claim: what the claim rules could miss at most.

    Trials that declared a failure or a gap in a structured way are left out: they said so.
    """
    ended = [
        one
        for one in inside(trials, "waiting", "infrastructure", "cancelled")
        if one.trial.status == "complete" and not (one.trial.claim.source == "declared" and not one.declared)
    ]
    return replace(_failed_of(ended, ()), note="every run that ended by itself taken for a claim")


def _failed_of(declared: Trials, trials: Trials) -> Measure:
    """Return failed over declared; ``trials`` are those whose claims could not be read, counted beside."""
    units = [
        Counted(cluster=task_key(one), hit=one.outcome.state == "failed", id=one.trial.trial_id) for one in declared
    ]
    worst = [
        Counted(cluster=unit.cluster, hit=one.outcome.state != "verified", id=unit.id)
        for one, unit in zip(declared, units, strict=True)
    ]
    failed, total = sum(unit.hit for unit in units), len(units)
    gaps = sum(unit.hit for unit in worst) - failed
    low, method = interval_of(units) if units else (None, None)
    high, _ = interval_of(worst) if worst else (None, None)
    judged = total - gaps
    reason = None
    unread = _claims_unread(trials)
    if not total:
        could_not = sum(unread.values())
        reason = "no completion was declared" + (f"; unread claims: {could_not}" if unread else "")
    elif not judged:
        reason = f"none of {total} declared completions has a verdict"
    return Measure(
        value=failed / total if judged else None,
        unit="trial",
        numerator=failed,
        denominator=total,
        excluded=unread,
        unavailable=gaps,
        bounds=(failed / total, (failed + gaps) / total) if total else None,
        interval=(low[0], high[1]) if low and high and judged else None,
        interval_method=f"{method}, outer over what is unavailable" if low and high and judged else method,
        n_units=total,
        n_clusters=len({unit.cluster for unit in units}),
        evidence_ids=tuple(unit.id for unit in units if unit.hit),
        reason=reason,
        note=f"of those with a verdict {failed}/{judged}" if gaps else None,
    )


def _claims_unread(trials: Trials) -> dict[str, int]:
    count = sum(1 for one in trials if one.trial.claim.state == "unavailable")
    return {"claim_unavailable": count} if count else {}


def silent_failure_share(trials: Trials) -> Measure:
    """Return the share of failed trials that claimed success: another number than the false-success rate (B06)."""
    judged = [one for one in trials if one.outcome.state == "failed"]
    units = [Counted(cluster=task_key(one), hit=one.declared, id=one.trial.trial_id) for one in judged]
    return rate(units, unit="trial", empty="no outcome failed")
