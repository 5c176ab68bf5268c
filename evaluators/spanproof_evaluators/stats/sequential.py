"""Looking every night: evidence that holds at whatever moment one stops."""

from math import exp, inf, log, log1p
from typing import Final

BLOCKS_AT: Final = 20.0
"""An e-value of 20 is reached by chance in at most one of 20 endless series: 1/0.05 (J. Ville, 1939)."""


def e_value(worse: int, better: int) -> float:
    """Return the evidence that losses are likelier than gains, by a bet on every pair that differs.

    ``E = 2^n · 2 · B(w+1, b+1) · (1 - I_{1/2}(w+1, b+1))``: a uniform bet on chances of a loss above one half. Ties
    count nothing. Under equality the chance that it ever exceeds 1/alpha is at most alpha.

    Source: evaluators.md B43; V. Vovk, R. Wang, "E-values", Annals of Statistics 49 (2021) 1736-1754.
    """
    from scipy.special import betainc, betaln

    if worse < 0 or better < 0:
        raise ValueError("pairs are counted from 0")
    above = float(betainc(better + 1, worse + 1, 0.5))  # the complement of I_{1/2}(w+1, b+1)
    if above == 0.0:
        return 0.0
    exponent = (worse + better + 1) * log(2) + float(betaln(worse + 1, better + 1)) + log(above)
    return exp(exponent) if exponent < 700 else inf


def two_sided_e_value(worse: int, better: int) -> float:
    """Return the evidence that losses and gains are not equally likely, whichever is: ``2^n B(w+1, b+1)``.

    A uniform bet on every chance of a loss; under equality it exceeds 1/alpha at any time at most with chance alpha.
    """
    from scipy.special import betaln

    if worse < 0 or better < 0:
        raise ValueError("pairs are counted from 0")
    exponent = (worse + better) * log(2) + float(betaln(worse + 1, better + 1))
    return exp(exponent) if exponent < 700 else inf


def confidence_sequence(successes: int, n: int, *, level: float = 0.95) -> tuple[float, float]:
    """Return an interval for a rate that covers it at every n at once, so that one may look and stop at will.

    The rates that a Beta(1/2, 1/2) mixture does not refute: H. Robbins, Annals of Mathematical Statistics 41 (1970)
    1397-1409.

    Raises:
        ValueError: no units, or more successes than units.
    """
    from scipy.optimize import brentq
    from scipy.special import betaln

    if n <= 0 or not 0 <= successes <= n:
        raise ValueError("an interval needs at least one unit, and no more successes than units")
    mixture = float(betaln(successes + 0.5, n - successes + 0.5) - betaln(0.5, 0.5))
    failures = n - successes

    def over(p: float) -> float:
        """How far the mixture's evidence against a rate is above its limit, in logarithms."""
        likelihood = (successes * log(p) if successes else 0.0) + (failures * log1p(-p) if failures else 0.0)
        return mixture - likelihood + log(1 - level)

    best = successes / n
    low = 0.0 if not successes else float(brentq(over, 1e-300, best, xtol=1e-15, rtol=1e-14))
    high = 1.0 if not failures else float(brentq(over, best, 1 - 1e-16, xtol=1e-15, rtol=1e-14))
    return low, high
