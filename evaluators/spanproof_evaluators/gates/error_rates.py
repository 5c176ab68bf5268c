"""How often a gate is wrong on this set of tasks (evaluators.md B44). What the figures assume stands beside them."""

from collections.abc import Callable
from dataclasses import replace
from math import sqrt
from statistics import NormalDist
from typing import Final

from spanproof_evaluators.model.comparisons import Compared, Growth
from spanproof_evaluators.model.decisions import ErrorRates, Gate
from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.stats.power import chance_of, point_rule
from spanproof_evaluators.stats.sequential import BLOCKS_AT, e_value

WORSE: Final = 0.05
"""How much worse a variant is whose detection the power is."""

POWER: Final = 0.8
ASSUMED_DISCORDANCE: Final = 0.1
"""The share of tasks that end differently by chance, where this comparison shows no difference at all."""

_MOST_EXACT: Final = 400
"""Up to so many tasks every outcome is counted."""

_NORMAL: Final = NormalDist()


def of_limit(gate: Gate, measure: Measure) -> ErrorRates | None:
    """Return the error rates of a limit on a rate or a count; ``None`` for amounts and where nothing was counted."""
    count = measure.denominator
    if (
        measure.unit == "usd"
        or measure.per is not None
        or not count
        or isinstance(measure.numerator, float)
        or measure.numerator is None
    ):
        return None
    if gate.what == "numerator" and gate.comparator == "at_most" and gate.limit == 0:
        return ErrorRates(
            false_alarm=0.0,
            power=1 - (1 - WORSE) ** count,
            mde=1 - (1 - POWER) ** (1 / count),
            basis=f"{_units(measure)}; a variant that never does it, against one that does in 5 of 100",
        )
    if gate.what == "value" and gate.comparator == "at_least":
        found = of_floor(float(gate.limit), count)
        return replace(found, basis=f"{_units(measure)}; {found.basis.partition('; ')[2]}")
    return None


def of_floor(limit: float, count: int) -> ErrorRates:
    """Return the error rates of a floor under a rate over independent units."""
    from scipy.stats import binom

    least = next((hits for hits in range(count + 1) if hits / count >= limit), count + 1)
    good, bad = (1 + limit) / 2, max(limit - WORSE, 0.0)

    def stopped(rate: float) -> float:
        return float(binom.cdf(least - 1, count, rate))

    low, high = 0.0, limit
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if stopped(limit - middle) >= POWER else (middle, high)
    found = stopped(0.0) >= POWER
    return ErrorRates(
        false_alarm=stopped(good),
        power=stopped(bad),
        mde=high if found else None,
        basis=f"{count} independent units; false alarm at a true rate of {good:.3g}, power at {bad:.3g}",
    )


def of_drop(found: Compared, limit: float, rule: str, *, inconclusive_stops: bool, among: int = 0) -> ErrorRates | None:
    """Return the error rates of a limit on the drop of a solve rate; ``None`` where nothing was compared.

    ``among`` categories are tested together; 0 for the whole, which is tested by itself.
    """
    count = found.tasks
    if not count:
        return None
    if rule == "e_value":
        return _of_e_value(found)
    discordance = (found.worse + found.better) / count or ASSUMED_DISCORDANCE
    single = found.p_method == "McNemar, exact"
    told = f"{_tasks(count)} of which {discordance:.0%} end differently by chance"
    if rule == "point" and single and count <= _MOST_EXACT:
        rejects = point_rule(limit, count)
        half = discordance / 2

        def stopped(drop: float) -> float:
            drop = min(drop, discordance)
            return chance_of(rejects, count, half + drop / 2, half - drop / 2)

        return ErrorRates(
            false_alarm=stopped(0.0),
            power=stopped(WORSE) if discordance >= WORSE else None,
            mde=_smallest(stopped, discordance),
            basis=f"{told}; exact",
        )
    error = found.standard_error or sqrt(discordance / count)
    reach = _NORMAL.inv_cdf(0.95) * error
    shown = _NORMAL.inv_cdf(1 - 0.025 / among) * error if among else reach  # two-sided, the strictest step of Holm's
    least = -limit
    if rule == "confident":
        least = -limit + reach if inconclusive_stops else -shown
    least_found = max(-least + _NORMAL.inv_cdf(POWER) * error, 0.0)
    together = f", one of {among} tested together" if among > 1 else ""
    return ErrorRates(
        false_alarm=_NORMAL.cdf(least / error),
        power=_NORMAL.cdf((least + WORSE) / error),
        mde=least_found if least_found <= 1 else None,  # a rate cannot drop by more than all of it
        basis=f"a standard error of {error:.3g} over {_tasks(count)}{together}; normal approximation",
    )


def of_growth(found: Growth, limit: float) -> ErrorRates | None:
    """Return the error rates of a limit on growth; ``None`` where its spread is not known."""
    error = found.standard_error
    if not error:
        return None
    return ErrorRates(
        false_alarm=_NORMAL.cdf((1 - limit) / error),
        power=_NORMAL.cdf(limit * WORSE / error),
        mde=limit + _NORMAL.inv_cdf(POWER) * error - 1,
        basis=f"a standard error of {error:.3g} over {_tasks(found.tasks)}; false alarm without growth, power 5 % "
        "above the limit; normal approximation",
    )


def _of_e_value(found: Compared) -> ErrorRates:
    discordance = (found.worse + found.better) / found.tasks or ASSUMED_DISCORDANCE
    half = discordance / 2
    count = min(found.tasks, _MOST_EXACT)

    def stopped(drop: float) -> float:
        drop = min(drop, discordance)
        return chance_of(lambda lost, won: e_value(lost, won) >= BLOCKS_AT, count, half + drop / 2, half - drop / 2)

    return ErrorRates(
        false_alarm=stopped(0.0),
        power=stopped(WORSE) if discordance >= WORSE else None,
        mde=_smallest(stopped, discordance),
        basis=f"{_tasks(count)} of which {discordance:.0%} end differently by chance, one night; over any number of "
        "nights at most 0.05",
    )


def _units(measure: Measure) -> str:
    """Return what the figures count, and that they take it for independent where it comes in clusters."""
    count, clusters = measure.denominator, measure.n_clusters
    if not 0 < clusters < (count or 0):
        return f"{count} independent units"
    return f"{count} units of {clusters} {_CLUSTERS.get(measure.unit, 'tasks')}, taken for independent"


_CLUSTERS: Final = {"effect": "trials", "window": "trials", "step": "trials"}


def _tasks(count: int) -> str:
    return "1 task" if count == 1 else f"{count} tasks"


def _smallest(stopped: Callable[[float], float], most: float) -> float | None:
    """Return the smallest drop that is stopped in 80 of 100 cases, to 0.001; ``None`` where none is."""
    if stopped(most) < POWER:
        return None
    low, high = 0.0, most
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (low, middle) if stopped(middle) >= POWER else (middle, high)
    return high
