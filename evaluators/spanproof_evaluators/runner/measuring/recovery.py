"""What becomes of trials in which a tool answered with an error (evaluators.md B29). Explains, and decides nothing."""

from collections import Counter
from dataclasses import replace
from typing import Final

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.rules.trajectories import error_of
from spanproof_evaluators.runner.measuring._rates import Counted, Trials, inside, left_out, rate, task_key

_LEFT: Final = ("waiting", "infrastructure", "cancelled")
_NAME: Final = "recovery_after_error"


def recovery_after_error(trials: Trials) -> Measure:
    """Return the share of trials with a tool error that were solved.

    In the note: how many of those without an error were, and what the agent did next. A trial whose calls may be unseen
    has no word on errors, unless one was seen.
    """
    kept = inside(trials, *_LEFT)
    with_error = [one for one in kept if _failed(one.trial)]
    unseen = sum(_failed(one.trial) is None for one in kept)
    units = [
        Counted(cluster=task_key(one), hit=one.solved, id=one.trial.trial_id)
        for one in with_error
        if one.solved is not None
    ]
    without = [one for one in kept if _failed(one.trial) is False and one.solved is not None]
    steps: Counter[str] = Counter()
    for one in with_error:
        said = one.result(_NAME)
        errors = said.details.get("errors") if said is not None else None
        if isinstance(errors, list):
            steps.update(str(each["next"]) for each in errors if isinstance(each, dict))
    told = [f"without an error {sum(one.solved is True for one in without)} of {len(without)} solved"]
    told += [f"then {what.replace('_', ' ')} {count}" for what, count in sorted(steps.items())]
    found = rate(
        units,
        unit="trial",
        empty="no trial with a tool error",
        unavailable=len(with_error) - len(units) + unseen,
        excluded=left_out(trials, *_LEFT),
        note=", ".join(told) if with_error else None,
    )
    # a trial of which nobody knows whether a tool failed in it widens nothing: it may not belong here at all
    return replace(found, bounds=None) if unseen else found


def _failed(trial: Trial) -> bool | None:
    """Return whether a tool of a trial answered with an error; ``None`` where calls may be unseen."""
    if any(error_of(call) is not None for call in trial.tool_calls):
        return True
    return False if trial.understood and trial.completeness.calls_whole else None
