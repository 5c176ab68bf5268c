"""From export requests to verdicts, through a real store."""

import json
import math
from dataclasses import replace

import pytest

from spanproof_collector.model.filters import Filter
from spanproof_collector.otlp import Origin
from spanproof_collector.pipeline import Writer
from spanproof_collector.store import Store
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.reports import Report
from spanproof_evaluators.model.suites import Suite, parse_suite
from spanproof_evaluators.reports.machine import line, report_json
from spanproof_evaluators.runner import assess, assess_trial, evaluate, report
from spanproof_instrumentation import semconv
from tests.evaluators.shop import SUITE, attempt
from tests.factories import event, span, traces
from tests.storing import put


@pytest.fixture(scope="module")
def shop() -> Suite:
    return parse_suite(json.dumps(SUITE), name="suite.json")


def judged(store: Store, suite: Suite | None) -> dict[str, Assessment]:
    """Return every trial's assessment after an evaluation, as it is read back from the store."""
    list(evaluate(store, Filter(), suite))
    return {one.trial.trial_id: one for one in assess(store, Filter(), suite)}


def told(store: Store, suite: Suite) -> Report:
    return report(list(assess(store, Filter(), suite)), suite, described="")


def test_a_refund_that_the_world_shows_is_verified_caused_and_solved(store: Store, shop: Suite) -> None:
    put(store, attempt("good"))
    one = judged(store, shop)["good"]
    assert (one.outcome.state, one.outcome.effect_of_trial, one.outcome.pre_state) == ("verified", "caused", "failed")
    assert one.outcome.verifier == "shop/refund"
    assert (one.solved, one.false_success) == (True, False)


def test_what_is_read_back_is_what_was_found(store: Store, shop: Suite) -> None:
    put(store, attempt("good"), attempt("bad", refunds=[], at=10), attempt("silent", claim="none", at=20))
    found = {one.trial.trial_id: one for one in evaluate(store, Filter(), shop)}
    assert judged(store, shop) == found


def test_a_claim_that_the_world_contradicts_is_a_false_success(store: Store, shop: Suite) -> None:
    put(store, attempt("bad", refunds=[]))
    one = judged(store, shop)["bad"]
    assert (one.outcome.state, one.solved, one.false_success) == ("failed", False, True)
    assert one.result("false_success") is not None


def test_a_world_that_nobody_recorded_is_unavailable_and_no_failure(store: Store, shop: Suite) -> None:
    put(store, attempt("blind", refunds=None))
    one = judged(store, shop)["blind"]
    assert (one.outcome.state, one.outcome.reason) == ("unavailable", "end_state_not_recorded")
    assert (one.solved, one.false_success) == (None, None)
    assert one.unproven


def test_before_anybody_evaluates_there_is_no_verdict(store: Store) -> None:
    put(store, attempt("good"))
    (one,) = assess(store, Filter())
    assert (one.outcome.state, one.outcome.reason, one.solved) == ("unavailable", "not_evaluated", None)


def test_without_a_suite_the_rules_that_need_no_task_still_run(store: Store) -> None:
    put(store, attempt("timeout", result=None, receipt=None))
    one = judged(store, None)["timeout"]
    assert one.outcome.reason == "no_verifier"
    unknown = one.result("unknown_effect")
    assert unknown is not None
    assert unknown.state == "fail"
    assert one.result("required_tools") is None


def test_a_verdict_by_another_version_of_the_suite_is_none_on_this_one(store: Store, shop: Suite) -> None:
    put(store, attempt("good"))
    list(evaluate(store, Filter(), shop))
    stricter = parse_suite(json.dumps(SUITE).replace('"exactly": 1', '"exactly": 2'), name="suite.json")
    (one,) = assess(store, Filter(), stricter)
    assert (one.outcome.state, one.outcome.reason) == ("unavailable", "suite_changed")


def test_a_span_that_comes_later_takes_the_verdict_back_until_it_is_given_again(store: Store, shop: Suite) -> None:
    put(store, attempt("good"))
    list(evaluate(store, Filter(), shop))
    late = {semconv.OPERATION: "execute_tool", semconv.TOOL_NAME: "look_up", semconv.TRIAL_ID: "good"}
    put(store, traces(span("execute_tool look_up", late, trace="good", parent="good-agent", at=2)))
    assert [one.outcome.reason for one in assess(store, Filter(), shop)] == ["evidence_changed"]
    assert judged(store, shop)["good"].outcome.state == "verified"


