"""Intervals against published and golden figures."""

import math
from collections.abc import Callable

import pytest

from spanproof_evaluators.stats.intervals import (
    agresti_coull,
    clopper_pearson,
    clustered_rate,
    jeffreys,
    lower_bound,
    mean_interval,
    ratio_of_totals,
    upper_bound,
    wald,
    wilson,
)

# Golden case G11: statsmodels proportion_confint, cross-checked with scipy binomtest.
GOLDEN = [
    (0, 5, (0.0, 0.43448246478317487), (0.0, 0.5218237501049814)),
    (1, 5, (0.036224108632430196, 0.6244653702374748), (0.005050763379468115, 0.7164179361180895)),
    (4, 5, (0.3755346297625252, 0.9637758913675698), (0.28358206388191054, 0.9949492366205319)),
    (5, 5, (0.5655175352168252, 1.0), (0.47817624989501856, 1.0)),
]


@pytest.mark.parametrize(("x", "n", "expected", "_exact"), GOLDEN)
def test_wilson_agrees_with_the_golden_figures(
    x: int, n: int, expected: tuple[float, float], _exact: tuple[float, float]
) -> None:
    assert wilson(x, n) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("x", "n", "_score", "expected"), GOLDEN)
def test_clopper_pearson_agrees_with_the_golden_figures(
    x: int, n: int, _score: tuple[float, float], expected: tuple[float, float]
) -> None:
    assert clopper_pearson(x, n) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("n", "expected"), [(5, 0.4507197283469412), (59, 0.0495), (299, 0.00997)])
def test_no_failure_in_n_leaves_room_for_one_minus_alpha_to_the_nth_root(n: int, expected: float) -> None:
    assert upper_bound(0, n) == pytest.approx(1 - 0.05 ** (1 / n))
    assert upper_bound(0, n) == pytest.approx(expected, abs=1e-4)


def test_the_lower_bound_mirrors_the_upper_one() -> None:
    assert lower_bound(5, 5) == pytest.approx(1 - upper_bound(0, 5))


def test_ten_tasks_of_three_passes_each_are_ten_tasks_and_not_thirty_trials() -> None:
    # Golden case G35: [0.661, 1], where independent trials would give [0.886, 1].
    assert clustered_rate([(3, 3)] * 10) == pytest.approx((0.6614913773398167, 1.0))


def test_repeated_trials_of_one_task_widen_the_interval() -> None:
    # Golden case G35 on G04 (tau-bench airline, gpt-4o): 50 tasks of four trials, by how many passed.
    tasks = [(0, 4)] * 14 + [(1, 4)] * 12 + [(2, 4)] * 10 + [(3, 4)] * 4 + [(4, 4)] * 10
    assert clustered_rate(tasks) == pytest.approx((0.32076300175147715, 0.5261562969370001), rel=1e-9)


def test_one_trial_a_task_is_wilson() -> None:
    assert clustered_rate([(1, 1), (0, 1), (1, 1)]) == wilson(2, 3)


def test_one_task_alone_says_nothing_of_the_spread_between_tasks() -> None:
    assert clustered_rate([(2, 3)]) is None


def test_the_mean_of_one_value_has_no_interval() -> None:
    assert mean_interval([0.8]) is None


def test_the_interval_of_a_mean_is_student_s() -> None:
    low, high = mean_interval([0.815, 0.822, 0.809, 0.826]) or (0.0, 0.0)
    assert (low + high) / 2 == pytest.approx(0.818)
    assert high - low == pytest.approx(2 * 3.182446305284263 * 0.007527726527090817 / 2, rel=1e-6)


def test_an_interval_over_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one unit"):
        wilson(0, 0)


def test_a_ratio_of_totals_is_a_mean_where_every_cluster_buys_one() -> None:
    costs = [0.38, 0.42, 0.44, 0.41]
    found = ratio_of_totals([(cost, 1) for cost in costs])
    assert found == pytest.approx(mean_interval(costs), rel=1e-9)


def test_a_ratio_of_totals_holds_what_fieller_s_quadratic_does_not_refute() -> None:
    pairs = [(1.0, 2.0), (2.0, 3.0), (1.5, 2.0), (3.0, 4.0), (2.5, 5.0)]
    low, high = ratio_of_totals(pairs) or (0.0, 0.0)
    t = 2.7764451051977987  # Student's t, 4 degrees of freedom, two-sided 95 %
    for end in (low, high):
        rest = [x - end * y for x, y in pairs]
        mean = sum(rest) / 5
        error = (sum((each - mean) ** 2 for each in rest) / 4 / 5) ** 0.5
        assert abs(mean) / error == pytest.approx(t, rel=1e-9)
    assert low < 10 / 16 < high


@pytest.mark.parametrize("pairs", [[], [(1.0, 1.0)], [(1.0, 1.0)] * 5, [(1.0, 1.0), (1.0, 0.0), (2.0, 0.0)]])
def test_without_spread_or_with_too_much_of_it_a_ratio_of_totals_has_no_interval(
    pairs: list[tuple[float, float]],
) -> None:
    assert ratio_of_totals(pairs) is None


@pytest.mark.parametrize("method", [wilson, wald, agresti_coull, jeffreys, clopper_pearson, lower_bound, upper_bound])
@pytest.mark.parametrize(("x", "n"), [(5, 3), (-1, 3), (math.nan, 3), (1, math.inf)])
def test_impossible_counts_have_no_interval(method: Callable[[float, float], object], x: float, n: float) -> None:
    with pytest.raises(ValueError, match="cannot have succeeded"):
        method(x, n)
