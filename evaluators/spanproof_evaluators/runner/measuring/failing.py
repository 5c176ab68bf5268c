"""Failing, recovering, and how far one failure reaches (evaluators.md B11-B13, R074-R076).

A step is a call of a tool, once however many spans tell of it. It failed where its effect is ``failed``, or where it
ended in an error and no receipt says that its effect took place; a call that was refused on purpose did not fail. What
a call ended in that nobody answers for is not known, and it is no step here. The working state after a failure is a
verified one: a later effect that a receipt verifies, a later window of work with evidence gained, or the end of a trial
whose outcome is verified. A tool's own word is none.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from spanproof_collector.model.trials import ToolCall, Trial
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.canonical import canonical, plain
from spanproof_evaluators.model.effects import attempts
from spanproof_evaluators.model.measures import Figure, Measure, Unit
from spanproof_evaluators.runner.checking import recorded_state
from spanproof_evaluators.runner.measuring._amounts import Amount, amounts
from spanproof_evaluators.runner.measuring._rates import Counted, Trials, inside, left_out, rate, task_key
from spanproof_evaluators.stats.failures import mean_time_between_failures, survival
from spanproof_evaluators.verifiers.git import changed_files

_LEFT: Final = ("waiting", "infrastructure", "cancelled")
_SECOND: Final = 1_000_000_000


def failed(call: ToolCall) -> bool | None:
    """Return whether a step failed; ``None`` where nobody knows how it ended."""
    state = call.effect.state
    if state == "failed":
        return True
    if state in ("refused", "verified"):
        return False
    if call.error is not None:
        return True
    return None if call.executed == "unknown" else False


def mtbf_steps(trials: Trials) -> Measure:
    """Return steps made for each that failed (B11)."""
    kept = [one for one in inside(trials, *_LEFT) if one.trial.understood]
    calls = [(one, call, failed(call)) for one in kept for call in one.trial.tool_calls]
    known = [(one, call, bad) for one, call, bad in calls if bad is not None]
    return _between(
        exposure=len(known),
        failures=[call.span_ids[0] if call.span_ids else one.trial.trial_id for one, call, bad in known if bad],
        unit="step",
        per="failed step",
        clusters=len({task_key(one) for one, _, _ in known}),
        unavailable=len(calls) - len(known),
        excluded=left_out(trials, *_LEFT),
    )


def mtbf_trials(trials: Trials) -> Measure:
    """Return trials judged for each that was not solved (R074: tasks that the agent finishes before it stops)."""
    kept = inside(trials, *_LEFT)
    known = [one for one in kept if one.solved is not None]
    return _between(
        exposure=len(known),
        failures=[one.trial.trial_id for one in known if one.solved is False],
        unit="trial",
        per="unsolved trial",
        clusters=len({task_key(one) for one in known}),
        unavailable=len(kept) - len(known),
        excluded=left_out(trials, *_LEFT),
    )


def _between(
    *,
    exposure: int,
    failures: Sequence[str],
    unit: Unit,
    per: str,
    clusters: int,
    unavailable: int,
    excluded: Counter[str],
) -> Measure:
    count = len(failures)
    limits = mean_time_between_failures(count, exposure) if exposure else None
    reason = note = None
    if limits is None:
        reason = f"none of {unavailable} {unit}s is known to have worked or failed" if unavailable else f"no {unit}"
    elif not count:
        reason = f"none of {exposure} {unit}s failed: at least {limits.one_sided_lower:.1f}, one-sided 95 %"
    else:
        note = f"at least {limits.one_sided_lower:.1f}, one-sided 95 %"
    every = exposure + unavailable
    return Measure(
        value=exposure / count if count else None,
        unit=unit,
        numerator=exposure,
        denominator=count,
        excluded=dict(excluded),
        unavailable=unavailable,
        bounds=(every / (count + unavailable), every / count if count else None) if unavailable and exposure else None,
        interval=(limits.lower, limits.upper) if limits is not None and limits.upper is not None else None,
        interval_method="chi_square_95 of failures over exposure" if limits is not None else None,
        n_units=exposure,
        n_clusters=clusters,
        evidence_ids=tuple(failures),
        reason=reason,
        note=note,
        per=per,
        figures={} if limits is None else {"one_sided_lower_95": limits.one_sided_lower},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    """One failed step, and what became of it."""

    one: Assessment
    id: str
    steps: int
    """Calls made after it until the working state; without one, until the end."""

    seconds: float | None
    """The same in time; ``None`` where the recording has no times."""

    recovered: bool | None
    """``None``: nobody looked, at the end either."""


def _failures(trials: Trials) -> Iterator[_Failure]:
    for one in inside(trials, *_LEFT):
        yield from _followed(one)


def _followed(one: Assessment) -> Iterator[_Failure]:
    """Yield what became of each failed call of a trial, the last one first, in one walk."""
    trial = one.trial
    calls = trial.tool_calls
    begins = sorted(call.started_at for call in calls) if trial.timed else []
    gains = sorted(each.time for each in trial.progress if each.window == "active" and each.delta > 0)
    verified: int | None = None
    """The place of the next call whose effect a receipt verifies."""
    for at in range(len(calls) - 1, -1, -1):
        call = calls[at]
        if failed(call):
            found: list[tuple[int, int]] = []
            if verified is not None:
                found.append((verified - at, calls[verified].started_at))
            gained = bisect_right(gains, call.started_at)
            if trial.timed and gained < len(gains):
                begun = bisect_left(begins, gains[gained]) - bisect_right(begins, call.started_at)
                found.append((begun, gains[gained]))
            if one.outcome.state == "verified":
                found.append((len(calls) - 1 - at, trial.ended_at))
            recovered = True if found else False if one.outcome.state == "failed" else None
            steps, ended = min(found, default=(len(calls) - 1 - at, trial.ended_at))
            known = trial.timed and call.started_at > 0
            yield _Failure(
                one=one,
                id=call.span_ids[0] if call.span_ids else trial.trial_id,
                steps=steps,
                seconds=max(ended - call.started_at, 0) / _SECOND if known else None,
                recovered=recovered,
            )
        if call.effect.state == "verified":
            verified = at


def recovered_failures(trials: Trials) -> Measure:
    """Return the share of failed steps after which a verified working state was reached (B12)."""
    found = list(_failures(trials))
    units = [
        Counted(cluster=task_key(each.one), hit=each.recovered, id=each.id)
        for each in found
        if each.recovered is not None
    ]
    return rate(
        units,
        unit="step",
        empty="no step failed",
        unavailable=len(found) - len(units),
        excluded=left_out(trials, *_LEFT),
    )


def mttr_steps(trials: Trials) -> Measure:
    """Return the calls made between a failed step and the next verified working state, over those that reached one."""
    return _repair(trials, "call", lambda each: float(each.steps))


def mttr_seconds(trials: Trials) -> Measure:
    """Return the same in time."""
    return _repair(trials, "second", lambda each: each.seconds)


def _repair(trials: Trials, unit: Unit, read: Callable[[_Failure], float | None]) -> Measure:
    """Return the mean over recovered failures; those that never recovered are counted beside it, never dropped."""
    found = [(each, read(each)) for each in _failures(trials)]
    known = [(each, time) for each, time in found if time is not None and each.recovered is not None]
    times = [time for each, time in known if each.recovered]
    others = [time for each, time in known if not each.recovered]
    told = survival(times, others)
    units = [Amount(cluster=task_key(each.one), value=time, id=each.id) for each, time in known if each.recovered]
    empty = f"none of {len(others)} failed steps was recovered from" if others else "no step failed"
    mean = amounts(
        units,
        unit=unit,
        per="recovered failure",
        empty=empty,
        unavailable=len(found) - len(known),
        excluded=left_out(trials, *_LEFT) + Counter(never_recovered=len(others)),
    )
    if told is None:
        return mean
    figures: dict[Figure, float] = {"restricted_mean": told.restricted_mean, "horizon": told.horizon}
    if told.median is not None:
        figures["p50"] = told.median
    low = (sum(times) + sum(others)) / len(known)
    note = None
    if others:
        middle = "half never recover" if told.median is None else f"half recover within {told.median:,.6g}"
        note = (
            f"{len(times)} recovered of {len(known)}; Kaplan-Meier: {middle}, "
            f"mean {told.restricted_mean:,.6g} up to {told.horizon:,.6g}"
        )
    return Measure(
        value=mean.value,
        unit=unit,
        numerator=mean.numerator,
        denominator=mean.denominator,
        excluded=mean.excluded,
        unavailable=mean.unavailable,
        bounds=(low, None) if others else mean.bounds,
        interval_method=mean.interval_method,
        n_units=len(known),
        n_clusters=len({task_key(each.one) for each, _ in known}),
        evidence_ids=tuple(each.id for each, _ in known if not each.recovered) or mean.evidence_ids,
        reason=mean.reason,
        note=note,
        per=mean.per,
        figures=figures,
    )


def blast_radius_files(trials: Trials) -> Measure:
    """Return the files that a failed trial changed: by the recorded states, else by what a git check counted."""
    return _reach(trials, "file", _files, "files before and after")


def blast_radius_rows(trials: Trials) -> Measure:
    """Return the rows that a failed trial added, removed or changed, by the recorded states."""
    return _reach(trials, "row", _rows, "tables before and after")


def blast_radius_changes(trials: Trials) -> Measure:
    """Return the places of the world that a failed trial changed, where somebody recorded the changes of a session."""
    return _reach(trials, "change", _places, "changes of the world")


def blast_radius_effects(trials: Trials) -> Measure:
    """Return the external changes that a failed trial left: those verified, and those of which the tool says so."""
    return _reach(trials, "change", _effects, "calls, or what became of them")


def _reach(trials: Trials, unit: Unit, read: Callable[[Trial, Assessment], int | None], what: str) -> Measure:
    bad = [one for one in inside(trials, *_LEFT) if one.outcome.state == "failed"]
    found = [
        Amount(cluster=task_key(one), value=size, id=one.trial.trial_id)
        for one in bad
        if (size := read(one.trial, one)) is not None
    ]
    made = amounts(
        found,
        unit=unit,
        per="failed trial",
        empty="no outcome failed",
        unavailable=len(bad) - len(found),
        excluded=left_out(trials, *_LEFT),
    )
    if made.value is None and bad:
        return Measure(
            value=None,
            unit=unit,
            numerator=None,
            denominator=0,
            excluded=made.excluded,
            unavailable=len(bad),
            n_units=0,
            n_clusters=0,
            reason=f"nobody recorded {what} of {len(bad)} failed trials",
            per=made.per,
        )
    return made


def blast_radius_over_limit(trials: Trials) -> Measure:
    """Return the share of failed trials that changed more files than their task allows (``max_changed_files``)."""
    bad = [one for one in inside(trials, *_LEFT) if one.outcome.state == "failed"]
    limited = [(one, _limit(one)) for one in bad]
    asked = [(one, limit, _files(one.trial, one)) for one, limit in limited if limit is not None]
    units = [
        Counted(cluster=task_key(one), hit=size > limit, id=one.trial.trial_id)
        for one, limit, size in asked
        if size is not None
    ]
    excluded = left_out(trials, *_LEFT) + Counter(no_limit=len(bad) - len(asked))
    empty = "no task of a failed trial limits the files that may change" if bad else "no outcome failed"
    return rate(units, unit="trial", empty=empty, unavailable=len(asked) - len(units), excluded=excluded)


def _limit(one: Assessment) -> int | None:
    """Return how many files the task lets a trial change: the strictest of its git checks."""
    limits = [found[1] for check in one.outcome.checks if (found := changed_files(check)) is not None]
    return min(limits, default=None)


def _files(trial: Trial, one: Assessment) -> int | None:
    before, after = recorded_state(trial, "before").files, recorded_state(trial, "after").files
    if before is not None and after is not None:
        return sum(before.get(path) != after.get(path) for path in before.keys() | after.keys())
    counted = [found[0] for check in one.outcome.checks if (found := changed_files(check)) is not None]
    return max(counted, default=None)


def _rows(trial: Trial, _: Assessment) -> int | None:
    """Return rows touched: of each table the more of those that went and those that came; a changed row is one."""
    before, after = recorded_state(trial, "before").tables, recorded_state(trial, "after").tables
    if before is None or after is None:
        return None
    touched = 0
    for table in before.keys() | after.keys():
        old, new = (Counter(canonical(row) for row in state.get(table, ())) for state in (before, after))
        touched += max((old - new).total(), (new - old).total())
    return touched


def _places(trial: Trial, _: Assessment) -> int | None:
    told = plain(trial.recorded_changes[-1].actual) if trial.recorded_changes else None
    return len(told) if isinstance(told, list) else None


def _effects(trial: Trial, _: Assessment) -> int | None:
    """Return the effects that are there; ``None`` where one may be and nobody knows."""
    if not trial.understood or not trial.completeness.calls_whole:
        return None
    states = [each.state for each in attempts(trial)]
    return None if "unknown" in states else sum(state in ("verified", "reported") for state in states)
