"""Golden cases that are about measures and gates, from trials with the counts that the files give."""

from typing import Any

import pytest

from spanproof_collector.model.trials import Progress
from spanproof_evaluators.gates import decide, release_policy
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.runner import measure
from spanproof_evaluators.stats.progress import progress_rate
from tests.evaluators.factories import START, assessed, trial, wait
from tests.evaluators.stats.golden import golden
from tests.shared import needs_golden

pytestmark = needs_golden


def declared(case: dict[str, int]) -> list[Assessment]:
    verified = case["declared"] - case["failed"] - case["unavailable"]
    outcomes = ["failed"] * case["failed"] + ["unavailable"] * case["unavailable"] + ["verified"] * verified
    return [
        assessed(trial(f"t{at}", task_id=f"t{at}"), outcome)  # type: ignore[arg-type]  # words of the table
        for at, outcome in enumerate(outcomes)
    ]


@pytest.mark.parametrize("row", range(5))
def test_g33_false_success_with_its_bounds_and_its_gate(row: int) -> None:
    case, told = golden("G33")["inputs"][row], golden("G33")["expected"][row]
    trials = declared(case)
    found = measure(trials)
    rate = found["false_success_rate"]
    assert rate.value == told["fsr_seed"]
    assert found["outcome_coverage"].value == told["coverage"]
    if "lower" in told:
        assert rate.bounds == (told["lower"], told["upper"])
    if "wilson_outer" in told:
        assert list(rate.interval or ()) == pytest.approx(told["wilson_outer"], rel=1e-9, abs=1e-12)
    judged = case["declared"] - case["unavailable"]
    only = told.get("fsr_verified_only")
    assert only == (case["failed"] / judged if judged else None)
    if case["unavailable"]:
        assert rate.note == f"of those with a verdict {case['failed']}/{judged}"
    gates = {said.gate.id: said for said in decide(release_policy(), found).gates}
    decision = gates["false_success"].decision
    match told["gate"].split()[0]:
        case "pass":
            assert (decision, gates["unverified_completions"].decision) == ("pass", "pass")
        case "fail":
            by = ("coverage", "false_success", "unverified_completions")
            assert any(gates[name].decision == "fail" for name in by)


@pytest.mark.parametrize("row", range(3))
def test_g30_progress_at_best_at_the_end_and_on_average(row: int) -> None:
    case = golden("G30")["inputs"][row]
    found = progress_rate(case["milestones"], case["reached_by_step"])
    if case["expected_progress"] is None:
        assert found is None
        return
    assert found is not None
    assert found.highest == pytest.approx(case["expected_progress"], rel=1e-9)
    assert found.final == case["reached_by_step"][-1] / case["milestones"]
    if "progress_auc" in case:
        assert found.area == pytest.approx(case["progress_auc"], rel=1e-9)


@pytest.mark.parametrize("row", range(2))
def test_g30_windows_of_work_waits_and_a_stale_collector(row: int) -> None:
    case: dict[str, Any] = golden("G30")["windows"][row]
    windows = [
        Progress(
            key="k", delta=float(one.get("useful", False)), window=one["state"], span_id=f"{at:016x}", time=START + at
        )
        for at, one in enumerate(case["windows"])
    ]
    found = measure([assessed(trial(windows=windows, waits=[wait()]))])["useful_progress"]
    states = [one["state"] for one in case["windows"]]
    active = [one for one in case["windows"] if one["state"] == "active"]
    counts = f"{found.numerator}/{found.denominator}"
    assert (counts if active else "unavailable") == case["expected"].split(";")[0].split(" (")[0]
    assert (found.value is None) is not bool(active)
    left = {name: states.count(name) for name in ("waiting", "stale_collector") if name in states}
    assert found.excluded == left
