"""A baseline's numbers, to stand in brackets beside a variant's: from what a comparison takes of each trial."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from spanproof_evaluators.model.comparisons import Observation
from spanproof_evaluators.model.measures import Measure, Unit
from spanproof_evaluators.model.reports import Before
from spanproof_evaluators.runner.measuring._amounts import Amount, amounts
from spanproof_evaluators.runner.measuring._rates import Counted, rate
from spanproof_evaluators.runner.measuring.reliability import Attempts, pass_hat_over
from spanproof_evaluators.runner.measuring.telemetry import TOKENS, TOOL_CALLS


def before(name: str, trials: Sequence[Observation]) -> Before:
    """Return what a baseline's trials say in numbers that a variant has too."""
    groups: defaultdict[str, list[Observation]] = defaultdict(list)
    for one in trials:
        if one.category:
            groups[one.category].append(one)
    return Before(
        name=name,
        measures={
            "solve_rate": _solve_rate(trials),
            **_pass_hat(trials),
            TOKENS: _amount(trials, "token", lambda one: one.tokens),
            TOOL_CALLS: _amount(trials, "call", lambda one: one.tool_calls),
        },
        categories={category: _solve_rate(groups[category]) for category in sorted(groups)},
    )


def _task(one: Observation) -> str:
    return one.task_id or one.trial_id


def _solve_rate(trials: Sequence[Observation]) -> Measure:
    kept = [one for one in trials if one.left_out is None]
    units = [Counted(cluster=_task(one), hit=one.solved, id=one.trial_id) for one in kept if one.solved is not None]
    return rate(
        units,
        unit="trial",
        empty="no trial has a verdict",
        unavailable=len(kept) - len(units),
        excluded=Counter(one.left_out for one in trials if one.left_out is not None),
    )


def _pass_hat(trials: Sequence[Observation]) -> dict[str, Measure]:
    named = [one for one in trials if one.task_id is not None]
    groups: defaultdict[str, list[bool | None]] = defaultdict(list)
    for one in named:
        if one.left_out is None:
            groups[_task(one)].append(one.solved)
    tasks = [Attempts.of(values) for _, values in sorted(groups.items())]
    return pass_hat_over(tasks, Counter(one.left_out for one in named if one.left_out is not None))


def _amount(trials: Sequence[Observation], unit: Unit, read: Callable[[Observation], int | None]) -> Measure:
    found = [
        Amount(cluster=_task(one), value=value, id=one.trial_id) for one in trials if (value := read(one)) is not None
    ]
    return amounts(found, unit=unit, per="trial", empty="no trial", unavailable=len(trials) - len(found))
