"""Paired comparisons against statsmodels, scipy and published results."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanproof_evaluators.stats.comparisons import clustering, mcnemar, paired_difference, sign_flip
from tests.evaluators.stats.golden import golden
from tests.shared import needs_golden


def agentdojo(measure: str) -> tuple[list[int], list[int], list[str]]:
    """Return the outcomes a and b of golden case G07 by trial, and the user task of each."""
    case, trials = golden("G07")["inputs"], golden("G06")["inputs"]
    a, b = (trials["trials"][case[name]] for name in ("a", "b"))
    keys = trials["trial_keys"][a["keys"]]
    return [int(bit) for bit in a[measure]], [int(bit) for bit in b[measure]], [key.rsplit("/", 1)[0] for key in keys]


@needs_golden
@pytest.mark.parametrize(("measure", "name"), [("utility", "utility"), ("security", "attack_success")])
def test_agentdojo_pairs_give_the_errors_of_statsmodels(measure: str, name: str) -> None:
    a, b, tasks = agentdojo(measure)
    expected = golden("G07")["expected"][name]
    found = paired_difference([y - x for x, y in zip(a, b, strict=True)], tasks)
    assert (found.units, found.clusters) == (expected["n"], expected["clusters"])
    assert found.value == pytest.approx(expected["diff"], rel=1e-9)
    assert found.naive_error == pytest.approx(expected["naive_paired_se"], rel=1e-9)
    assert found.clustered_error == pytest.approx(expected["clustered_paired_se"], rel=1e-9)
    worse = sum(x > y for x, y in zip(a, b, strict=True))
    better = sum(x < y for x, y in zip(a, b, strict=True))
    assert (worse, better) == (expected["table"]["n10"], expected["table"]["n01"])
    test = mcnemar(worse, better)
    assert test.exact == pytest.approx(expected["mcnemar_exact_p"], rel=1e-9)
    assert test.mid_p == pytest.approx(expected["mcnemar_mid_p"], rel=1e-9)
    sums: dict[str, float] = {}
    for x, y, task in zip(a, b, tasks, strict=True):
        sums[task] = sums.get(task, 0.0) + y - x
    # The expected figure is one of 20,000 draws, ours is exact: four standard errors of the draws.
    p = expected["cluster_sign_flip_p_mc"]
    assert sign_flip(list(sums.values())) == pytest.approx(p, abs=4 * (p * (1 - p) / 20_000) ** 0.5)


@needs_golden
def test_tau_bench_trials_of_one_task_are_alike() -> None:
    # Golden case G12: the formula of inspect_ai, statsmodels and Miller (2024).
    groups = list(golden("G04")["inputs"]["rewards_by_task"].values())
    expected = golden("G12")["expected"]
    found = clustering(groups)
    assert found.icc == pytest.approx(expected["icc_anova"], rel=1e-9)
    assert found.design_effect == pytest.approx(expected["design_effect"], rel=1e-9)
    values = [value for group in groups for value in group]
    difference = paired_difference(values, [at for at, group in enumerate(groups) for _ in group])
    assert difference.naive_error == pytest.approx(expected["naive_se"], rel=1e-9)
    assert difference.clustered_error == pytest.approx(expected["clustered_se_C_over_Cminus1"], rel=1e-9)


@pytest.mark.parametrize(
    ("worse", "better", "exact", "mid_p", "one_sided"),
    [
        # Golden case G13: statsmodels and scipy.
        (1, 0, 1.0, 0.5, 0.5),
        (2, 1, 1.0, 0.625, 0.5),
        (8, 2, 0.109375, 0.06542968749999996, 0.0546875),
        (5, 5, 1.0, 0.75390625, 0.623046875),
        (6, 0, 0.03125, 0.015625, 0.015625),
        (5, 1, 0.21875, 0.125, 0.109375),
        (12, 3, 0.03515625, 0.02127075195312501, 0.017578125),
        (25, 10, 0.016673847800120715, 0.011330984183587134, 0.008336923900060357),
        (0, 0, 1.0, 1.0, 1.0),
    ],
)
def test_mcnemar_is_exact(worse: int, better: int, exact: float, mid_p: float, one_sided: float) -> None:
    found = mcnemar(worse, better)
    assert (found.exact, found.mid_p, found.one_sided_worse) == pytest.approx((exact, mid_p, one_sided), rel=1e-9)


@given(st.lists(st.integers(-3, 3), max_size=7))
def test_sign_flips_of_few_clusters_are_counted_one_by_one(sums: list[int]) -> None:
    every = [
        sum(sign * each for sign, each in zip(signs, sums, strict=True)) for signs in product((1, -1), repeat=len(sums))
    ]
    assert sign_flip(sums) == sum(abs(total) >= abs(sum(sums)) for total in every) / len(every)


@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
def test_a_difference_that_is_no_number_has_no_p_value(odd: float) -> None:
    with pytest.raises(ValueError, match="no finite number"):
        sign_flip([1.0, odd, -1.0])


def test_all_ties_speak_for_nothing() -> None:
    assert sign_flip([]) == 1.0
    assert sign_flip([0.0] * 40) == 1.0


def test_many_clusters_of_rates_are_exact() -> None:
    assert sign_flip([1.0] * 60) == 2 / 2**60


def test_many_totals_are_drawn_with_a_seed_and_never_give_zero() -> None:
    sums = [1.0 + 0.001 * at * at for at in range(40)]
    assert sign_flip(sums) == sign_flip(sums) == 1 / 20_001


@given(st.lists(st.floats(-3, 3).map(lambda value: round(value, 6)), max_size=7))
def test_any_amounts_of_few_clusters_are_counted_one_by_one(sums: list[float]) -> None:
    moving = [each for each in sums if each]
    every = [
        sum(sign * each for sign, each in zip(signs, moving, strict=True))
        for signs in product((1, -1), repeat=len(moving))
    ]
    expected = sum(abs(total) >= abs(sum(moving)) - 1e-9 for total in every) / len(every)
    assert sign_flip(sums) == pytest.approx(expected)


def test_a_single_unit_has_no_error_and_a_single_cluster_no_clustered_one() -> None:
    one = paired_difference([1.0], ["a"])
    assert (one.value, one.naive_error, one.clustered_error) == (1.0, None, None)
    two = paired_difference([1.0, 0.0], ["a", "a"])
    assert two.naive_error == pytest.approx(0.5)
    assert two.clustered_error is None


def test_units_and_clusters_have_to_match() -> None:
    with pytest.raises(ValueError, match="needs a cluster"):
        paired_difference([1.0], [])
    with pytest.raises(ValueError, match="at least one"):
        paired_difference([], [])


def test_equal_trials_have_no_design_effect_to_speak_of() -> None:
    found = clustering([[1.0, 1.0], [1.0, 1.0]])
    assert (found.icc, found.design_effect) == (None, None)
