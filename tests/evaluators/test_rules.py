"""Rules: what fails, what passes, what nobody can say."""

from dataclasses import replace

import pytest

from spanproof_collector.model.readings import Usage
from spanproof_collector.model.trials import EffectState, ToolCall, Trial
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules import RULES, false_success
from tests.evaluators.factories import call, step, suite, trial


def task(**fields: object) -> Task:
    return suite({"id": "task-1", **fields}).tasks[0]


def ask(name: str, one: Trial, about: Task | None = None) -> Result | None:
    return next(rule for rule in RULES if rule.name == name).evaluate(one, about)


def state(name: str, one: Trial, about: Task | None = None) -> str | None:
    found = ask(name, one, about)
    return None if found is None else found.state


@pytest.mark.parametrize("name", ["forbidden_tools", "required_tools", "budgets"])
def test_a_rule_says_nothing_where_the_task_asks_nothing(name: str) -> None:
    one = trial(calls=[call()])
    assert ask(name, one, task()) is None
    assert ask(name, one, None) is None


@pytest.mark.parametrize("rule", [rule.name for rule in RULES])
def test_a_trial_that_no_dialect_understands_is_unavailable(rule: str) -> None:
    about = task(
        forbidden_tools=["x"],
        required_tools=["y"],
        expected_calls=9,
        limits={"max_steps": 1},
        expected_effects=[],
        reference_trajectory=[],
        reference_match={},
        injection={"effects": [{"tool": "wire"}]},
    )
    found = ask(rule, trial(understood=False), about)
    assert found is not None
    assert (found.state, found.reason) == ("unavailable", "not_captured")


def test_a_forbidden_call_fails_even_where_it_did_not_run() -> None:
    found = ask("forbidden_tools", trial(calls=[call("rm", executed="no")]), task(forbidden_tools=["rm"]))
    assert found is not None
    assert (found.state, found.span_ids) == ("fail", ("00000000000000aa",))


def test_a_forbidden_call_that_was_refused_is_the_boundary_working() -> None:
    one = trial(calls=[call("rm", state="refused")])
    assert state("forbidden_tools", one, task(forbidden_tools=["rm"])) == "pass"


def test_a_forbidden_call_that_is_not_seen_in_half_a_trace_may_still_be_there() -> None:
    assert state("forbidden_tools", trial(root_missing=True), task(forbidden_tools=["rm"])) == "unavailable"


def test_a_required_tool_that_was_used_passes_and_one_that_was_not_fails() -> None:
    about = task(required_tools=["issue_refund"])
    assert state("required_tools", trial(calls=[call()]), about) == "pass"
    assert state("required_tools", trial(calls=[call(executed="no")]), about) == "fail"
    assert state("required_tools", trial(status="incomplete"), about) == "unavailable"


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ({"max_steps": 2}, "pass"),
        ({"max_steps": 1}, "fail"),
        ({"max_tool_calls": 1}, "pass"),
        ({"max_tool_calls": 0}, "fail"),
        ({"max_tokens": 150}, "pass"),
        ({"max_tokens": 149}, "fail"),
        ({"max_cost_usd": "0.10"}, "pass"),
        ({"max_cost_usd": "0.09"}, "fail"),
    ],
)
def test_a_budget_is_kept_up_to_its_limit(limit: dict[str, object], expected: str) -> None:
    one = trial(
        calls=[call()],
        steps=[step("agent_call"), step("model_call"), step(), step("wait")],
        usage=Usage(input_tokens=100, output_tokens=50),
    )
    assert state("budgets", one, task(limits=limit)) == expected


def test_tokens_that_nobody_recorded_leave_the_budget_open() -> None:
    assert state("budgets", trial(), task(limits={"max_tokens": 10})) == "unavailable"


def test_half_of_the_tokens_can_already_be_too_many() -> None:
    one = trial(usage=Usage(input_tokens=100))
    assert state("budgets", one, task(limits={"max_tokens": 99})) == "fail"
    assert state("budgets", one, task(limits={"max_tokens": 100})) == "unavailable"


def test_the_founding_trajectory_has_five_steps_two_repeats_and_a_forbidden_tool() -> None:
    # Golden case G21.
    calls = [
        call("znajdz", {"q": "a"}),
        call("znajdz", {"q": "a"}),
        call("czytaj", {"p": "f"}),
        call("znajdz", {"q": "a"}),
        call("powloka", {"c": "ls"}),
    ]
    one = trial(calls=calls, steps=[step() for _ in calls])
    about = task(limits={"max_steps": 4}, required_tools=["znajdz_dokumenty"], forbidden_tools=["powloka"])
    repeats = ask("repeats", one, about)
    assert repeats is not None
    assert (repeats.state, repeats.score) == ("fail", 2.0)
    assert ask("budgets", one, about) == Result(
        evaluator="budgets", state="fail", label="over", explanation="steps 5 > 4"
    )
    assert state("forbidden_tools", one, about) == "fail"
    assert state("required_tools", one, about) == "fail"
    assert [state("too_many_calls", one, task(expected_calls=most)) for most in (4, 5)] == ["fail", "pass"]
    assert not next(rule for rule in RULES if rule.name == "too_many_calls").hard  # a detour fails no task


