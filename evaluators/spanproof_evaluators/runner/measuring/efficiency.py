"""Efficiency: what a verified outcome takes in tokens, failures included (evaluators.md B28)."""

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.runner.measuring._rates import Trials, task_key


def tokens_per_verified_outcome(trials: Trials) -> Measure:
    """Return the input and output tokens of every trial over the outcomes verified: a ratio of totals.

    A trial whose tokens were not all recorded leaves a lower bound and no value.
    """
    counts = [_tokens(one.trial) for one in trials]
    total = sum(count for count, _ in counts)
    unmetered = sum(not whole for _, whole in counts)
    verified = [one for one in trials if one.outcome.state == "verified"]
    low = total / len(verified) if verified and total else None
    reason: str | None = None
    if not total:
        reason = f"none of {len(trials)} trials has its tokens recorded"
    elif not verified:
        reason = f"no verified outcome; {'at least ' if unmetered else ''}{total} tokens used"
    elif unmetered:
        reason = f"incomplete: {unmetered} of {len(trials)} trials have no whole count of tokens"
    return Measure(
        value=None if reason else low,
        unit="token",
        per="verified outcome",
        numerator=total or None,
        denominator=len(verified),
        unavailable=unmetered,
        bounds=(low, None if unmetered else low) if low is not None else None,
        interval_method="none: a ratio of totals",
        n_units=len(trials),
        n_clusters=len({task_key(one) for one in trials}),
        evidence_ids=tuple(one.trial.trial_id for one in verified),
        reason=reason,
    )


def _tokens(trial: Trial) -> tuple[int, bool]:
    """Return the tokens that were counted, and whether that is all of them."""
    given, made = trial.usage.input_tokens, trial.usage.output_tokens
    whole = given is not None and made is not None and not trial.completeness.unmetered_calls
    return (given or 0) + (made or 0), whole
