"""Useful progress: active windows in which evidence was gained (evaluators.md B03)."""

from collections import Counter

from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.runner.measuring._rates import Counted, Trials, rate, trial_key
from spanproof_evaluators.runner.windows import windows


def useful_progress(trials: Trials) -> Measure:
    """Return active windows with evidence gained over active windows; waits and a stale collector are left out."""
    found = [(one, window) for one in trials for window in windows(one.trial)]
    units = [
        Counted(cluster=trial_key(one), hit=window.useful, id=window.span_id)
        for one, window in found
        if window.state == "active"
    ]
    return rate(
        units,
        unit="window",
        empty="no active window was observed",
        excluded=Counter(window.state for _, window in found if window.state != "active"),
    )
