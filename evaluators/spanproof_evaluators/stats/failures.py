"""Failures over exposure, recovery from them, and how far one reaches."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanTimeBetweenFailures:
    """Exposure per failure, in the unit of the exposure: steps, tasks, seconds."""

    value: float | None
    """``None`` where nothing failed: then only the lower limits say something."""

    lower: float
    upper: float | None
    one_sided_lower: float


def mean_time_between_failures(failures: int, exposure: float, *, level: float = 0.95) -> MeanTimeBetweenFailures:
    """Return exposure over failures with chi-square limits for observation that ended by time.

    Lower ``2T / chi2(2f + 2)``, upper ``2T / chi2(2f)``: B. Epstein, "Estimation from life test data",
    Technometrics 2 (1960) 447-454.

    Raises:
        ValueError: no exposure, or fewer failures than none.
    """
    from scipy.stats import chi2

    if exposure <= 0 or failures < 0:
        raise ValueError("failures are counted over a positive exposure")
    tail = (1 - level) / 2
    return MeanTimeBetweenFailures(
        value=exposure / failures if failures else None,
        lower=2 * exposure / float(chi2.ppf(1 - tail, 2 * failures + 2)),
        upper=2 * exposure / float(chi2.ppf(tail, 2 * failures)) if failures else None,
        one_sided_lower=2 * exposure / float(chi2.ppf(level, 2 * failures + 2)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """Steps or time from a failure to the next working state. The ones that never came back are counted beside."""

    recovered: int
    censored: int
    """Failures without a recovery in what was observed: right-censored, and in no mean."""

    mean_observed: float | None
    """Over the recovered ones alone: a lower bound of the true mean where any is censored."""


def recovery(spans: Sequence[float | None]) -> Recovery:
    """Return what is known of recovery; ``None`` among the spans is a failure that was never recovered from."""
    seen = [span for span in spans if span is not None]
    return Recovery(recovered=len(seen), censored=len(spans) - len(seen), mean_observed=fmean(seen) if seen else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlastRadius:
    """How much one failed step changed."""

    median: float
    largest: float
    over_limit: int
    failures: int


def blast_radius(sizes: Sequence[float], limit: float) -> BlastRadius | None:
    """Return the spread of the sizes of change by failed steps; ``None`` where nothing failed."""
    if not sizes:
        return None
    return BlastRadius(
        median=median(sizes), largest=max(sizes), over_limit=sum(size > limit for size in sizes), failures=len(sizes)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Survival:
    """How long it takes until something works again, with those counted that never did while they were observed."""

    median: float | None
    """The time by which half have recovered; ``None`` where fewer than half ever do."""

    restricted_mean: float
    """The mean time up to ``horizon``: who has not recovered by then counts with all of it."""

    horizon: float
    """The longest that anybody was observed."""


def survival(recovered: Sequence[float], censored: Sequence[float]) -> Survival | None:
    """Return the Kaplan-Meier estimate of the time to recovery; ``None`` where nothing failed.

    Source: E. L. Kaplan, P. Meier, JASA 53 (1958) 457-481; the restricted mean is the area under the curve.

    Args:
        recovered: the times of those that recovered.
        censored: how long the others were observed without recovering. At a tie they are taken to outlast the others.
    """
    if not recovered and not censored:
        return None
    if min((*recovered, *censored)) < 0:
        raise ValueError("a time to recovery is not negative")
    times = sorted((*recovered, *censored))
    horizon = times[-1]
    alive, at, area = 1.0, 0.0, 0.0
    middle: float | None = None
    for time, count in sorted(Counter(recovered).items()):
        area += alive * (time - at)
        alive *= 1 - count / (len(times) - bisect_left(times, time))
        at = time
        if middle is None and alive <= 0.5 + 1e-12:
            middle = time
    return Survival(median=middle, restricted_mean=area + alive * (horizon - at), horizon=horizon)
