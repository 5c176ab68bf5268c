"""Measures: every number with its counts, and no number where there is no evidence."""

import math
import operator
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from spanproof_collector.model.trials import ClaimState, Progress, Wait
from spanproof_evaluators.errors import MeasureError
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.measures import Measure, money
from spanproof_evaluators.model.verifications import Verdict
from spanproof_evaluators.reports import wording
from spanproof_evaluators.runner import measure
from tests.evaluators.factories import SECOND, START, assessed, call, progress, quality, trial, wait


def counts(found: Measure) -> tuple[object, object, int]:
    return found.numerator, found.denominator, found.unavailable


def several(*outcomes: Verdict) -> list[Assessment]:
    return [assessed(trial(f"t{index}"), outcome) for index, outcome in enumerate(outcomes)]


def rate(value: float | Decimal | None, **fields: object) -> Measure:
    given: dict[str, object] = {"unit": "trial", "numerator": 1, "denominator": 2, "n_units": 2, "n_clusters": 2}
    return Measure(value=value, **{**given, **fields})  # type: ignore[arg-type]  # a table of fields


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        (0.5, {"numerator": None}),
        (0.5, {"denominator": None}),
        (0.5, {"denominator": 0}),
        (0.4, {}),
        (math.nan, {"numerator": math.nan}),
        (math.inf, {"numerator": math.inf}),
        (None, {}),
    ],
)
def test_a_value_without_what_it_is_made_of_is_no_measure(value: float | None, fields: dict[str, object]) -> None:
    with pytest.raises(MeasureError):
        rate(value, **fields)


@pytest.mark.parametrize(
    "operation",
    [
        lambda one: one + 1,
        lambda one: 1 - one,
        lambda one: one * one,
        lambda one: one / 2,
        lambda one: sum([one]),
        lambda one: one < 0.6,
        float,
        bool,
        operator.neg,
    ],
)
def test_a_measure_is_no_number(operation: Callable[[Measure], object]) -> None:
    with pytest.raises(MeasureError, match="not a number"):
        operation(rate(0.5))


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        ("0.5175", "0.52"),
        ("0.625", "0.63"),
        ("0", "0.00"),
        ("0.1", "0.10"),
        ("0.00345678", "0.003457"),
        ("0.02", "0.02"),
    ],
)
def test_money_is_rounded_half_up_and_small_money_keeps_its_digits(amount: str, shown: str) -> None:
    assert money(Decimal(amount)) == shown


def test_nothing_at_all_gives_no_value_and_a_reason_for_each_measure() -> None:
    for name, found in measure([]).items():
        assert found.value is None, name
        assert found.reason, name


@pytest.mark.parametrize(
    ("outcomes", "value", "bounds"),
    [
        # Golden case G33.
        (["failed", "unavailable", "verified", "verified", "verified"], 0.2, (0.2, 0.4)),
        (["verified"] * 4, 0.0, (0.0, 0.0)),
        (["unavailable"] * 20, None, (0.0, 1.0)),
        (["failed"] * 81 + ["verified"] * 29, 81 / 110, (81 / 110, 81 / 110)),
    ],
)
def test_the_false_success_rate_counts_what_is_unavailable_against_its_bounds(
    outcomes: list[Verdict], value: float | None, bounds: tuple[float, float]
) -> None:
    found = measure(several(*outcomes))["false_success_rate"]
    assert found.value == value
    assert found.bounds == bounds


def test_what_only_implies_a_claim_is_left_out_of_the_explicit_rate_and_every_end_is_in_the_widest() -> None:
    def claiming(name: str, state: ClaimState, rule: str, outcome: Verdict) -> Assessment:
        one = trial(name, task_id=name, claim=state)
        said = replace(one.claim, rule=rule, source="declared" if rule == "declared" else "text")
        return assessed(replace(one, claim=said), outcome)

    found = measure(
        [
            claiming("said", "success", "done", "verified"),
            claiming("implied", "success", "implicit_answer", "failed"),
            claiming("asked", "none", "question", "failed"),
            claiming("admitted", "failure", "declared", "failed"),
        ]
    )
    assert counts(found["false_success_rate"]) == (1, 2, 0)
    assert counts(found["explicit_false_success_rate"]) == (0, 1, 0)
    assert found["explicit_false_success_rate"].excluded == {"implicit_claim": 1}
    assert counts(found["normal_end_false_success_rate"]) == (2, 3, 0)