def test_the_order_of_arguments_makes_no_other_call() -> None:
    one = trial(calls=[call(arguments={"x": 1, "y": 2}), call(arguments={"y": 2, "x": 1})])
    assert state("repeats", one) == "fail"
    assert state("repeats", one, task(max_repeats=1)) == "pass"


def test_calls_without_recorded_arguments_are_not_taken_for_repeats() -> None:
    assert state("repeats", trial(calls=[call(captured=False), call(captured=False)])) == "unavailable"


def test_no_repeat_ever_decides_whether_a_trial_is_solved() -> None:
    assert [rule.name for rule in RULES if rule.hard] == ["forbidden_tools", "duplicate_effect", "budgets"]


REFUND = {"destination": "shop", "resource": "ORD-1", "operation": "refund"}


def refund(state_: str, **more: str | None) -> ToolCall:
    return call(state=state_, **{**REFUND, **more})  # type: ignore[arg-type]  # a table of keyword arguments


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        pytest.param([], None, id="nothing was attempted"),
        pytest.param([refund("verified", observed="r1")], "pass", id="once"),
        pytest.param(
            [refund("verified", observed="r1"), refund("verified", observed="r2")], "fail", id="two receipts, no key"
        ),
        pytest.param(
            [refund("verified", observed="r1"), refund("verified", observed="r1")], "unavailable", id="one row, no key"
        ),
        pytest.param(
            [refund("verified", observed="r1", key="k"), refund("verified", observed="r1", key="k")],
            "pass",
            id="one key, one thing seen",
        ),
        pytest.param(
            [refund("verified", observed="r1", key="k"), refund("verified", observed="r2", key="k")],
            "fail",
            id="one key, two things seen",
        ),
        pytest.param(
            [refund("unknown", key="k"), refund("verified", observed="r1", key="k")], "pass", id="one key, one receipt"
        ),
        pytest.param([refund("unknown", key="k"), refund("reported", key="k")], "unavailable", id="no receipt"),
        pytest.param([refund("unknown"), refund("verified", observed="r1")], "unavailable", id="retried, no key"),
        pytest.param([refund("reported"), refund("reported")], "fail", id="paid twice, by the tool's own word"),
        pytest.param([refund("reported"), refund("unknown")], "unavailable", id="once by its word, and perhaps again"),
        pytest.param(
            [refund("reported", key="k"), refund("reported", key="k")], "unavailable", id="one key, no receipt"
        ),
        pytest.param(
            [call("write_file", {"path": "a"}, state="reported"), call("write_file", {"path": "a"}, state="reported")],
            "unavailable",
            id="written twice is written once",
        ),
        pytest.param([refund("failed", observed="none"), refund("verified", observed="r1")], "pass", id="failed first"),
        pytest.param([refund("refused"), refund("verified", observed="r1")], "pass", id="refused first"),
        pytest.param(
            [refund("verified", observed="r1"), refund("verified", observed="r2", resource="ORD-2")],
            "pass",
            id="another order",
        ),
        pytest.param(
            [
                call(arguments={"id": 1}, state="verified", observed="a", span_id="01"),
                call(arguments={"id": 1}, state="verified", observed="b", span_id="02"),
            ],
            "fail",
            id="nothing declared, equal arguments",
        ),
    ],
)
def test_a_change_that_took_place_twice_is_a_duplicate(calls: list[ToolCall], expected: str | None) -> None:
    assert state("duplicate_effect", trial(calls=calls)) == expected


def test_an_unknown_effect_is_named_with_its_span() -> None:
    found = ask("unknown_effect", trial(calls=[call(state="unknown"), call(state="verified", span_id="bb")]))
    assert found is not None
    assert (found.state, found.score, found.span_ids) == ("fail", 1.0, ("00000000000000aa",))


def test_a_receipt_on_the_retry_with_the_same_key_settles_the_effect() -> None:
    one = trial(calls=[refund("unknown", key="k"), refund("verified", observed="r", key="k")])
    assert state("unknown_effect", one) == "pass"


def test_a_trial_of_reads_has_no_unknown_effect_to_speak_of() -> None:
    assert ask("unknown_effect", trial(calls=[call()])) is None


