"""Comparing two variants on the same tasks. Scipy is imported where it is needed."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from statistics import fmean, stdev, variance
from typing import Final

MOST_EXACT: Final = 20
"""Up to so many clusters every assignment of signs is counted."""

_MOST_TOTALS: Final = 4096
DRAWS: Final = 20_000
SEED: Final = 20_240_601
"""Of the draws beyond: fixed, so that a p-value can be recomputed digit for digit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The mean difference b - a over paired units, with standard errors."""

    value: float
    units: int
    clusters: int
    naive_error: float | None
    """As if units were independent; ``None`` for a single one."""

    clustered_error: float | None
    """Units of one cluster move together; with the correction C/(C-1). ``None`` for a single cluster."""

    @property
    def uncorrected_error(self) -> float | None:
        """The clustered one without the correction, as Miller's paper prints it: too small for few clusters."""
        if self.clustered_error is None:
            return None
        return self.clustered_error * sqrt((self.clusters - 1) / self.clusters)


def paired_difference(differences: Sequence[float], clusters: Sequence[Hashable]) -> Difference:
    """Return the mean of paired differences with clustered standard error.

    Source: E. Miller, "Adding error bars to evals" (arXiv 2411.00640), appendix A, with the correction C/(C-1).

    Args:
        differences: b - a of each unit.
        clusters: what each unit belongs to, its task.

    Raises:
        ValueError: nothing to compare, or as many clusters as units are not given.
    """
    if not differences or len(differences) != len(clusters):
        raise ValueError("each difference needs a cluster, and there is at least one")
    mean, count = fmean(differences), len(differences)
    sums: defaultdict[Hashable, float] = defaultdict(float)
    for value, cluster in zip(differences, clusters, strict=True):
        sums[cluster] += value - mean
    groups = len(sums)
    clustered = None
    if groups > 1:
        clustered = sqrt(groups / (groups - 1) * sum(each**2 for each in sums.values())) / count
    return Difference(
        value=mean,
        units=count,
        clusters=groups,
        naive_error=stdev(differences) / sqrt(count) if count > 1 else None,
        clustered_error=clustered,
    )


