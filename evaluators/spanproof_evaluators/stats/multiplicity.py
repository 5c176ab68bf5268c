"""Many tests at once: p-values adjusted so that a limit still means what it says."""

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for the family-wise error rate, in the order given.

    Source: S. Holm, Scandinavian Journal of Statistics 6 (1979) 65-70.
    """
    count = len(p_values)
    adjusted = [0.0] * count
    largest = 0.0
    for rank, at in enumerate(_ascending(p_values)):
        largest = max(largest, (count - rank) * p_values[at])
        adjusted[at] = min(1.0, largest)
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for the false discovery rate, in the order given: for lists to explore, not for vetoes.

    Source: Y. Benjamini, Y. Hochberg, Journal of the Royal Statistical Society B 57 (1995) 289-300.
    """
    return _step_up(p_values, 1.0)


def benjamini_yekutieli(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for the false discovery rate under any dependence, in the order given.

    Source: Y. Benjamini, D. Yekutieli, Annals of Statistics 29 (2001) 1165-1188.
    """
    return _step_up(p_values, sum(1 / rank for rank in range(1, len(p_values) + 1)))


def _step_up(p_values: Sequence[float], factor: float) -> list[float]:
    count = len(p_values)
    adjusted = [0.0] * count
    smallest = 1.0
    for rank, at in reversed(list(enumerate(_ascending(p_values), start=1))):
        smallest = min(smallest, factor * count / rank * p_values[at])
        adjusted[at] = smallest
    return adjusted


def _ascending(p_values: Sequence[float]) -> list[int]:
    if any(not 0 <= p <= 1 for p in p_values):
        raise ValueError("a p-value lies between 0 and 1")
    return sorted(range(len(p_values)), key=lambda at: p_values[at])
