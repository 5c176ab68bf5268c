"""pass^k and pass@k over trials: the figures of tau-bench, and what is missing."""

import pytest

from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.model.verifications import Verdict
from spanproof_evaluators.reports.wording import repeated
from spanproof_evaluators.runner import measure, report
from tests.evaluators.factories import assessed, trial
from tests.evaluators.stats.golden import golden
from tests.shared import needs_golden

SAID: dict[str, Verdict] = {"s": "verified", "f": "failed", "?": "unavailable"}


def runs(**tasks: str) -> list[Assessment]:
    """Return trials by task: ``s`` solved, ``f`` failed, ``?`` without a verdict, ``i`` broken by infrastructure."""
    found = []
    for task, letters in tasks.items():
        for at, letter in enumerate(letters):
            broken = letter == "i"
            one = trial(
                f"{task}-{at}",
                task_id=task,
                status="error" if broken else "complete",
                status_reason="infrastructure" if broken else None,
            )
            found.append(assessed(one, "unavailable" if broken else SAID[letter]))
    return found


def told(name: str, **tasks: str) -> Measure:
    return measure(runs(**tasks))[name]


@needs_golden
def test_tau_bench_airline_from_trials() -> None:
    # Golden case G04: the published row of gpt-4o, .420 .273 .220 .200.
    case = golden("G04")
    letters = {
        f"t{task}": "".join("fs"[r] for r in rewards) for task, rewards in case["inputs"]["rewards_by_task"].items()
    }
    found = measure(runs(**letters))
    for k in (1, 2, 3, 4):
        assert found[f"pass_hat_{k}"].value == pytest.approx(case["expected"]["pass_hat"][str(k)], rel=1e-9)
        assert found[f"pass_at_{k}"].value == pytest.approx(case["expected"]["pass_at"][str(k)], rel=1e-9)
    assert found["pass_hat_k"] == found["pass_hat_4"]
    assert (found["pass_hat_4"].k, found["pass_hat_4"].denominator, found["pass_hat_4"].n_units) == (4, 50, 200)


def test_an_attempt_that_the_infrastructure_broke_is_none_and_lowers_n_for_its_task() -> None:
    found = measure(runs(a="ssss", b="ssfi"))
    assert found["pass_hat_3"].value == pytest.approx((1.0 + 0.0) / 2)
    assert found["pass_hat_3"].excluded == {"infrastructure": 1}
    four = found["pass_hat_4"]
    assert (four.value, four.reason) == (None, "1 of 2 tasks have fewer than 4 judged trials")
    assert found["pass_hat_k"].k == 3


def test_a_trial_without_a_verdict_widens_the_bounds_and_is_no_failure() -> None:
    found = told("pass_hat_1", a="ss?", b="ff")
    assert (found.value, found.unavailable) == (0.5, 1)
    assert found.bounds is not None
    assert [float(end or 0) for end in found.bounds] == pytest.approx([1 / 3, 0.5])


def test_where_nothing_has_a_task_there_is_nothing_to_repeat() -> None:
    found = measure([assessed(trial(task_id=None))])["pass_hat_k"]
    assert (found.value, found.reason, found.excluded) == (None, "no task has a trial to count", {"no_task": 1})


def test_tasks_count_alike_however_often_they_were_tried() -> None:
    assert told("pass_hat_1", a="s", b="ffff").value == 0.5


@pytest.mark.parametrize(("runs_", "low", "high"), [("ss", 0.025 ** (1 / 3), 1.0), ("ff", 0.0, 1 - 0.025 ** (1 / 3))])
def test_three_tasks_that_are_all_alike_leave_room_for_others(runs_: str, low: float, high: float) -> None:
    found = told("pass_hat_2", a=runs_, b=runs_, c=runs_)
    assert found.interval == pytest.approx((low, high))


def test_tasks_alike_in_between_have_no_interval_rather_than_one_of_no_width() -> None:
    found = told("pass_hat_1", a="sf", b="fs")
    assert (found.value, found.interval, found.interval_method) == (0.5, None, "none: all tasks alike")


def test_consistency_tells_failing_alike_from_failing_at_random() -> None:
    assert told("outcome_consistency", a="ssss", b="ffff").value == 1.0
    mixed = told("outcome_consistency", a="ssff", b="s")
    assert mixed.value == pytest.approx(1 / 3)
    assert mixed.excluded == {"single_trial": 1}


@pytest.mark.parametrize(
    ("tried", "low", "high"),
    [("ss?", 1 / 3, 1.0), ("sf?", 1 / 3, 1 / 3), ("ssff??", 6 / 15, 7 / 15), ("ff?", 1 / 3, 1.0)],
)
def test_consistency_runs_from_the_least_to_the_most_that_open_trials_can_make_of_it(
    tried: str, low: float, high: float
) -> None:
    assert told("outcome_consistency", a=tried, b="ss").bounds == pytest.approx(((low + 1) / 2, (high + 1) / 2))


def test_what_nobody_judged_twice_says_so() -> None:
    some = told("outcome_consistency", a="s???", b="ss")
    assert (some.value, some.excluded) == (1.0, {"fewer_than_two_judged": 1})
    assert told("outcome_consistency", a="s?", b="?").reason == "no task has two judged trials"
    assert told("outcome_consistency", a="s").reason == "no task was tried twice"
    assert told("pass_hat_1", a="?", b="s").reason == "1 of 2 tasks have no judged trial"
    assert told("pass_hat_2", a="??").reason == "1 of 1 tasks have fewer than 2 judged trials"


def test_a_report_shows_them_where_a_task_was_repeated() -> None:
    assert "pass_hat_2" in repeated(report(runs(a="ss", b="sf"), None, described="").variants)
    assert repeated(report(runs(a="s", b="f"), None, described="").variants) == {}
