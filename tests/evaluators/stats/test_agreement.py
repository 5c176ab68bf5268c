"""Agreement of raters against golden case G14 and hand-counted tables."""

from collections.abc import Sequence

import pytest

from spanproof_evaluators.stats.agreement import (
    Confusion,
    Rating,
    cohen_kappa,
    confusion,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
    scott_pi,
)
from tests.evaluators.stats.golden import golden
from tests.shared import needs_golden

FIELDS = ("trajectory_success", "trajectory_side_effect", "trajectory_looping", "trajectory_optimality")

MANY: list[list[Rating | None]] = [
    ["a", "a", None, "a"],
    ["b", "b", "c", "b"],
    ["c", "c", "c", "c"],
    ["c", "c", "c", "c"],
    ["b", "b", "b", "b"],
    ["a", "b", "c", "d"],
    ["d", "d", "d", "d"],
    ["a", "a", "b", "a"],
    ["b", "b", "b", "b"],
    [None, "e", "e", "e"],
    [None, None, "a", "a"],
    [None, None, "c", None],
]
"""The data of K. Krippendorff, "Computing Krippendorff's alpha-reliability" (2011): four raters, words missing."""


def of_table(matrix: Sequence[Sequence[int]], categories: Sequence[str]) -> list[tuple[Rating | None, Rating | None]]:
    return [
        (row, column)
        for row, counts in zip(categories, matrix, strict=True)
        for column, count in zip(categories, counts, strict=True)
        for _ in range(count)
    ]


@needs_golden
@pytest.mark.parametrize("field", FIELDS)
def test_two_annotators_of_agent_reward_bench(field: str) -> None:
    case, told = golden("G14")["inputs"][field], golden("G14")["expected"][field]
    both = of_table(case["matrix"], case["categories"])
    table = confusion([*both, *[(None, case["categories"][0])] * case["unsure_dropped"]], case["categories"])
    assert [list(row) for row in table.matrix] == case["matrix"]
    assert (table.items, table.left_out) == (told["n"], case["unsure_dropped"])
    assert percent_agreement(both) == pytest.approx(told["percent_agreement"], rel=1e-9)
    kappa = cohen_kappa(table)
    assert kappa is not None
    assert kappa.value == pytest.approx(told["cohen_kappa"], rel=1e-9)
    assert list(kappa.interval) == pytest.approx(told["kappa_ci95"], rel=1e-9)
    assert gwet_ac1(both) == pytest.approx(told["gwet_ac1"], rel=1e-9)
    assert scott_pi(table) == pytest.approx(told["scott_pi"], rel=1e-9)
    assert krippendorff_alpha(both) == pytest.approx(told["krippendorff_alpha"], rel=1e-9)


def test_four_raters_with_words_missing() -> None:
    # Krippendorff (2011) prints 0.743 for this table, Gwet's Handbook of Inter-Rater Reliability 0.77544 for AC1.
    assert krippendorff_alpha(MANY) == pytest.approx(0.743, abs=5e-4)
    assert gwet_ac1(MANY) == pytest.approx(0.77544, abs=5e-6)
    assert percent_agreement(MANY) == pytest.approx(0.81818, abs=5e-6)


def test_a_single_category_tells_of_no_agreement_beyond_chance() -> None:
    same: list[tuple[Rating, Rating]] = [("yes", "yes")] * 9
    assert percent_agreement(same) == 1.0
    table = confusion(same)
    assert (cohen_kappa(table), scott_pi(table), gwet_ac1(same), krippendorff_alpha(same)) == (None,) * 4
    two = confusion(same, ["yes", "no"])
    assert (cohen_kappa(two), scott_pi(two)) == (None, None)
    assert gwet_ac1(same, ["yes", "no"]) == 1.0


def test_nothing_rated_twice_tells_nothing() -> None:
    alone: list[tuple[Rating | None, Rating | None]] = [("yes", None), (None, "no")]
    table = confusion(alone)
    assert (table.items, table.left_out) == (0, 2)
    assert (percent_agreement(alone), cohen_kappa(table), scott_pi(table)) == (None, None, None)
    assert (gwet_ac1(alone), krippendorff_alpha(alone)) == (None, None)


def test_rows_are_the_first_rater_and_columns_the_second() -> None:
    found = confusion([(True, False), (True, True), (True, False)], [True, False])
    assert found == Confusion(categories=(True, False), matrix=((1, 2), (0, 0)))


@pytest.mark.parametrize(
    ("ratings", "says"), [([("a",)], "of two raters"), ([("a", "b", "c")], "of two raters"), ([("a", "x")], "none of")]
)
def test_what_is_no_table_of_two_is_refused(ratings: Sequence[Sequence[Rating]], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        confusion(ratings, ["a", "b", "c"])
