"""Conduct: trials in which nothing was done that a task forbids or that goes in circles (R096, R108)."""

from collections.abc import Sequence
from typing import Final

from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.runner.measuring._rates import Counted, Trials, rate, task_key
from spanproof_evaluators.runner.stored import NOT_EVALUATED

_FINDINGS: Final = ("budgets", "too_many_calls", "repeats", "forbidden_tools", "required_tools")
"""What a clean trajectory is free of: too many steps, repeats, a forbidden tool, a required one that was not used."""


def clean_trajectories(trials: Trials) -> Measure:
    """Return the share of trials without a finding on their trajectory. A trial nobody can read is none of them."""
    return _share(trials, _FINDINGS, hit_on_finding=False)


def trials_with_repeats(trials: Trials) -> Measure:
    """Return the share of trials in which a call was made again with equal arguments."""
    return _share(trials, ("repeats",), hit_on_finding=True)


def trials_with_forbidden_tools(trials: Trials) -> Measure:
    """Return the share of trials that used a tool which their task forbids."""
    return _share(trials, ("forbidden_tools",), hit_on_finding=True)


def _share(trials: Trials, rules: Sequence[str], *, hit_on_finding: bool) -> Measure:
    """Return the share of trials with a finding, or without one; where a rule could not say and none found, neither.

    A rule that had nothing to look at, such as a task that forbids nothing, found nothing.
    """
    units = []
    gaps = 0
    for one in trials:
        found = _finding(one, rules)
        if found is None:
            gaps += 1
        else:
            units.append(Counted(cluster=task_key(one), hit=found is hit_on_finding, id=one.trial.trial_id))
    return rate(units, unit="trial", empty="no trial", unavailable=gaps, census=True)


def _finding(one: Assessment, rules: Sequence[str]) -> bool | None:
    states = {result.state for name in rules if (result := one.result(name)) is not None}
    if "fail" in states:
        return True
    unread = not one.trial.understood or (not one.results and one.outcome.reason in NOT_EVALUATED)
    return None if "unavailable" in states or unread else False