def test_the_share_of_silent_failures_is_another_number() -> None:
    trials = [*several("failed", "verified"), assessed(trial("honest", claim="failure"), "failed")]
    found = measure(trials)
    assert counts(found["false_success_rate"]) == (1, 2, 0)
    assert counts(found["silent_failure_share"]) == (1, 2, 0)
    assert found["silent_failure_share"].evidence_ids == ("t0",)


def test_an_outcome_that_is_unavailable_is_no_failure_and_widens_the_bounds() -> None:
    found = measure(several("verified", "verified", "verified", "failed", "unavailable"))["solve_rate"]
    assert counts(found) == (3, 4, 1)
    assert found.value == 0.75
    assert found.bounds == (0.6, 0.8)


@pytest.mark.parametrize(
    ("status", "reason", "outcome", "solved"),
    [
        ("complete", None, "verified", True),
        ("complete", None, "failed", False),
        ("complete", None, "unavailable", None),
        ("aborted", "budget_exhausted", "verified", False),
        ("error", None, "verified", False),
        ("error", "infrastructure", "verified", None),
        ("incomplete", None, "verified", None),
        ("incomplete", None, "failed", False),
        ("aborted", "cancelled", "verified", None),
    ],
)
def test_solved_is_finished_and_verified(
    status: str, reason: str | None, outcome: Verdict, solved: bool | None
) -> None:
    one = assessed(trial(status=status, status_reason=reason), outcome)  # type: ignore[arg-type]  # a table of words
    assert one.solved is solved


def test_what_the_infrastructure_broke_leaves_the_denominator_and_is_counted() -> None:
    broken = assessed(trial("broken", status="error", status_reason="infrastructure"), "unavailable")
    found = measure([*several("verified"), broken])
    assert counts(found["solve_rate"]) == (1, 1, 0)
    assert found["solve_rate"].excluded == {"infrastructure": 1}
    assert found["aborted_rate"].excluded == {"infrastructure": 1}


def test_a_budget_that_ran_out_is_an_aborted_trial() -> None:
    over = assessed(trial("over", status="aborted", status_reason="budget_exhausted"), "verified")
    found = measure([*several("verified"), over])
    assert counts(found["aborted_rate"]) == (1, 2, 0)
    assert found["aborted_rate"].note == "budget_exhausted 1"
    assert counts(found["solve_rate"]) == (1, 2, 0)


def test_scores_of_two_revisions_are_not_averaged() -> None:
    trials = [assessed(trial(f"t{n}", scores=[quality(0.9, revision=str(n))])) for n in (1, 2)]
    found = measure(trials)["task_quality"]
    assert found.value is None
    assert "rubric 1, rubric 2" in (found.reason or "")


def test_a_declared_trial_that_nobody_graded_is_not_a_zero() -> None:
    found = measure([assessed(trial("a", scores=[quality(0.9)])), assessed(trial("b"))])["task_quality"]
    assert (found.value, found.denominator, found.unavailable) == (0.9, 1, 1)
    assert found.bounds == (0.45, 0.95)


def test_a_run_without_a_bill_leaves_a_lower_bound() -> None:
    found = measure([assessed(trial("a", usd="0.40")), assessed(trial("b", usd=None))])["cost_per_verified_outcome"]
    assert (found.value, found.numerator, found.denominator, found.unavailable) == (None, Decimal("0.40"), 2, 1)
    assert found.bounds == (Decimal("0.20"), None)
    assert "no bill" in (found.reason or "")


def test_without_a_verified_outcome_there_is_no_cost_of_one_and_the_spend_is_shown() -> None:
    found = measure(several("failed", "failed"))["cost_per_verified_outcome"]
    assert found.value is None
    assert found.reason == "no verified outcome; spent $0.20"


