"""Reliability over repeated trials: what an agent can do at all, and what it does every time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb, prod
from statistics import fmean, stdev


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """Return the chance that at least one of k attempts succeeds, without bias; ``None`` for more attempts than made.

    ``1 - C(n-c, k) / C(n, k)`` in the product form that does not overflow: M. Chen et al., "Evaluating large language
    models trained on code" (arXiv 2107.03374).

    Args:
        n: attempts at the task.
        c: how many of them succeeded.
        k: attempts that the user takes.
    """
    _check(n, c, k)
    if k > n:
        return None
    if n - c < k:
        return 1.0
    return 1.0 - prod(1.0 - k / each for each in range(n - c + 1, n + 1))


def pass_hat_k(n: int, c: int, k: int) -> float | None:
    """Return the chance that all of k attempts succeed, without bias; ``None`` for more attempts than made.

    ``C(c, k) / C(n, k)``: S. Yao et al., tau-bench (arXiv 2406.12045).
    """
    _check(n, c, k)
    return None if k > n else comb(c, k) / comb(n, k)


def agreement_of_two(n: int, c: int) -> float | None:
    """Return the chance that two attempts at one task end alike; ``None`` below two attempts.

    ``(C(c, 2) + C(n-c, 2)) / C(n, 2)``: outcome consistency (arXiv 2602.16666).
    """
    _check(n, c, 1)
    return None if n < 2 else (comb(c, 2) + comb(n - c, 2)) / comb(n, 2)


def extrapolated_pass_at_k(p: float, k: int) -> float:
    """Return ``1 - (1-p)^k``: an extrapolation from a rate that is taken for the truth. Biased where p is estimated."""
    return 1.0 - (1.0 - p) ** k


def extrapolated_pass_hat_k(p: float, k: int) -> float:
    """Return ``p^k``: an extrapolation from a rate that is taken for the truth. Biased where p is estimated."""
    return float(p**k)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskMean:
    """The mean of an estimator over tasks, each task counting once."""

    value: float
    standard_error: float | None
    """Of the mean over tasks; ``None`` for a single one."""

    tasks: int
    left_out: int
    """Tasks with too few attempts for this k: the estimator says nothing of them."""


def over_tasks(
    estimator: Callable[[int, int, int], float | None], counts: Sequence[tuple[int, int]], k: int
) -> TaskMean | None:
    """Return the mean over tasks of ``(attempts, successes)``; ``None`` where no task has k attempts.

    The standard error is that of a mean over tasks, ``s / sqrt(T)``, which is the clustered one: attempts at one task
    are no independent draws.
    """
    found = [value for n, c in counts if (value := estimator(n, c, k)) is not None]
    if not found:
        return None
    return TaskMean(
        value=fmean(found),
        standard_error=stdev(found) / len(found) ** 0.5 if len(found) > 1 else None,
        tasks=len(found),
        left_out=len(counts) - len(found),
    )


def _check(n: int, c: int, k: int) -> None:
    if n < 0 or not 0 <= c <= n:
        raise ValueError(f"{c} of {n} attempts cannot have succeeded")
    if k < 1:
        raise ValueError("k is at least 1")
