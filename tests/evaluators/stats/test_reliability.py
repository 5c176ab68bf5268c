"""pass@k and pass^k against the figures of their inventors."""

from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanproof_evaluators.stats.baselines import null_adjusted
from spanproof_evaluators.stats.reliability import (
    agreement_of_two,
    extrapolated_pass_at_k,
    extrapolated_pass_hat_k,
    over_tasks,
    pass_at_k,
    pass_hat_k,
)
from tests.evaluators.stats.golden import golden
from tests.shared import needs_golden


@pytest.mark.parametrize(
    ("n", "c", "k", "expected"),
    [
        # Golden case G05: human-eval's estimator; the first is the sanity check of its README.
        (6, 3, 1, 0.4999999999999999),
        (200, 20, 1, 0.1000000000000002),
        (200, 20, 10, 0.660225623763214),
        (200, 20, 100, 0.9999996678312922),
        (10, 3, 5, 0.9166666666666666),
        (5, 5, 3, 1.0),
        (5, 0, 5, 0.0),
        (100, 1, 100, 1.0),
    ],
)
def test_pass_at_k_is_the_estimator_of_human_eval_digit_for_digit(n: int, c: int, k: int, expected: float) -> None:
    assert pass_at_k(n, c, k) == expected


@needs_golden
def test_tau_bench_airline_gives_its_published_row() -> None:
    # Golden case G04: README of tau-bench, gpt-4o, airline: .420 .273 .220 .200.
    case = golden("G04")
    counts = [(len(rewards), sum(rewards)) for rewards in case["inputs"]["rewards_by_task"].values()]
    for k in (1, 2, 3, 4):
        hat, at = over_tasks(pass_hat_k, counts, k), over_tasks(pass_at_k, counts, k)
        assert hat is not None
        assert at is not None
        assert round(hat.value, 3) == case["published"]["pass_hat"][str(k)]
        assert hat.value == pytest.approx(case["expected"]["pass_hat"][str(k)], rel=1e-9)
        assert hat.standard_error == pytest.approx(case["expected"]["clustered_se_pass_hat"][str(k)], rel=1e-9)
        assert at.value == pytest.approx(case["expected"]["pass_at"][str(k)], rel=1e-9)
        plugin = sum(extrapolated_pass_hat_k(c / n, k) for n, c in counts) / len(counts)
        assert plugin == pytest.approx(case["expected"]["plugin_pass_hat"][str(k)], rel=1e-9)


def test_the_examples_of_the_founding_texts() -> None:
    # Golden case G02.
    assert extrapolated_pass_at_k(0.7, 5) == pytest.approx(0.99757, rel=1e-9)
    assert extrapolated_pass_hat_k(0.7, 5) == pytest.approx(0.16806999999999994, rel=1e-9)
    assert extrapolated_pass_hat_k(0.5, 3) == 0.125
    assert extrapolated_pass_hat_k(0.8, 5) == pytest.approx(0.3276800000000001, rel=1e-9)
    runs = [True, True, False, True, True]
    found = [(pass_at_k(5, sum(runs), k), pass_hat_k(5, sum(runs), k)) for k in (1, 3, 5)]
    assert found == [pytest.approx((0.8, 0.8)), pytest.approx((1.0, 0.4)), pytest.approx((1.0, 0.0))]


@needs_golden
def test_the_plug_in_is_as_biased_as_said_and_the_estimator_is_not() -> None:
    # Golden case G03: the expectation over a binomial number of successes.
    for case in golden("G03")["expected"]:
        n, p, k = case["n"], case["p"], case["k"]
        chances = [comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
        plugin = sum(w * extrapolated_pass_hat_k(c / n, k) for c, w in enumerate(chances))
        assert plugin == pytest.approx(case["plugin_expectation"], rel=1e-9)
        unbiased = sum(w * (pass_hat_k(n, c, k) or 0.0) for c, w in enumerate(chances))
        assert unbiased == pytest.approx(p**k, rel=1e-9)
        assert sum(w * (pass_at_k(n, c, k) or 0.0) for c, w in enumerate(chances)) == pytest.approx(
            1 - (1 - p) ** k, rel=1e-9
        )


def test_more_attempts_than_were_made_say_nothing() -> None:
    assert pass_at_k(3, 2, 4) is None
    assert pass_hat_k(3, 2, 4) is None
    assert over_tasks(pass_hat_k, [(3, 2), (2, 2)], 4) is None


def test_a_task_with_too_few_attempts_is_left_out_and_counted() -> None:
    found = over_tasks(pass_hat_k, [(4, 4), (2, 0)], 3)
    assert found is not None
    assert (found.value, found.tasks, found.left_out, found.standard_error) == (1.0, 1, 1, None)


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (-1, 0, 1), (3, -1, 1), (3, 1, 0)])
def test_impossible_counts_are_refused(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match=r"attempts|k is"):
        pass_at_k(n, c, k)
    with pytest.raises(ValueError, match=r"attempts|k is"):
        pass_hat_k(n, c, k)


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.data())
def test_both_are_what_drawing_k_of_the_attempts_gives(runs: list[bool], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(runs)))
    draws = list(combinations(runs, k))
    assert pass_at_k(len(runs), sum(runs), k) == pytest.approx(sum(map(any, draws)) / len(draws))
    assert pass_hat_k(len(runs), sum(runs), k) == pytest.approx(sum(map(all, draws)) / len(draws))


@pytest.mark.parametrize(("n", "c", "expected"), [(1, 1, None), (2, 1, 0.0), (4, 4, 1.0), (4, 2, 1 / 3), (5, 4, 0.6)])
def test_two_attempts_agree_as_often_as_their_pairs_do(n: int, c: int, expected: float | None) -> None:
    found = agreement_of_two(n, c)
    assert found == (None if expected is None else pytest.approx(expected))


def test_what_doing_nothing_solves_is_taken_out() -> None:
    # Golden case G08: 19 of 50 tasks; gpt-4o's 0.42 becomes 0.0645.
    assert null_adjusted(0.42, 19 / 50) == pytest.approx(0.06451612903225803, rel=1e-9)
    assert null_adjusted(1.0, 1.0) is None