def test_what_failed_is_paid_for_by_what_was_verified() -> None:
    found = measure(several("verified", "failed", "unavailable"))["cost_per_verified_outcome"]
    assert found.value == Decimal("0.30")


def test_two_calls_with_one_key_are_one_effect() -> None:
    same = {"destination": "shop", "resource": "A", "operation": "refund", "key": "k"}
    calls = [call(state="unknown", **same), call(state="verified", observed="r", **same)]  # type: ignore[arg-type]
    found = measure([assessed(trial(calls=calls))])
    assert counts(found["effect_integrity"]) == (1, 1, 0)
    assert counts(found["unknown_effects"]) == (0, 1, 0)


def test_a_tool_s_word_is_no_evidence() -> None:
    calls = [call(state="reported"), call(state="verified", observed="r"), call(state="none"), call(state="refused")]
    found = measure([assessed(trial(calls=calls))])
    assert counts(found["effect_integrity"]) == (1, 1, 1)
    assert counts(found["effect_coverage"]) == (1, 2, 0)
    assert found["effect_coverage"].excluded == {"refused": 1}
    assert counts(found["evidence_stated"]) == (1, 2, 0)


def window(kind: str, at: int, delta: float = 0.0) -> Progress:
    return Progress(key="k", delta=delta, window=kind, span_id="s", time=START + at * SECOND)  # type: ignore[arg-type]


def test_waits_and_a_stale_collector_are_no_active_windows() -> None:
    # Golden case G30.
    windows = [
        window("active", 1, 1),
        window("active", 2, 1),
        window("waiting", 3),
        window("active", 4),
        window("stale_collector", 5),
    ]
    found = measure([assessed(trial(windows=windows, waits=[wait()]))])["useful_progress"]
    assert counts(found) == (2, 3, 0)
    assert found.excluded == {"waiting": 1, "stale_collector": 1}


def test_only_waits_are_no_progress_to_measure() -> None:
    found = measure([assessed(trial(windows=[window("waiting", 1)], waits=[wait()]))])["useful_progress"]
    assert (found.value, found.reason) == (None, "no active window was observed")


@pytest.mark.parametrize(
    "pause", [wait(owner=None), wait(decision=None), wait(deadline=None), wait(deadline=START - 1)]
)
def test_a_wait_that_names_too_little_or_is_over_does_not_stop_the_clock(pause: Wait) -> None:
    one = trial(status="waiting", claim="none", windows=progress(2, 2), waits=[pause])
    found = measure([assessed(one, "unavailable")])
    assert counts(found["useful_progress"]) == (2, 3, 0)
    assert found["solve_rate"].excluded == {}


def test_trials_of_one_task_are_one_cluster() -> None:
    trials = [assessed(trial(f"t{n}", task_id=f"task-{n % 10}")) for n in range(30)]
    found = measure(trials)["solve_rate"]
    assert (found.n_units, found.n_clusters, found.interval_method) == (30, 10, "wilson_effective_n_95")
    assert found.interval == pytest.approx((0.6614913773398167, 1.0))


def test_no_measure_in_json_lacks_its_denominator() -> None:
    for name, found in measure(several("verified", "failed", "unavailable")).items():
        shown = found.to_json()
        assert shown["value"] is None or (shown["numerator"] is not None and shown["denominator"]), name
        assert shown["value"] is not None or shown["reason"], name


@pytest.mark.parametrize(
    ("spent", "told"),
    [
        ("1.9", "1.90"),
        ("0.24948", "0.24948"),
        ("0.10711559999999999644", "0.107116"),
        ("0.0000001", "0.0000001"),
        ("0", "0.00"),
    ],
)
def test_a_sum_of_money_is_shown_so_that_it_can_be_divided_again(spent: str, told: str) -> None:
    found = rate(Decimal(spent) / 2, unit="usd", numerator=Decimal(spent))
    assert wording.counts(found) == f"${told} / 2"
