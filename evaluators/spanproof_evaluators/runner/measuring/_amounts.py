"""Amounts: so much a trial, a call, a task, with the median, the 90th percentile and the largest beside the mean."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median

from spanproof_evaluators.model.measures import Figure, Measure, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """What one unit took."""

    cluster: str
    value: float
    id: str


def amounts(
    found: Sequence[Amount],
    *,
    unit: Unit,
    per: str,
    empty: str,
    unavailable: int = 0,
    excluded: Mapping[str, int] | None = None,
    note: str | None = None,
) -> Measure:
    """Return the mean of amounts; those that nobody recorded are counted and in no sum.

    It has no interval: it tells of the load that there was.
    """
    values = [one.value for one in found]
    whole = all(float(value).is_integer() for value in values)
    total = sum(values)
    count = len(values)
    every = count + unavailable
    return Measure(
        value=total / count if count else None,
        unit=unit,
        numerator=(int(total) if whole else total) if count else None,
        denominator=count,
        excluded={reason: number for reason, number in (excluded or {}).items() if number},
        unavailable=unavailable,
        bounds=(total / every, None) if count and unavailable else None,
        interval_method="none: what there was" if count else None,
        n_units=count,
        n_clusters=len({one.cluster for one in found}),
        evidence_ids=_largest(found),
        reason=None if count else (f"none of {unavailable} was recorded" if unavailable else empty),
        note=note,
        per=per,
        figures=spread(values),
    )


def spread(values: Sequence[float]) -> dict[Figure, float]:
    """Return the median, the 90th percentile and the largest; nothing of nothing.

    The percentile is the smallest value that nine of ten do not exceed: one that was seen, none in between.
    """
    if not values:
        return {}
    ordered = sorted(values)
    return {"p50": median(ordered), "p90": ordered[ceil(0.9 * len(ordered)) - 1], "max": ordered[-1]}


def _largest(found: Iterable[Amount]) -> tuple[str, ...]:
    """Return what to look at first: the unit that took the most."""
    most = max(found, key=lambda one: one.value, default=None)
    return (most.id,) if most is not None else ()
