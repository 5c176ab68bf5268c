"""Comparing two variants: paired by task, clustered, refused where the sets are not the same (evaluators.md B40)."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from math import sqrt
from statistics import NormalDist, fmean, stdev
from typing import Final, TypeAlias

from spanproof_evaluators.errors import UnequalSetsError
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.comparisons import Compared, Comparison, Growth, Observation, Word
from spanproof_evaluators.stats.comparisons import mcnemar, sign_flip
from spanproof_evaluators.stats.intervals import mean_interval, student_t
from spanproof_evaluators.stats.multiplicity import holm

Observations: TypeAlias = Sequence[Observation]
Value: TypeAlias = Callable[[Observation], float | None]

_ALPHA: Final = 0.05
_OWN: Final = frozenset({"task", "trial", "attempt", "variant", "suite", "session"})
"""Labels that name the trial and do not tell what was varied."""


def observed(one: Assessment) -> Observation:
    """Return what a comparison takes of an assessed trial."""
    trial = one.trial
    usage = trial.usage
    readable = one.outcome.state != "unavailable" and trial.claim.state != "unavailable"
    whole = usage.input_tokens is not None and usage.output_tokens is not None
    metered = whole and not trial.completeness.unmetered_calls
    told = {"agent": trial.agent_name, "agent_version": trial.agent_version, "model": ", ".join(trial.models) or None}
    labels = {key: value for key, value in trial.labels.items() if key.split(".")[0] not in _OWN}
    return Observation(
        trial_id=trial.trial_id,
        task_id=trial.task_id,
        category=one.task.category if one.task is not None else "",
        left_out=one.left_out,
        solved=one.solved,
        false_success=one.false_success is True if readable else None,
        aborted=one.aborted,
        cost_usd=trial.cost.usd if trial.cost.covered else None,
        tokens=(usage.input_tokens or 0) + (usage.output_tokens or 0) if metered else None,
        tool_calls=len(trial.tool_calls) if trial.completeness.calls_whole else None,
        labels={key: value for key, value in (told | labels).items() if value is not None},
        evidence=one.evidence,
    )


def compare(a: Observations, b: Observations, *, names: tuple[str, str], margin: float = 0.05) -> Comparison:
    """Return what may be said of variant b against variant a.

    Args:
        a: the trials of the one that is there, the baseline.
        b: those of the one that is to replace it.
        names: of both.
        margin: the drop of the solve rate that is accepted, as a share.

    Raises:
        UnequalSetsError: a trial has no task, tasks differ, or one was tried more often by one variant.
    """
    old, new = _by_task(a, names[0]), _by_task(b, names[1])
    _same(old, new, names)
    whole = _decided(_compared("solve_rate", old, new, _solved), margin)
    categories = sorted({category for category in map(_category, old.values()) if category})
    parts = [
        _compared(
            category,
            {task: trials for task, trials in old.items() if _category(trials) == category},
            {task: new[task] for task, trials in old.items() if _category(trials) == category},
            _solved,
        )
        for category in categories
    ]
    return Comparison(
        a=names[0],
        b=names[1],
        tasks=len(old),
        trials=len(a),
        margin=margin,
        solve_rate=whole,
        categories=tuple(_vetoes(parts)),
        beside=tuple(_compared(name, old, new, value) for name, value in _BESIDE.items()),
        growth=tuple(_growth(name, old, new, value) for name, value in _BESIDE.items() if name not in _SHARES),
        differing=_differing(a, b),
    )


def _by_task(trials: Observations, name: str) -> dict[str, list[Observation]]:
    found: defaultdict[str, list[Observation]] = defaultdict(list)
    for one in trials:
        if one.task_id is None:
            raise UnequalSetsError(f"trial {one.trial_id} of {name} has no task, so there is nothing to pair it with")
        found[one.task_id].append(one)
    return dict(sorted(found.items()))


def _same(old: Mapping[str, Observations], new: Mapping[str, Observations], names: tuple[str, str]) -> None:
    """Refuse sets that differ, and say in what."""
    told = []
    for name, mine, theirs in ((names[0], old, new), (names[1], new, old)):
        if not mine:
            told.append(f"{name} has no trial")
        elif only := sorted(mine.keys() - theirs.keys()):
            told.append(f"only {name} has {_listed(only)}")
    odd = sorted(task for task in old.keys() & new.keys() if len(old[task]) != len(new[task]))
    if odd:
        told.append(
            "tried unequally often: " + _listed([f"{task} ({len(old[task])} and {len(new[task])})" for task in odd])
        )
    if told:
        raise UnequalSetsError("; ".join(told))


def _listed(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _number(value: float | Decimal | bool | None) -> float | None:
    return None if value is None else float(value)


_BESIDE: Final[Mapping[str, Value]] = {
    "false_success": lambda one: _number(one.false_success),
    "aborted": lambda one: _number(one.aborted),
    "cost_usd": lambda one: _number(one.cost_usd),
    "tokens": lambda one: _number(one.tokens),
    "tool_calls": lambda one: _number(one.tool_calls),
}
"""What explains, lower being better; it decides nothing."""

_SHARES: Final = ("false_success", "aborted")
"""Those that are shares of trials, and no amounts that grow."""


def _solved(one: Observation) -> float | None:
    return _number(one.solved)


def _category(trials: Observations) -> str:
    return next((one.category for one in trials if one.category), "")


def _mean(trials: Observations, value: Value) -> float | None:
    """The mean over the trials that have the value; ``None`` where none has."""
    kept = [found for one in trials if one.left_out is None and (found := value(one)) is not None]
    return fmean(kept) if kept else None


def _compared(name: str, old: Mapping[str, Observations], new: Mapping[str, Observations], value: Value) -> Compared:
    """Return the paired difference of one measure."""
    means = [(_mean(old[task], value), _mean(new[task], value)) for task in old]
    pairs = [(x, y) for x, y in means if x is not None and y is not None]
    missing = len(means) - len(pairs)
    every = [one for trials in (*old.values(), *new.values()) for one in trials]
    gone = sum(one.left_out is not None for one in every)
    blank = sum(one.left_out is None and value(one) is None for one in every)
    if not pairs:
        return Compared(
            name=name,
            a=None,
            b=None,
            difference=None,
            standard_error=None,
            interval=None,
            unavailable=missing,
            trials_without=blank,
            trials_left_out=gone,
            reason="no task has it on both sides",
        )
    differences = [y - x for x, y in pairs]
    count = len(differences)
    error = stdev(differences) / sqrt(count) if count > 1 else None
    below, above = sum(each < 0 for each in differences), sum(each > 0 for each in differences)
    worse, better = (below, above) if value is _solved else (above, below)  # of what explains less is better
    single = all(len(trials) == 1 for trials in (*old.values(), *new.values())) and value is _solved
    lower, upper = _bounds(differences, error, share=value is _solved or name in _SHARES)
    return Compared(
        name=name,
        a=fmean(x for x, _ in pairs),
        b=fmean(y for _, y in pairs),
        difference=fmean(differences),
        standard_error=error,
        interval=mean_interval(differences)
        if error
        else None,  # tasks that are all alike do not show that nothing varies
        lower=lower,
        upper=upper,
        p_value=mcnemar(worse, better).exact if single else sign_flip(differences),
        p_method="McNemar, exact" if single else "sign flips of task differences",
        worse=worse,
        better=better,
        tasks=count,
        unavailable=missing,
        trials_without=blank,
        trials_left_out=gone,
        mde=(NormalDist().inv_cdf(1 - _ALPHA) + NormalDist().inv_cdf(0.8)) * error if error else None,
    )


def _growth(name: str, old: Mapping[str, Observations], new: Mapping[str, Observations], value: Value) -> Growth:
    """Return how much the mean of an amount grew."""
    means = [(_mean(old[task], value), _mean(new[task], value)) for task in old]
    pairs = [(x, y) for x, y in means if x is not None and y is not None]
    missing = len(means) - len(pairs)
    before = fmean(x for x, _ in pairs) if pairs else None
    after = fmean(y for _, y in pairs) if pairs else None
    reason = None
    if missing:
        reason = f"{missing} of {len(means)} tasks have no {name.replace('_', ' ')} on one of the two sides"
    elif not before:
        reason = f"the baseline's mean of {name.replace('_', ' ')} is 0"
    ratio = after / before if reason is None and before and after is not None else None
    error = None
    if ratio is not None and before and len(pairs) > 1:
        error = stdev([(y - ratio * x) / before for x, y in pairs]) / sqrt(len(pairs))
    return Growth(
        name=name,
        a=before,
        b=after,
        ratio=ratio,
        standard_error=error,
        tasks=len(pairs),
        unavailable=missing,
        reason=reason,
    )


def _bounds(differences: Sequence[float], error: float | None, *, share: bool) -> tuple[float | None, float | None]:
    """Return one-sided 95 % bounds of the mean difference.

    Where all tasks differ alike, or not at all, the spread is not known to be 0. Of a share at least ``0.05^(1/n)`` of
    all tasks are like the n that were seen (Clopper-Pearson), and the others may lose, or gain, as much as there is. So
    no loss among n tasks bounds losses, and five of five lost show a fall where four of four do not. Of an amount
    nothing can be said then.
    """
    count, mean = len(differences), fmean(differences)
    if error:
        half = student_t(1 - _ALPHA, count - 1) * error
        return mean - half, mean + half
    if not share:
        return None, None
    alike = _ALPHA ** (1 / count)
    return alike * mean - (1 - alike), alike * mean + (1 - alike)


def _decided(found: Compared, margin: float) -> Compared:
    """Return it with a verdict: regressed, not worse than the margin, or neither can be said (B41)."""
    verdict: Word = "inconclusive"
    if found.unavailable or found.trials_without or found.lower is None or found.upper is None:
        why = (
            "trials without a verdict may change it" if found.trials_without else "tasks without a value may change it"
        )
        return replace(found, verdict=verdict, reason=found.reason or why)
    if found.upper < 0:
        verdict = "regressed"
    elif found.lower > 0:
        verdict = "improved"
    elif found.lower > -margin:
        verdict = "non_inferior"
    return replace(found, verdict=verdict)


def _vetoes(parts: Sequence[Compared]) -> list[Compared]:
    """Return the categories with p-values after Holm; a category that fell beyond chance is a veto."""
    adjusted = iter(holm([one.p_value for one in parts if one.p_value is not None]))
    found = []
    for one in parts:
        if one.p_value is None or one.difference is None:
            found.append(one)
            continue
        p = next(adjusted)
        fell = one.difference < 0 and p <= _ALPHA
        found.append(replace(one, p_adjusted=p, verdict="regressed" if fell else None))
    return found


def _differing(a: Observations, b: Observations) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the labels whose values differ between the two variants."""
    old, new = _labels(a), _labels(b)
    return {
        key: (old.get(key, ()), new.get(key, ()))
        for key in sorted(old.keys() | new.keys())
        if old.get(key) != new.get(key)
    }


def _labels(trials: Observations) -> dict[str, tuple[str, ...]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for one in trials:
        for key, value in one.labels.items():
            found[key].add(value)
    return {key: tuple(sorted(values)) for key, values in found.items()}
