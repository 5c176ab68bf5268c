"""Rates: hits over judged units, what is unavailable beside them, and an interval that minds clusters."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.effects import Attempt, attempts
from spanproof_evaluators.model.measures import Measure, Unit
from spanproof_evaluators.runner import stored
from spanproof_evaluators.stats.intervals import clustered_rate

Trials: TypeAlias = Sequence[Assessment]


def task_key(one: Assessment) -> str:
    """Return what a trial is clustered by: its task; in production, where there is none, itself."""
    return one.trial.task_id or trial_key(one)


def trial_key(one: Assessment) -> str:
    """Return what is different for any two trials: an id may be that of a label, of a session, of another project's."""
    return f"{one.trial.project}/{stored.key(one.trial)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """One unit of a rate."""

    cluster: str
    hit: bool
    id: str


def rate(
    units: Sequence[Counted],
    *,
    unit: Unit,
    empty: str,
    unavailable: int = 0,
    excluded: Mapping[str, int] | None = None,
    census: bool = False,
    note: str | None = None,
    parts: Mapping[str, int] | None = None,
) -> Measure:
    """Return a rate over judged units; ``unavailable`` ones widen its bounds and stay out of its denominator.

    A census (of what the record holds) has no interval: there is nothing beyond it to infer to.
    """
    hits = sum(one.hit for one in units)
    total = len(units)
    every = total + unavailable
    interval, method = (None, "none: a census") if census or not units else interval_of(units)
    return Measure(
        value=hits / total if total else None,
        unit=unit,
        numerator=hits,
        denominator=total,
        excluded={reason: count for reason, count in (excluded or {}).items() if count},
        unavailable=unavailable,
        bounds=(hits / every, (hits + unavailable) / every) if every else None,
        interval=interval,
        interval_method=method if units else None,
        n_units=total,
        n_clusters=len({one.cluster for one in units}),
        evidence_ids=tuple(one.id for one in units if one.hit),
        reason=None if total else (empty if not unavailable else f"none of {unavailable} has a verdict"),
        note=note,
        parts=parts or {},
    )


def interval_of(units: Sequence[Counted]) -> tuple[tuple[float, float] | None, str]:
    """Return the cluster-honest interval of a rate, and how it was found."""
    clusters: defaultdict[str, list[bool]] = defaultdict(list)
    for one in units:
        clusters[one.cluster].append(one.hit)
    found = clustered_rate([(sum(hits), len(hits)) for hits in clusters.values()])
    if found is None:
        return None, "none: a single cluster"
    several = any(len(hits) > 1 for hits in clusters.values())
    return found, "wilson_effective_n_95" if several else "wilson_95"


def left_out(trials: Trials, *reasons: str) -> Counter[str]:
    """Return how many trials left the denominator, by reason."""
    return Counter(one.left_out for one in trials if one.left_out in reasons)


def inside(trials: Trials, *left: str) -> list[Assessment]:
    """Return the trials that none of these reasons takes out."""
    return [one for one in trials if one.left_out not in left]


def effects_of(trials: Trials) -> Iterable[tuple[Assessment, Attempt]]:
    for one in trials:
        for effect in attempts(one.trial):
            yield one, effect


def effect_id(one: Assessment, effect: Attempt) -> str:
    return effect.span_id or one.trial.trial_id