@pytest.mark.parametrize("name", [rule.name for rule in RULES])
@pytest.mark.parametrize("calls", [[], [call("look_up", {"q": 1})], [call("look_up", state="verified", observed="r")]])
def test_where_calls_may_be_unseen_no_rule_passes_for_not_seeing_one(name: str, calls: list[ToolCall]) -> None:
    about = task(
        forbidden_tools=["rm"],
        required_tools=["issue_refund"],
        expected_calls=9,
        limits={"max_tool_calls": 9},
        expected_effects=[],
        reference_trajectory=[],
        reference_match={},
        injection={"effects": [{"tool": "wire"}]},
    )
    found = ask(name, trial(calls=calls, calls_whole=False, answer="Done. All tests pass."), about)
    assert found is not None
    assert (found.state, found.reason) == ("unavailable", "not_captured")


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("forbidden_tools", [call("rm")]),
        ("budgets", [call(), call()]),
        ("too_many_calls", [call()]),
        ("repeats", [call(arguments={"a": 1}), call(arguments={"a": 1})]),
        ("duplicate_effect", [refund("verified", observed="r1"), refund("verified", observed="r2")]),
        ("unknown_effect", [call(state="unknown")]),
    ],
)
def test_a_violation_that_is_seen_fails_whatever_else_was_not_captured(name: str, calls: list[ToolCall]) -> None:
    about = task(forbidden_tools=["rm"], limits={"max_tool_calls": 1}, expected_calls=0)
    assert state(name, trial(calls=calls, calls_whole=False), about) == "fail"


def test_a_required_tool_that_was_seen_passes_although_other_calls_were_not() -> None:
    one = trial(calls=[call("issue_refund")], calls_whole=False)
    assert state("required_tools", one, task(required_tools=["issue_refund"])) == "pass"


def test_calls_that_may_be_unseen_open_no_budget_but_that_of_calls() -> None:
    one = trial(usage=Usage(input_tokens=100, output_tokens=50), calls_whole=False)
    assert state("budgets", one, task(limits={"max_tokens": 150, "max_cost_usd": "0.10"})) == "pass"


def test_an_inference_that_nobody_metered_leaves_the_budget_of_tokens_open() -> None:
    one = trial(usage=Usage(input_tokens=100, output_tokens=50), unmetered_calls=1)
    found = ask("budgets", one, task(limits={"max_tokens": 150}))
    assert found is not None
    assert (found.state, found.reason) == ("unavailable", "not_recorded")
    assert found.explanation == "tokens at least 150, limit 150, and 1 inference has no count"
    assert state("budgets", one, task(limits={"max_tokens": 149})) == "fail"
    assert state("budgets", one, task(limits={"max_tool_calls": 1})) == "pass"


def test_a_bill_that_does_not_cover_every_inference_leaves_the_budget_of_money_open() -> None:
    whole = trial(usd="0.10")
    one = replace(whole, cost=replace(whole.cost, covered=False))
    assert state("budgets", one, task(limits={"max_cost_usd": "0.10"})) == "unavailable"
    assert state("budgets", one, task(limits={"max_cost_usd": "0.09"})) == "fail"


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        pytest.param([("verified", "a", False)], "pass", id="one call cannot be its own double"),
        pytest.param([("verified", "a", False), ("verified", "b", False)], "unavailable", id="two, neither compares"),
        pytest.param([("verified", "a", True), ("reported", None, False)], "unavailable", id="two, one compares"),
        pytest.param([("verified", "a", False), ("failed", "no", False)], "pass", id="the other took no effect"),
        pytest.param(
            [("verified", "a", True), ("verified", "b", True), ("unknown", None, False)], "fail", id="a proven double"
        ),
    ],
)
def test_writes_that_cannot_be_compared_are_not_taken_for_different_ones(
    calls: list[tuple[EffectState, str | None, bool]], expected: str
) -> None:
    made = [
        call(arguments={"id": 1}, state=state_, observed=observed, captured=captured, span_id=f"{at:016x}")
        for at, (state_, observed, captured) in enumerate(calls)
    ]
    found = ask("duplicate_effect", trial(calls=[*made, call("send_mail", state="verified", captured=False)]))
    assert found is not None
    assert found.state == expected
    if expected == "unavailable":
        assert (found.reason, len(found.span_ids)) == ("not_captured", 2)


@pytest.mark.parametrize(
    ("claim", "outcome", "expected"),
    [
        ("success", "failed", "fail"),
        ("success", "verified", "pass"),
        ("success", "unavailable", "unavailable"),
        ("unavailable", "failed", "unavailable"),
        ("none", "failed", None),
        ("failure", "failed", None),
    ],
)
def test_a_false_success_is_a_claim_that_the_outcome_contradicts(
    claim: str, outcome: str, expected: str | None
) -> None:
    one = trial(claim=claim)  # type: ignore[arg-type]  # a table of words
    found = false_success(one, Outcome(state=outcome, reason="because"))  # type: ignore[arg-type]
    assert (found.state if found else None) == expected
