"""Grids: which factor makes more, by hand-counted tables."""

import io
from collections.abc import Mapping

import pytest
from rich.console import Console

from spanproof_evaluators.errors import FilterError
from spanproof_evaluators.model.grids import Factor, Grid
from spanproof_evaluators.reports.terminal import print_grid
from spanproof_evaluators.runner import report
from spanproof_evaluators.runner.grids import grid, read_factors
from tests.evaluators.factories import assessed, trial

TWO = (Factor(key="harness", levels=("h1", "h2")), Factor(key="model", levels=("m1", "m2")))


def found(cells: Mapping[str, str], factors: tuple[Factor, ...] = TWO) -> Grid:
    """Return the grid of cells, each with a letter a task: v verified, f failed, ? neither."""
    states = {"v": "verified", "f": "failed", "?": "unavailable"}
    trials = [
        assessed(trial(f"{variant}-{place}", task_id=f"task-{place}", variant=variant), states[letter])  # type: ignore[arg-type]
        for variant, letters in cells.items()
        for place, letter in enumerate(letters)
    ]
    return grid(report(trials, None, described=""), factors)


def test_each_factor_makes_the_mean_over_tasks_of_what_it_makes_of_each() -> None:
    made = found({"h1-m1": "vff", "h1-m2": "vfv", "h2-m1": "vvv", "h2-m2": "vvv"})
    harness, model = made.differences
    assert (harness.key, harness.better, harness.worse, harness.estimate.value) == ("harness", "h2", "h1", 0.5)
    # 0, 1 and 0.5 have the standard error 0.5 / sqrt(3); Student's t at 2 degrees is 4.303; no rate is above 1
    assert harness.estimate.interval == pytest.approx((0.5 - 4.30265 * 0.288675, 1.0), abs=1e-4)
    assert model.better == "m2"
    assert model.estimate.value == pytest.approx(1 / 6)
    assert made.larger is not None
    assert made.larger.value == pytest.approx(1 / 3)
    assert made.said == "harness seems to matter more, and chance is not ruled out"


def test_a_difference_that_chance_does_not_explain_is_said_to_be_larger() -> None:
    cells = {"h1-m1": "ffffff", "h1-m2": "fffffv", "h2-m1": "vvvvvv", "h2-m2": "vvvvvv"}
    assert found(cells).said == "the difference of harness is larger than that of model"
    turned = {f"{b}-{a}": letters for (a, b), letters in ((name.split("-"), of) for name, of in cells.items())}
    swapped = (Factor(key="model", levels=("m1", "m2")), Factor(key="harness", levels=("h1", "h2")))
    assert found(turned, swapped).said == "the difference of harness is larger than that of model"


def test_a_task_without_a_verdict_in_some_combination_is_left_out_of_all() -> None:
    made = found({"h1-m1": "fv", "h1-m2": "f?", "h2-m1": "vv", "h2-m2": "vv"})
    assert made.left_out == ("task-1",)
    assert [(one.estimate.value, one.estimate.interval) for one in made.differences] == [(1.0, None), (0.0, None)]
    assert "nobody can say" in made.said
    assert found({"h1-m1": "?", "h1-m2": "v", "h2-m1": "v", "h2-m2": "v"}).differences == ()


def test_of_three_levels_the_best_is_held_against_the_worst_and_the_note_says_so() -> None:
    factor = Factor(key="model", levels=("a", "b", "c"))
    (one,) = found({"a": "ff", "b": "vf", "c": "vv"}, (factor,)).differences
    assert (one.better, one.worse, one.estimate.value) == ("c", "a", 1.0)
    assert one.note is not None


def test_the_table_is_printed_with_what_is_missing() -> None:
    out = io.StringIO()
    print_grid(Console(file=out, width=120), found({"h1-m1": "vf", "h1-m2": "vf", "h2-m1": "vv"}))
    assert "2/2 (1.000)" in out.getvalue()
    assert "unavailable" in out.getvalue()


@pytest.mark.parametrize(
    "given", [["harness"], ["harness=a"], ["h=a,a"], ["a=1,2", "a=3,4"], ["a=1,2", "b=1,2", "c=1,2"]]
)
def test_what_names_no_factor_is_refused(given: list[str]) -> None:
    with pytest.raises(FilterError):
        read_factors(given)
