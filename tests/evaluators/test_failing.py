"""Failures, recovery and reach from trials: what is a step, what is a failure, what is back, and what nobody knows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import CensoredData, ecdf

from spanproof_collector.model.trials import RecordedChanges, ToolCall, Trial
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.verifications import Check, Verdict
from spanproof_evaluators.runner import measure
from spanproof_evaluators.runner.measuring import telemetry
from spanproof_evaluators.stats.failures import survival
from tests.evaluators.factories import SECOND, START, assessed, call, progress, trial, world


def calls_of(letters: str) -> list[ToolCall]:
    """Return calls a second apart.

    ``.`` worked, ``x`` ended in an error, ``v`` verified, ``f`` failed at the destination, ``?`` nobody knows, ``r``
    refused, ``w`` an error and yet a receipt.
    """
    found = []
    for at, letter in enumerate(letters):
        one = {
            ".": call(),
            "x": replace(call(state="unknown"), error="boom", executed="unknown"),
            "v": call(state="verified", observed="r"),
            "f": call(state="failed", observed="r"),
            "?": call(state="unknown", executed="unknown"),
            "r": replace(call(state="refused", executed="no"), error="no"),
            "w": replace(call(state="verified", observed="r"), error="boom", executed="unknown"),
        }[letter]
        found.append(replace(one, span_ids=(f"{at:016x}",), started_at=START + at * SECOND))
    return found


def steps(letters: str, outcome: Verdict = "verified", name: str = "t") -> Assessment:
    return assessed(trial(name, task_id=name, calls=calls_of(letters)), outcome)


def test_a_step_fails_by_its_error_or_at_its_destination_and_not_by_a_refusal() -> None:
    found = measure([steps("..x.f?r.w")])["mtbf_steps"]
    assert (found.numerator, found.denominator, found.unavailable, found.value) == (8, 2, 1, 4.0)
    assert found.evidence_ids == (f"{2:016x}", f"{4:016x}")


def test_steps_between_failures_are_those_of_the_golden_case() -> None:
    # Golden case G24: 4 failures in 120 steps; 0 in 60.
    found = measure([steps("." * 29 + "x", name=f"t{at}") for at in range(4)])["mtbf_steps"]
    assert (found.value, found.numerator, found.denominator) == (30.0, 120, 4)
    assert found.interval == pytest.approx((11.716932187307352, 110.10534227793866), rel=1e-9)
    assert found.figures["one_sided_lower_95"] == pytest.approx(13.109712193833769, rel=1e-9)
    none = measure([steps("." * 60)])["mtbf_steps"]
    assert (none.value, none.numerator, none.denominator, none.interval) == (None, 60, 0, None)
    assert none.figures["one_sided_lower_95"] == pytest.approx(20.028492041720053, rel=1e-9)
    assert none.reason == "none of 60 steps failed: at least 20.0, one-sided 95 %"


def test_trials_between_unsolved_ones_leave_open_ones_out_and_count_them() -> None:
    verdicts: list[Verdict] = ["verified", "verified", "failed", "unavailable"]
    found = measure([steps(".", verdict, f"t{at}") for at, verdict in enumerate(verdicts)])["mtbf_trials"]
    assert (found.value, found.numerator, found.denominator, found.unavailable) == (3.0, 3, 1, 1)
    assert found.bounds == (2.0, 4.0)


def test_what_the_infrastructure_broke_is_no_failure_of_the_agent() -> None:
    broken = trial("b", status="error", status_reason="infrastructure", calls=calls_of("xx"))
    found = measure([assessed(broken, "unavailable"), steps("..")])
    assert (found["mtbf_steps"].numerator, found["mtbf_steps"].denominator) == (2, 0)
    assert found["mtbf_steps"].excluded == {"infrastructure": 1}
    assert found["recovered_failures"].excluded == {"infrastructure": 1}


@pytest.mark.parametrize(
    ("letters", "outcome", "recovered", "calls"),
    [
        ("x.v.", "failed", 1, 2),  # a receipt two calls later
        ("x..", "verified", 1, 2),  # the end of a trial that is verified
        ("x.v.", "verified", 1, 2),  # the first of the two
        ("..x", "verified", 1, 0),  # no call was needed
        ("x..", "failed", 0, None),  # never: right-censored
        ("x..", "unavailable", None, None),  # nobody looked
    ],
)
def test_recovery_is_a_verified_state(letters: str, outcome: Verdict, recovered: int | None, calls: int | None) -> None:
    found = measure([steps(letters, outcome)])
    back, time = found["recovered_failures"], found["mttr_steps"]
    if recovered is None:
        assert (back.value, back.unavailable, time.unavailable) == (None, 1, 1)
        return
    assert (back.numerator, back.denominator, back.unavailable) == (recovered, 1, 0)
    assert time.value == calls
    assert time.excluded == ({} if recovered else {"never_recovered": 1})


def test_a_window_of_work_with_evidence_gained_is_a_working_state() -> None:
    gained = replace(progress(1, 1)[0], time=START + 1_500_000_000)
    one = replace(steps("x..", "failed"), trial=replace(steps("x..").trial, progress=(gained,)))
    assert measure([one])["mttr_steps"].value == 1
    assert telemetry([one])["mttr_seconds"].value == pytest.approx(1.5)


def test_what_never_recovered_stands_beside_the_mean_and_holds_it_open() -> None:
    # Golden case G24: 2, 5, never, 3.
    trials = [steps("x.v", "failed", "a"), steps("x....v", "failed", "b"), steps("x...", "failed", "c")]
    found = measure([*trials, steps("x..v", "failed", "d")])["mttr_steps"]
    assert found.value == pytest.approx(10 / 3)
    assert (found.numerator, found.denominator, found.excluded) == (10, 3, {"never_recovered": 1})
    assert found.bounds == (13 / 4, None)
    assert found.note == "3 recovered of 4; Kaplan-Meier: half recover within 3, mean 3.75 up to 5"
    assert found.evidence_ids == (f"{0:016x}",)


def test_without_times_there_is_no_time_to_recovery() -> None:
    one = replace(steps("x."), trial=replace(steps("x.").trial, timed=False))
    assert (measure([one])["mttr_steps"].value, telemetry([one])["mttr_seconds"].value) == (1, None)
    assert telemetry([one])["mttr_seconds"].unavailable == 1


@pytest.mark.parametrize(
    ("recovered", "censored"), [([2.0, 5.0, 3.0], [3.0]), ([1.0, 1.0, 4.0], [2.0, 9.0]), ([1.0], [2.0, 2.0, 3.0])]
)
def test_the_time_to_recovery_is_that_of_kaplan_and_meier(recovered: list[float], censored: list[float]) -> None:
    found = survival(recovered, censored)
    assert found is not None
    curve = ecdf(CensoredData(uncensored=recovered, right=censored)).sf
    ends = np.append(curve.quantiles, found.horizon)
    starts = np.insert(curve.quantiles, 0, 0.0)
    assert found.restricted_mean == pytest.approx(
        float(np.sum(np.insert(curve.probabilities, 0, 1.0) * (ends - starts)))
    )
    below = curve.quantiles[curve.probabilities <= 0.5]
    assert found.median == (below[0] if len(below) else None)


def test_nothing_failed_takes_no_time() -> None:
    assert survival([], []) is None
    with pytest.raises(ValueError, match="not negative"):
        survival([-1.0], [])


# --- how far it reaches -------------------------------------------------------------------------------------------


def changed(files: int, name: str, outcome: Verdict = "failed") -> Assessment:
    before = {f"f{at}": "old" for at in range(20)}
    states = [
        world("before", files=before),
        world("after", files={**before, **{f"f{at}": "new" for at in range(files)}}),
    ]
    return assessed(trial(name, task_id=name, end_states=states), outcome)


def limited(one: Assessment, limit: int, seen: str, passed: bool | None) -> Assessment:
    name = f"at most {limit} files changed since 8f14e45fceea"
    check = Check(name=name, passed=passed, seen=seen, kind="git")
    return replace(one, outcome=replace(one.outcome, checks=(check,)))


def test_files_that_failed_trials_changed_are_those_of_the_golden_case() -> None:
    # Golden case G24: 1, 2, 14 and 3 files, limit 6.
    bad = [limited(changed(size, f"t{size}"), 6, f"{size} files: a", size <= 6) for size in (1, 2, 14, 3)]
    found = measure([*bad, changed(9, "good", "verified")])
    files = found["blast_radius_files"]
    assert (files.value, files.numerator, files.denominator) == (5.0, 20, 4)
    assert (files.figures["p50"], files.figures["max"], files.evidence_ids) == (2.5, 14, ("t14",))
    over = found["blast_radius_over_limit"]
    assert (over.numerator, over.denominator, over.evidence_ids) == (1, 4, ("t14",))


def test_without_a_snapshot_a_git_check_tells_how_many_files() -> None:
    bare = assessed(trial("t"), "failed")
    found = measure([limited(bare, 6, "14 files: a, b", False), limited(bare, 6, "none", True)])["blast_radius_files"]
    assert (found.numerator, found.denominator) == (14, 2)
    blind = measure([limited(bare, 6, "", None)])
    assert (blind["blast_radius_files"].value, blind["blast_radius_files"].unavailable) == (None, 1)
    assert blind["blast_radius_over_limit"].value is None


def test_a_changed_row_is_one_row() -> None:
    before = world("before", {"orders": [{"id": 1}, {"id": 2, "paid": False}], "users": [{"id": 7}]})
    after = world("after", {"orders": [{"id": 1}, {"id": 2, "paid": True}, {"id": 3}]})
    found = measure([assessed(trial(end_states=[before, after]), "failed")])["blast_radius_rows"]
    assert (found.numerator, found.denominator) == (3, 1)


def test_recorded_changes_and_effects_that_are_there_are_counted() -> None:
    told = RecordedChanges(actual=[{"path": "/a"}, {"path": "/b"}], gold=None, calls=None, by=None, span_id="s", time=1)

    def with_calls(calls: Sequence[ToolCall]) -> Trial:
        return replace(trial(calls=calls), recorded_changes=(told,))

    left = [call(state="verified", observed="r"), call("b", state="reported"), call("c", state="failed", observed="q")]
    found = measure([assessed(with_calls(left), "failed")])
    assert found["blast_radius_changes"].numerator == 2
    assert found["blast_radius_effects"].numerator == 2
    open_ = measure([assessed(with_calls([*left, call("d", state="unknown")]), "failed")])["blast_radius_effects"]
    assert (open_.value, open_.unavailable) == (None, 1)


def test_what_nobody_recorded_has_no_size() -> None:
    found = measure([assessed(trial(calls_whole=False), "failed")])
    for name in ("files", "rows", "changes", "effects"):
        one = found[f"blast_radius_{name}"]
        assert (one.value, one.unavailable) == (None, 1)
        assert "nobody recorded" in (one.reason or "")
    assert measure([assessed(trial())])["blast_radius_files"].reason == "no outcome failed"
