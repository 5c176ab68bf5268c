"""Intervals for rates and means. Each names its source; levels are two-sided 95 % unless a name says one-sided.

scipy is imported where it is needed and not before: a command that prints trials does not wait for it.
"""

from collections.abc import Sequence
from math import inf, isclose, sqrt
from statistics import NormalDist, fmean, stdev

LEVEL = 0.95


def _z(level: float) -> float:
    """Return the two-sided normal quantile."""
    return NormalDist().inv_cdf(1 - (1 - level) / 2)


def student_t(probability: float, degrees: int) -> float:
    """Return the quantile of Student's t: one-sided at this probability."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, probability))


def _t(level: float, degrees: int) -> float:
    """Return the two-sided quantile of Student's t."""
    return student_t(1 - (1 - level) / 2, degrees)


def wilson(successes: float, n: float, *, level: float = LEVEL) -> tuple[float, float]:
    """Return the score interval of a proportion; ``n`` may be an effective size.

    Source: E. B. Wilson, JASA 22 (1927) 209-212. Recommended for small n by Brown, Cai, DasGupta (2001).

    Raises:
        ValueError: ``n`` is not positive, or fewer than none or more than all succeeded.
    """
    p = _share(successes, n)
    z = _z(level)
    center = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return (
        0.0 if isclose(p, 0.0, abs_tol=1e-12) else max(0.0, center - half),
        1.0 if isclose(p, 1.0, abs_tol=1e-12) else min(1.0, center + half),
    )


def wald(successes: float, n: float, *, level: float = LEVEL) -> tuple[float, float]:
    """Return the interval of the normal approximation. It covers too little near 0 and 1: for comparison only.

    Raises:
        ValueError: ``n`` is not positive, or fewer than none or more than all succeeded.
    """
    p = _share(successes, n)
    half = _z(level) * sqrt(p * (1 - p) / n)
    return max(0.0, p - half), min(1.0, p + half)


def agresti_coull(successes: float, n: float, *, level: float = LEVEL) -> tuple[float, float]:
    """Return the normal interval around the center of Wilson's.

    Source: A. Agresti, B. A. Coull, The American Statistician 52 (1998) 119-126.

    Raises:
        ValueError: ``n`` is not positive, or fewer than none or more than all succeeded.
    """
    _share(successes, n)
    squared = _z(level) ** 2
    more = n + squared
    center = (successes + squared / 2) / more
    half = _z(level) * sqrt(center * (1 - center) / more)
    return max(0.0, center - half), min(1.0, center + half)


def jeffreys(successes: float, n: float, *, level: float = LEVEL) -> tuple[float, float]:
    """Return the interval of equal tails under a Beta(1/2, 1/2) prior.

    It covers 88.5 % at n = 50 and a rate of 0.95 (evaluators.md B.0), so no measure takes it by itself.

    Source: L. D. Brown, T. T. Cai, A. DasGupta, Statistical Science 16 (2001) 101-133.

    Raises:
        ValueError: ``n`` is not positive, or fewer than none or more than all succeeded.
    """
    from scipy.special import betaincinv

    _share(successes, n)
    tail = (1 - level) / 2
    a, b = successes + 0.5, n - successes + 0.5
    return float(betaincinv(a, b, tail)), float(betaincinv(a, b, 1 - tail))


def rule_of_three(n: int) -> float:
    """Return ``3 / n``, about the 95 % upper bound of a rate that was not met in n: a rule of thumb, at most 1.

    Raises:
        ValueError: ``n`` is not positive, or fewer than none or more than all succeeded.
    """
    _share(0, n)
    return min(1.0, 3 / n)


def _share(successes: float, n: float) -> float:
    if n <= 0:
        raise ValueError("an interval needs at least one unit")
    if not (n < inf and -1e-9 * n <= successes <= n * (1 + 1e-9)):  # an effective size comes with rounding
        raise ValueError(f"{successes} of {n} units cannot have succeeded")
    return min(max(successes / n, 0.0), 1.0)


def clopper_pearson(successes: int, n: int, *, level: float = LEVEL) -> tuple[float, float]:
    """Return the exact interval of a binomial proportion.

    Source: C. J. Clopper, E. S. Pearson, Biometrika 26 (1934) 404-413, as quantiles of the beta distribution.

    Raises:
        ValueError: ``n`` is not positive, or fewer than none or more than all succeeded.
    """
    return (
        lower_bound(successes, n, level=1 - (1 - level) / 2),
        upper_bound(successes, n, level=1 - (1 - level) / 2),
    )


