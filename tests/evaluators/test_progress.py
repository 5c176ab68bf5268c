"""Progress over milestones. The figures are those of golden case G30 (formula of AgentBoard, arXiv 2401.13178)."""

import pytest

from spanproof_collector.model.trials import Progress
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.runner import assess_trial, measure
from spanproof_evaluators.stats.progress import progress_rate
from tests.evaluators.factories import START, suite, trial

TASK = suite({"id": "task-1", "milestones": ["found", "checked", "refunded", "told"]})


@pytest.mark.parametrize(
    ("milestones", "reached", "highest", "final", "area"),
    [(4, [0, 1, 1, 3, 3], 0.75, 0.75, 0.4), (3, [1, 2, 1], 2 / 3, 1 / 3, 4 / 9)],
)
def test_the_highest_share_stands_beside_the_last_and_the_mean(
    milestones: int, reached: list[int], highest: float, final: float, area: float
) -> None:
    found = progress_rate(milestones, reached)
    assert found is not None
    assert (found.highest, found.final, found.area) == pytest.approx((highest, final, area), rel=1e-9)


@pytest.mark.parametrize(("milestones", "reached"), [(0, []), (3, [])])
def test_nothing_to_reach_and_nothing_seen_are_no_progress_of_zero(milestones: int, reached: list[int]) -> None:
    assert progress_rate(milestones, reached) is None


@pytest.mark.parametrize("reached", [[5], [-1]])
def test_more_than_all_is_refused(reached: list[int]) -> None:
    with pytest.raises(ValueError, match="of 4 milestones"):
        progress_rate(4, reached)


def watched(*steps: tuple[str, float]) -> Assessment:
    windows = [
        Progress(key=key, delta=delta, window="active", span_id=f"{at:016x}", time=START + at)
        for at, (key, delta) in enumerate(steps)
    ]
    return assess_trial(trial(windows=windows), TASK)


def rate_of(*trials: Assessment) -> Measure:
    return measure(trials)["progress_rate"]


def test_windows_tell_which_milestones_hold() -> None:
    one = watched(("found", 0), ("found", 1), ("style", 1), ("checked", 1), ("refunded", 1))
    found = rate_of(one)
    assert (found.value, found.numerator, found.denominator) == (0.75, 0.75, 1)
    assert found.note == "at the end 0.750, mean over the steps 0.350"


def test_a_milestone_that_is_lost_again_lowers_the_end_and_not_the_best() -> None:
    found = rate_of(watched(("found", 1), ("checked", 1), ("checked", -1)))
    assert found.value == 0.5
    assert found.note is not None
    assert found.note.startswith("at the end 0.250")


def test_a_trial_that_nobody_watched_is_unavailable_and_widens_the_bounds() -> None:
    found = rate_of(watched(("found", 1)), watched())
    assert (found.value, found.denominator, found.unavailable) == (0.25, 1, 1)
    assert found.bounds == (0.125, 0.625)


def test_windows_that_speak_of_no_milestone_do_not_watch_any() -> None:
    found = rate_of(watched(("style", 1), ("style", 0)))
    assert (found.value, found.unavailable) == (None, 1)


def test_tasks_without_milestones_have_no_rate() -> None:
    found = rate_of(assess_trial(trial(), None))
    assert (found.value, found.reason) == (None, "no task has milestones")