def unpaired_error(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return the standard error of a difference of means as if the units were not the same: what pairing saves.

    ``None`` for a single unit on a side.
    """
    if len(a) < 2 or len(b) < 2:
        return None
    return sqrt(variance(a) / len(a) + variance(b) / len(b))


@dataclass(frozen=True, slots=True, kw_only=True)
class McNemar:
    """Tests on pairs that differ. Ties say nothing and are left out."""

    exact: float
    """Two-sided, conditional on the number of pairs that differ."""

    mid_p: float
    """The exact one less the chance of what was seen: less conservative (Fagerland, Lydersen, Laake 2013)."""

    one_sided_worse: float
    """Of as many losses or more, if a loss were as likely as a gain."""

    corrected_chi2: float
    """``(|b - c| - 1)^2 / (b + c)``, with the correction of Edwards (1948): what most tables print."""

    corrected_p: float
    """By the chi-square distribution with one degree of freedom: an approximation of ``exact``."""


def mcnemar(worse: int, better: int) -> McNemar:
    """Return McNemar's test on discordant pairs. Without any, nothing speaks against equality: every p is 1.

    Source: Q. McNemar, Psychometrika 12 (1947) 153-157, exact by the binomial distribution.
    """
    from scipy.stats import binom, chi2

    if worse < 0 or better < 0:
        raise ValueError("pairs are counted from 0")
    count = worse + better
    if not count:
        return McNemar(exact=1.0, mid_p=1.0, one_sided_worse=1.0, corrected_chi2=0.0, corrected_p=1.0)
    fewer = min(worse, better)
    corrected = max(abs(worse - better) - 1, 0) ** 2 / count
    exact = min(1.0, 2 * float(binom.cdf(fewer, count, 0.5)))
    return McNemar(
        exact=exact,
        mid_p=exact - float(binom.pmf(fewer, count, 0.5)),
        one_sided_worse=float(binom.sf(worse - 1, count, 0.5)),
        corrected_chi2=corrected,
        corrected_p=float(chi2.sf(corrected, 1)),
    )


def sign_flip(sums: Sequence[float]) -> float:
    """Return the two-sided p-value that the sign of every cluster's sum is a coin's. All ties give 1.

    Exact where the totals are few, as those of rates are, and up to 20 clusters; beyond, 20,000 draws with a fixed seed
    and ``(1 + hits) / (1 + draws)``.

    Source: R. A. Fisher, The Design of Experiments (1935), section 21; the Monte Carlo form after Phipson and Smyth
    (2010).

    Args:
        sums: the sum of differences of each cluster.

    Raises:
        ValueError: a sum is no finite number: what is missing is no tie, and no p-value comes of it.
    """
    import numpy as np

    if not all(map(isfinite, sums)):
        raise ValueError("a difference that is no finite number cannot be tested")
    moving = [float(each) for each in sums if each]
    if not moving:
        return 1.0
    seen = abs(sum(moving)) * (1 - 1e-12) - 1e-12
    totals = _totals(moving)
    if totals is not None:
        extreme = sum(count for total, count in totals.items() if abs(total) >= seen)
        return float(extreme / 2 ** len(moving))
    values = np.array(moving)
    if values.size <= MOST_EXACT:
        every = np.zeros(1)
        for each in values:
            every = np.concatenate([every + each, every - each])
        return float(np.mean(np.abs(every) >= seen))
    draws = np.random.default_rng(SEED)
    hits = 0
    for _ in range(0, DRAWS, 1000):
        signs = draws.integers(0, 2, size=(1000, values.size)) * 2 - 1
        hits += int(np.sum(np.abs(signs @ values) >= seen))
    return (1 + hits) / (1 + DRAWS)


def _totals(values: Sequence[float]) -> dict[float, int] | None:
    """Return how many assignments of signs give each total; ``None`` where the totals become too many."""
    found = {0.0: 1}
    for value in values:
        more: dict[float, int] = {}
        for total, count in found.items():
            for other in (round(total + value, 12), round(total - value, 12)):
                more[other] = more.get(other, 0) + count
        if len(more) > _MOST_TOTALS:
            return None
        found = more
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustering:
    """How far trials of one task are alike."""

    icc: float | None
    """Intraclass correlation by analysis of variance; ``None`` without repeats or without spread."""

    design_effect: float | None
    """Clustered over naive variance of the mean; ``None`` where the naive one is 0."""

    effective_units: float | None
    """As many independent units would tell as much: units over the design effect."""

    expected_design_effect: float | None
    """``1 + (m - 1) icc`` with m units a cluster on average: what the correlation alone lets one expect."""


def clustering(groups: Sequence[Sequence[float]]) -> Clustering:
    """Return the intraclass correlation and the design effect of values by task.

    Source: W. G. Cochran, Sampling Techniques (1977), section 9.4; L. Kish, Survey Sampling (1965).
    """
    values = [value for group in groups for value in group]
    clusters = [at for at, group in enumerate(groups) for _ in group]
    found = paired_difference(values, clusters)
    effect = None
    if found.naive_error and found.clustered_error is not None:
        effect = (found.clustered_error / found.naive_error) ** 2
    full = [group for group in groups if group]
    icc = _icc(full)
    return Clustering(
        icc=icc,
        design_effect=effect,
        effective_units=len(values) / effect if effect else None,
        expected_design_effect=None if icc is None else 1 + (len(values) / len(full) - 1) * icc,
    )


def _icc(groups: Sequence[Sequence[float]]) -> float | None:
    """Return the one-way intraclass correlation; groups may differ in size."""
    count = sum(map(len, groups))
    if len(groups) < 2 or count == len(groups):
        return None
    grand = sum(map(sum, groups)) / count
    between = sum(len(group) * (fmean(group) - grand) ** 2 for group in groups) / (len(groups) - 1)
    within = sum((value - fmean(group)) ** 2 for group in groups for value in group) / (count - len(groups))
    size = (count - sum(len(group) ** 2 for group in groups) / count) / (len(groups) - 1)
    spread = between + (size - 1) * within
    return (between - within) / spread if spread else None