def upper_bound(successes: int, n: int, *, level: float = LEVEL) -> float:
    """Return the exact one-sided upper bound of a proportion; no success in n gives 1-(1-level)^(1/n).

    Raises:
        ValueError: ``n`` is not positive, or fewer than none or more than all succeeded.
    """
    from scipy.special import betaincinv

    _share(successes, n)
    return 1.0 if successes >= n else float(betaincinv(successes + 1, n - successes, level))


def lower_bound(successes: int, n: int, *, level: float = LEVEL) -> float:
    """Return the exact one-sided lower bound of a proportion (Clopper-Pearson).

    Raises:
        ValueError: ``n`` is not positive, or fewer than none or more than all succeeded.
    """
    from scipy.special import betaincinv

    _share(successes, n)
    return 0.0 if successes <= 0 else float(betaincinv(successes, n - successes + 1, 1 - level))


def mean_interval(values: Sequence[float], *, level: float = LEVEL) -> tuple[float, float] | None:
    """Return Student's t interval of a mean; ``None`` below two values, where nothing is known of the spread.

    Source: Student, Biometrika 6 (1908) 1-25.
    """
    if len(values) < 2:
        return None
    half = _t(level, len(values) - 1) * stdev(values) / sqrt(len(values))
    return fmean(values) - half, fmean(values) + half


def ratio_of_totals(pairs: Sequence[tuple[float, float]], *, level: float = LEVEL) -> tuple[float, float] | None:
    """Return the interval of a ratio of totals, such as cost over outcomes, from both totals of each cluster.

    ``None`` for a single cluster, where all clusters are alike (the spread is not known to be 0 then), and where the
    spread of the denominator does not keep it from being 0: then no amount is too large.

    Source: E. C. Fieller, Journal of the Royal Statistical Society B 16 (1954) 175-185, over clusters.
    """
    count = len(pairs)
    if count < 2:
        return None
    over, under = fmean(x for x, _ in pairs), fmean(y for _, y in pairs)
    scale = _t(level, count - 1) ** 2 / (count * (count - 1))
    spread_over = scale * sum((x - over) ** 2 for x, _ in pairs)
    spread_under = scale * sum((y - under) ** 2 for _, y in pairs)
    together = scale * sum((x - over) * (y - under) for x, y in pairs)
    room = under**2 - spread_under
    if room <= 1e-12 * under**2 or spread_over + spread_under == 0:
        return None
    middle = over * under - together
    half = sqrt(max(middle**2 - room * (over**2 - spread_over), 0.0))
    return max((middle - half) / room, 0.0), (middle + half) / room


def clustered_rate(clusters: Sequence[tuple[int, int]], *, level: float = LEVEL) -> tuple[float, float] | None:
    """Return the interval of a rate whose units come in clusters of ``(successes, units)``: trials of one task.

    Trials of one task are no independent draws, so the sample is shrunk before Wilson's interval is taken:
    ``deff = clip(SE_c^2 / (p (1-p) / N), 1, K)`` with the clustered standard error ``SE_c`` in its C/(C-1) form and K
    the most units in a cluster, ``n_eff = N / deff``; where SE_c is 0, ``n_eff`` is the number of clusters; then
    ``n_eff`` is multiplied by ``(z / t_{T-1})^2``. One unit a cluster is Wilson's interval itself. ``None`` where a
    single cluster holds several units: its spread cannot be known.

    Source: evaluators.md B.0, validated by simulation there (G35); clustered standard errors after Miller (2024),
    "Adding error bars to evals".

    Raises:
        ValueError: no units.
    """
    p, effective = _effective(clusters, level)
    return None if effective is None else wilson(p * effective, effective, level=level)


def effective_size(clusters: Sequence[tuple[int, int]], *, level: float = LEVEL) -> float | None:
    """Return how many independent units clusters are worth, as ``clustered_rate`` counts them.

    Raises:
        ValueError: no units.
    """
    return _effective(clusters, level)[1]


def _effective(clusters: Sequence[tuple[int, int]], level: float) -> tuple[float, float | None]:
    """Return the rate, and the size of a sample of independent units that is as sure of it."""
    sizes = [n for _, n in clusters if n]
    total = sum(sizes)
    if not total:
        raise ValueError("an interval needs at least one unit")
    p = sum(x for x, _ in clusters) / total
    if max(sizes) == 1:
        return p, float(total)
    count = len(sizes)
    if count < 2:
        return p, None
    squared = count / (count - 1) * sum((x - p * n) ** 2 for x, n in clusters if n) / total**2
    if squared == 0 or p in (0.0, 1.0):
        effective = float(count)
    else:
        effective = total / min(max(squared / (p * (1 - p) / total), 1.0), float(max(sizes)))
    return p, effective * (_z(level) / _t(level, count - 1)) ** 2
