"""What a set of tasks can show: how many are needed, what is found how often, and how often a rule is wrong."""

from collections.abc import Callable, Iterator
from math import asin, ceil, log, sqrt
from statistics import NormalDist

ALPHA = 0.05
POWER = 0.8
_LEAST = 1e-30


def _quantile(tail: float) -> float:
    return NormalDist().inv_cdf(1 - tail)


def _tail(alpha: float, two_sided: bool) -> float:
    return alpha / 2 if two_sided else alpha


def _changed(drop: float, most: float = 1.0) -> None:
    """Refuse a change that no number of tasks finds, and one that cannot be."""
    if not drop:
        raise ValueError("no number of tasks finds a change of 0")
    if not abs(drop) <= most:
        raise ValueError(f"a change of {drop:g} is more than the {most:g} that can change")


def unpaired_tasks(
    before: float, after: float, *, alpha: float = ALPHA, power: float = POWER, two_sided: bool = True
) -> int:
    """Return the tasks a variant for finding a change of rates on different tasks.

    Source: J. L. Fleiss, Statistical Methods for Rates and Proportions (1981), section 3.2, without correction.
    """
    _changed(before - after)
    middle = (before + after) / 2
    spread = _quantile(_tail(alpha, two_sided)) * sqrt(2 * middle * (1 - middle))
    spread += _quantile(1 - power) * sqrt(before * (1 - before) + after * (1 - after))
    return ceil((spread / (before - after)) ** 2)


def unpaired_tasks_by_arcsine(before: float, after: float, *, alpha: float = ALPHA, power: float = POWER) -> int:
    """Return the same by the difference of arcsines, two-sided: what ``NormalIndPower`` of statsmodels gives.

    Source: J. Cohen, Statistical Power Analysis for the Behavioral Sciences (1988), chapter 6, effect size h.
    """
    _changed(before - after)
    reach = _quantile(alpha / 2) + _quantile(1 - power)
    effect = 2 * asin(sqrt(before)) - 2 * asin(sqrt(after))
    return ceil(2 * (reach / effect) ** 2)


def paired_tasks(
    drop: float, discordance: float, *, alpha: float = ALPHA, power: float = POWER, two_sided: bool = False
) -> int:
    """Return the tasks for finding a drop on the same tasks, of which a share ``discordance`` ends differently.

    Source: R. J. Connor, Biometrics 43 (1987) 207-211.
    """
    _changed(drop, discordance)
    spread = _quantile(_tail(alpha, two_sided)) * sqrt(discordance)
    spread += _quantile(1 - power) * sqrt(discordance - drop**2)
    return ceil((spread / drop) ** 2)


def repeated_tasks(
    drop: float, between: float, within: float, repeats: int, *, alpha: float = ALPHA, power: float = POWER
) -> int:
    """Return the tasks for finding a drop where each is tried several times by both variants.

    Source: E. Miller (arXiv 2411.00640), section 5: variance ``omega^2 + 2 sigma^2 / K``.

    Args:
        drop: the difference of rates.
        between: omega squared, the variance between tasks of the true difference.
        within: sigma squared, the variance of one attempt around its task's rate.
        repeats: attempts a task and variant.
        alpha: two-sided.
        power: the chance of finding it.
    """
    _changed(drop)
    if repeats < 1:
        raise ValueError("each task is tried at least once")
    reach = (_quantile(alpha / 2) + _quantile(1 - power)) ** 2
    return ceil(reach * (between + 2 * within / repeats) / drop**2)


def trials_without_failure(rate: float, *, level: float = 0.95) -> int:
    """Return how many trials in a row without a failure show that it is rarer than a rate (about 3 over the rate)."""
    if not 0 < rate < 1:
        raise ValueError("a rate that can be shown lies between 0 and 1")
    return ceil(log(1 - level) / log(1 - rate))


def pairs(n: int, worse: float, better: float) -> Iterator[tuple[int, int, float]]:
    """Yield every count of losses and gains among n tasks with its chance, ties making up the rest.

    Counts with a chance below 1e-30 are left out: together they are less than any digit that a float has.
    """
    import numpy as np
    from scipy.stats import binom

    share = worse / (worse + better) if worse + better else 0.0
    differ = binom.pmf(np.arange(n + 1), n, worse + better)
    for count in range(n + 1):
        if differ[count] < _LEAST:
            continue
        chances = differ[count] * binom.pmf(np.arange(count + 1), count, share)
        for lost in np.flatnonzero(chances >= _LEAST).tolist():
            yield lost, count - lost, float(chances[lost])


def chance_of(rejects: Callable[[int, int], bool], n: int, worse: float, better: float) -> float:
    """Return how often a rule on losses and gains rejects among n tasks that lose and gain at these rates: exact."""
    return sum(chance for lost, gained, chance in pairs(n, worse, better) if rejects(lost, gained))


def paired_power(n: int, drop: float, discordance: float, *, alpha: float = ALPHA) -> float:
    """Return the exact power of the one-sided McNemar test for a drop; of no drop, its false-alarm rate."""
    from scipy.stats import binom

    least = [int(binom.isf(alpha, count, 0.5)) + 1 for count in range(n + 1)]
    return chance_of(
        lambda lost, gained: lost >= least[lost + gained], n, (discordance + drop) / 2, (discordance - drop) / 2
    )


def minimum_detectable_drop(n: int, discordance: float, *, alpha: float = ALPHA, power: float = POWER) -> float | None:
    """Return the smallest drop that the one-sided McNemar test finds with this power, to 0.0001.

    ``None`` where not even a drop as large as the discordance is found so often.
    """
    if paired_power(n, discordance, discordance, alpha=alpha) < power:
        return None
    low, high = 0.0, discordance
    while high - low > 1e-4:
        middle = (low + high) / 2
        if paired_power(n, middle, discordance, alpha=alpha) < power:
            low = middle
        else:
            high = middle
    return high


def point_rule(drop: float, n: int) -> Callable[[int, int], bool]:
    """Return the rule that rejects any drop of more than so many units of a rate, whatever its error."""
    return lambda lost, gained: round((lost - gained) / n, 12) > drop