def test_the_same_spans_from_elsewhere_change_no_evidence(store: Store, shop: Suite) -> None:
    one = attempt("good")
    put(store, one)
    (found,) = evaluate(store, Filter(), shop)
    writer = Writer(store)
    writer.add(one, one.SerializeToString(), Origin("import:otlp", "elsewhere.pb"))
    writer.flush()
    (again,) = assess(store, Filter(), shop)
    assert (again.outcome, again.evidence) == (found.outcome, found.evidence)
    moved = replace(again.trial, source="import:otlp", path="elsewhere.pb")  # whichever of the equal spans is kept
    assert assess_trial(moved, shop).evidence == found.evidence


def test_before_an_evaluation_nobody_can_say_what_was_over_its_budget(store: Store, shop: Suite) -> None:
    put(store, attempt("good"))
    (variant,) = told(store, shop).variants
    found = variant.measures["aborted_rate"]
    assert (found.value, found.denominator, found.unavailable) == (None, 0, 1)
    judged(store, shop)
    (variant,) = told(store, shop).variants
    assert (variant.measures["aborted_rate"].value, variant.measures["aborted_rate"].denominator) == (0.0, 1)


def test_a_label_a_session_and_another_project_of_one_name_keep_their_own_verdicts(store: Store, shop: Suite) -> None:
    put(store, attempt("x"))
    session = {semconv.OPERATION: "invoke_agent", semconv.CONVERSATION_ID: "x"}
    put(store, traces(span("invoke_agent", session, trace="other", at=5)))
    put(store, traces(span("invoke_agent", session, trace="third", at=9), resource={semconv.PROJECT: "second"}))
    found = {(one.trial.project, one.trial.joined_by): one for one in evaluate(store, Filter(), shop)}
    assert {one.trial.trial_id for one in found.values()} == {"x"}
    assert len(found) == 3
    assert {(one.trial.project, one.trial.joined_by): one for one in assess(store, Filter(), shop)} == found
    assert found["default", "label"].outcome.state == "verified"


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_evidence_that_is_no_number_is_none_and_never_printed(store: Store, number: float) -> None:
    one = attempt("odd", score=number)
    gained = event(semconv.EVENT_PROGRESS, {semconv.PROGRESS_KEY: "k", semconv.PROGRESS_DELTA: number})
    one.resource_spans[0].scope_spans[0].spans[0].events.append(gained)
    put(store, one)
    found = list(evaluate(store, Filter(), None))
    assert found[0].trial.quality == ()
    assert [window.delta for window in found[0].trial.progress] == [1.0]
    told_ = line(report_json(report(found, None, described="")))
    assert "NaN" not in told_
    assert "Infinity" not in told_


def test_an_evaluation_that_asks_less_takes_back_what_an_earlier_one_said(store: Store, shop: Suite) -> None:
    put(store, attempt("good"))
    assert judged(store, shop)["good"].result("budgets") is not None
    document = json.loads(json.dumps(SUITE))
    del document["tasks"][0]["limits"]
    less = parse_suite(json.dumps(document), name="suite.json")
    assert judged(store, less)["good"].result("budgets") is None


def test_a_receipt_that_is_missing_opens_the_gate_s_first_question(store: Store, shop: Suite) -> None:
    put(store, attempt("good", receipt=None))
    judged(store, shop)
    (variant,) = told(store, shop).variants
    assert variant.decision.decided_by == "coverage"
    assert variant.measures["evidence_stated"].numerator == 0


def test_the_report_is_a_function_of_the_store(store: Store, shop: Suite) -> None:
    put(store, attempt("c1"), attempt("f1", variant="fast", refunds=[], score=0.9, usd="0.30", at=10))
    judged(store, shop)
    first = told(store, shop)
    judged(store, shop)  # evaluated once more, at another time
    assert told(store, shop) == first
    decisions = {one.name: (one.decision.decision, one.decision.decided_by) for one in first.variants}
    assert decisions == {"careful": ("pass", None), "fast": ("fail", "false_success")}
    assert "fast: higher task quality" in first.inversions[0]


def test_swapping_the_variants_swaps_the_report(store: Store, shop: Suite) -> None:
    put(store, attempt("c1", variant="fast"), attempt("f1", variant="careful", refunds=[], at=10))
    judged(store, shop)
    decisions = {one.name: one.decision.decision for one in told(store, shop).variants}
    assert decisions == {"careful": "fail", "fast": "pass"}


def test_evaluation_works_through_the_server_that_holds_the_store(
    store: Store, store_over_http: Store, shop: Suite
) -> None:
    put(store, attempt("good"), attempt("bad", refunds=[], at=10))
    found = judged(store_over_http, shop)
    assert {name: one.outcome.state for name, one in found.items()} == {"good": "verified", "bad": "failed"}
    assert judged(store, shop) == found
