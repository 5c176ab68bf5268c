"""Matching: which of one side belongs to which of the other, at the least cost in all. Never greedily (B24)."""

from collections.abc import Sequence


def cheapest_pairs(costs: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Return the pairs of rows and columns whose costs sum to the least: as many as the shorter side has, by row.

    Source: D. F. Crouse, IEEE Transactions on Aerospace and Electronic Systems 52 (2016), as scipy implements it.
    """
    if not costs or not costs[0]:
        return []
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(costs)
    return [(int(row), int(column)) for row, column in zip(rows, columns, strict=True)]
