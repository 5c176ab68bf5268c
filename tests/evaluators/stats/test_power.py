"""Sample sizes, power and false alarms: the tables of golden cases G17 and G20."""

from collections.abc import Callable

import pytest

from spanproof_evaluators.stats.power import (
    chance_of,
    minimum_detectable_drop,
    paired_power,
    paired_tasks,
    point_rule,
    repeated_tasks,
    trials_without_failure,
    unpaired_tasks,
)


@pytest.mark.parametrize(
    ("before", "after", "two_sided", "one_sided"),
    [
        (0.95, 0.9, 435, 343),
        (0.9, 0.85, 686, 540),
        (0.8, 0.75, 1094, 862),
        (0.7, 0.65, 1377, 1084),
        (0.5, 0.45, 1565, 1233),
    ],
)
def test_different_tasks_need_many(before: float, after: float, two_sided: int, one_sided: int) -> None:
    assert unpaired_tasks(before, after) == two_sided
    assert unpaired_tasks(before, after, two_sided=False) == one_sided


@pytest.mark.parametrize(
    ("discordance", "two_sided", "one_sided"),
    [(0.06, 186, 147), (0.1, 312, 246), (0.15, 469, 369), (0.2, 626, 493), (0.3, 940, 740)],
)
def test_the_same_tasks_need_fewer(discordance: float, two_sided: int, one_sided: int) -> None:
    assert paired_tasks(0.05, discordance, two_sided=True) == two_sided
    assert paired_tasks(0.05, discordance) == one_sided


@pytest.mark.parametrize(("repeats", "tasks"), [(1, 848), (2, 471), (3, 346), (5, 245), (10, 170)])
def test_repeats_save_tasks(repeats: int, tasks: int) -> None:
    assert repeated_tasks(0.05, 0.03, 0.12, repeats) == tasks


@pytest.mark.parametrize(
    ("rate", "trials"), [(0.2, 14), (0.1, 29), (0.05, 59), (0.02, 149), (0.01, 299), (0.001, 2995)]
)
def test_so_many_without_a_failure_show_that_it_is_rarer(rate: float, trials: int) -> None:
    assert trials_without_failure(rate) == trials


@pytest.mark.parametrize(
    ("tasks", "power", "false_alarm"),
    [
        (20, 0.00956457650808315, 0.0011651132097842817),
        (50, 0.12721301278470012, 0.012385751580226487),
        (100, 0.34758579343787266, 0.023384011543396237),
        (200, 0.673898043055625, 0.03243148706546863),
        (400, 0.931078109826549, 0.03686075491952376),
    ],
)
def test_the_power_of_a_drop_of_five_points_is_exact(tasks: int, power: float, false_alarm: float) -> None:
    assert paired_power(tasks, 0.05, 0.1) == pytest.approx(power, rel=1e-9)
    assert paired_power(tasks, 0.0, 0.1) == pytest.approx(false_alarm, rel=1e-9)


def test_the_smallest_drop_that_is_found_has_the_power_that_was_asked_for() -> None:
    found = minimum_detectable_drop(100, 0.2)
    assert found is not None
    assert paired_power(100, found, 0.2) >= 0.8 > paired_power(100, found - 2e-4, 0.2)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (lambda: unpaired_tasks(0.9, 0.9), "change of 0"),
        (lambda: paired_tasks(0.0, 0.1), "change of 0"),
        (lambda: paired_tasks(0.2, 0.1), "more than the 0.1"),
        (lambda: repeated_tasks(0.0, 0.03, 0.12, 3), "change of 0"),
        (lambda: repeated_tasks(0.05, 0.03, 0.12, 0), "at least once"),
        (lambda: trials_without_failure(0.0), "between 0 and 1"),
    ],
)
def test_what_no_number_of_tasks_finds_is_refused(asked: Callable[[], int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        asked()


def test_few_tasks_find_no_drop_at_all() -> None:
    assert minimum_detectable_drop(20, 0.05) is None


@pytest.mark.parametrize(
    ("tasks", "discordance", "false_alarm"),
    [
        (20, 0.04, 0.24132460370362221),
        (50, 0.1, 0.245764563353588),
        (100, 0.2, 0.28723305340089894),
        (200, 0.1, 0.1559353490094131),
        (500, 0.04, 0.009592391477030301),
    ],
)
def test_the_point_rule_of_two_points_is_often_wrong(tasks: int, discordance: float, false_alarm: float) -> None:
    rule = point_rule(0.02, tasks)
    assert chance_of(rule, tasks, discordance / 2, discordance / 2) == pytest.approx(false_alarm, rel=1e-9)


def test_one_of_five_categories_falls_by_chance_in_three_runs_of_four() -> None:
    # Golden case G20: categories of 15, 13, 10, 8 and 4 tasks, 10 % flip, limit 5 points.
    kept = 1.0
    for tasks in (15, 13, 10, 8, 4):
        kept *= 1 - chance_of(point_rule(0.05, tasks), tasks, 0.05, 0.05)
    assert 1 - kept == pytest.approx(0.7842371968736942, rel=1e-9)


def test_a_drop_at_the_limit_is_no_drop_beyond_it() -> None:
    assert not point_rule(0.02, 50)(1, 0)
    assert point_rule(0.02, 50)(2, 0)
