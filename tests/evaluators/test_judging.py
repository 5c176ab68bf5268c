"""Judging: which end state is looked at, and what makes an outcome unavailable."""

import pytest

from spanproof_collector.model.trials import EndState, Trial
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.suites import Suite
from spanproof_evaluators.runner import assess_trial
from spanproof_evaluators.runner.judging import outcome_of
from tests.evaluators.factories import call, suite, trial, wait, world

ONE_ROW = {"kind": "rows", "table": "refunds", "exactly": 1}


def shop(*checks: dict[str, object], **fields: object) -> Suite:
    return suite({"id": "task-1", "checks": list(checks or (ONE_ROW,)), **fields})


def deep_world(levels: int) -> str:
    """Return the text of a table whose only value is nested."""
    return '{"tables": {"refunds": [{"id": ' + "[" * levels + "]" * levels + "}]}}"


def before() -> EndState:
    return world("before", {"refunds": []})


def after() -> EndState:
    return world("after", {"refunds": [{"id": "r1"}]})


def judged(one: Trial, about: Suite | None = None) -> Outcome:
    return outcome_of(one, about or shop())


def test_the_state_before_and_the_state_after_give_the_outcome() -> None:
    found = judged(trial(end_states=[after(), before()]))
    assert (found.state, found.effect_of_trial, found.verifier) == ("verified", "caused", "shop/task-1")


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (trial(), "end_state_not_recorded"),
        (trial(end_states=[world("before", {"refunds": []})]), "end_state_not_recorded"),
        (trial(end_states=[world("after", {"refunds": []}, digest_matches=False)]), "digest_mismatch"),
        (trial(end_states=[world("after", text="{truncated")]), "end_state_unreadable"),
        (trial(end_states=[world("after", text=deep_world(300))]), "end_state_unreadable"),
        (trial(end_states=[world("after", text=deep_world(9000))]), "end_state_unreadable"),
        (trial(end_states=[world("after", {"orders": []})]), "table_not_recorded"),
        (trial(task_id=None, end_states=[world("after", {"refunds": []})]), "no_task"),
        (trial(task_id="other", end_states=[world("after", {"refunds": []})]), "task_not_in_suite"),
        (
            trial(status="error", status_reason="infrastructure", end_states=[world("after", {"refunds": []})]),
            "infrastructure",
        ),
        (trial(status="waiting", waits=[wait()], end_states=[world("after", {"refunds": []})]), "waiting"),
    ],
)
def test_what_cannot_be_judged_is_unavailable_with_its_reason(one: Trial, reason: str) -> None:
    found = judged(one)
    assert (found.state, found.reason) == ("unavailable", reason)


def test_a_task_without_checks_and_a_trial_without_a_suite_have_no_verifier() -> None:
    one = trial(end_states=[after()])
    assert judged(one, suite({"id": "task-1"})).reason == "no_verifier"
    assert outcome_of(one, None).reason == "no_verifier"


def test_a_wait_that_does_not_stop_the_clock_is_judged() -> None:
    assert judged(trial(status="waiting", waits=[wait(owner=None)], end_states=[before(), after()])).state == "verified"


def test_a_before_state_that_was_tampered_with_leaves_only_the_cause_open() -> None:
    tampered = world("before", {"refunds": []}, digest_matches=False)
    found = judged(trial(end_states=[tampered, after()]))
    assert (found.state, found.pre_state, found.effect_of_trial) == ("verified", "unavailable", None)


def test_the_answer_belongs_to_the_state_after_and_to_nothing_before() -> None:
    about = shop({"kind": "answer", "contains": ["Done"]})
    found = judged(trial(end_states=[before(), after()], answer="Done."), about)
    assert (found.state, found.effect_of_trial) == ("verified", "caused")


def test_an_answer_that_was_not_captured_is_a_gap_and_one_that_was_not_given_is_not() -> None:
    about = shop({"kind": "answer", "contains": ["Done"]})
    states = [before(), after()]
    assert judged(trial(answer=None, content="not_captured", end_states=states), about).state == "unavailable"
    assert judged(trial(answer=None, content="captured", end_states=states), about).state == "failed"


def test_a_trial_over_its_budget_is_unsolved_and_aborted_whatever_its_end_state() -> None:
    one = trial(calls=[call(), call()], end_states=[before(), after()])
    found = assess_trial(one, shop(limits={"max_tool_calls": 1}))
    assert (found.outcome.state, found.solved, found.aborted) == ("verified", False, True)


@pytest.mark.parametrize(("tool", "solved"), [("drop_table", False), ("look_up", True)])
def test_a_forbidden_tool_fails_the_trial(tool: str, solved: bool) -> None:
    one = trial(calls=[call(tool)], end_states=[before(), after()])
    assert assess_trial(one, shop(forbidden_tools=["drop_table"])).solved is solved


def test_a_tool_that_was_not_used_and_a_repeat_decide_nothing() -> None:
    one = trial(calls=[call("look_up", {"a": 1})] * 2, end_states=[before(), after()])
    found = assess_trial(one, shop(required_tools=["issue_refund"], max_repeats=0))
    assert {result.evaluator for result in found.results if result.state == "fail"} == {"required_tools", "repeats"}
    assert found.solved is True


def test_a_retry_that_nobody_can_rule_out_as_a_duplicate_leaves_it_open() -> None:
    calls = [
        call(state="unknown", resource="A", span_id="01"),
        call(state="verified", observed="r", resource="A", span_id="02"),
    ]
    assert assess_trial(trial(calls=calls, end_states=[before(), after()]), shop()).solved is None
