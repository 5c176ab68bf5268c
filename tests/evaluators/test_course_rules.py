"""The course of a trial: loops, detours, errors and what came after them. Flags, and never a verdict on the trial."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanproof_collector.model.trials import EffectClass, EffectState, ToolCall, Trial
from spanproof_collector.model.values import Json
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.model.verifications import Verdict
from spanproof_evaluators.rules import RULES
from spanproof_evaluators.rules.trajectories import COURSE_RULES, calls_of
from spanproof_evaluators.runner.measuring import measure
from tests.evaluators.factories import assessed, call, suite, trial
from tests.evaluators.stats.golden import golden
from tests.shared import needs_golden


def task(**fields: object) -> Task:
    return suite({"id": "task-1", **fields}).tasks[0]


def made(
    name: str,
    arguments: Json = None,
    answer: Json = None,
    *,
    error: str | None = None,
    effect: EffectClass = "read",
    by: str | None = None,
    captured: bool = True,
) -> ToolCall:
    """Return a call that was answered; ``answer=None`` without an error: nobody recorded with what."""
    state: EffectState = "none" if effect == "read" else "unknown" if error or effect == "unclassified" else "reported"
    one = call(name, {} if arguments is None else arguments, effect_class=effect, state=state, captured=captured)
    why = replace(one.effect, reason="error_text" if error else state)
    source: Literal["span"] | None = None if answer is None else "span"
    return replace(one, result=answer, result_source=source, error=error, asked_by=by, effect=why)


def run(*calls: ToolCall) -> list[ToolCall]:
    """Return the calls with a span each, as they were asked for one after the other."""
    return [
        replace(one, span_ids=(f"{at:016x}",), asked_by=one.asked_by or f"m{at:015x}") for at, one in enumerate(calls)
    ]


def ask(name: str, calls: Sequence[ToolCall], about: Task | None = None, **more: object) -> Result | None:
    rule = next(rule for rule in RULES if rule.name == name)
    return rule.evaluate(trial(calls=run(*calls), **more), about)  # type: ignore[arg-type]  # a table of keyword arguments


def spans(*places: int) -> tuple[str, ...]:
    return tuple(f"{at:016x}" for at in places)


FIND = made("find", {"q": 1}, "one")
LOOK = made("look", {"id": 7}, "seven")
PAY = made("pay", {"id": 7}, "paid", effect="write")
SHELL = made("shell", {"c": "x"}, "done", effect="unclassified")
POLL = [made("status", {"id": 7}, f"{share} %") for share in (10, 60, 90, 100)]
BLIND = made("find", {"q": 1})

CASES: list[tuple[str, list[ToolCall], str, float, tuple[str, ...]]] = [
    ("repeats_since_write", [FIND, LOOK, FIND], "fail", 1.0, spans(2)),
    ("repeats_since_write", [FIND, PAY, FIND], "pass", 0.0, ()),
    ("repeats_since_write", [FIND, made("pay", error="Error: no", effect="write"), FIND], "fail", 1.0, spans(2)),
    ("repeats_since_write", [FIND, made("pay", error="timed out", effect="write"), FIND], "unavailable", 0.0, ()),
    ("repeats_since_write", [FIND, SHELL, FIND], "unavailable", 0.0, ()),
    ("repeats_since_write", [PAY, PAY], "fail", 1.0, spans(1)),
    ("repeats_since_write", POLL, "pass", 0.0, ()),
    ("repeats_since_write", [BLIND, BLIND], "unavailable", 0.0, ()),
    ("identical_run", [FIND, FIND, LOOK, FIND], "pass", 2.0, ()),
    ("identical_run", [LOOK, FIND, FIND, FIND], "fail", 3.0, spans(1, 2, 3)),
    ("identical_run", POLL, "pass", 1.0, ()),
    ("identical_run", [BLIND] * 3, "unavailable", 0.0, ()),
    ("identical_run", [BLIND] * 2, "pass", 1.0, ()),
    ("same_result", [FIND, PAY, FIND], "fail", 1.0, spans(2)),
    ("same_result", POLL, "pass", 0.0, ()),
    ("same_result", [*POLL, POLL[0]], "fail", 1.0, spans(4)),
    ("same_result", [FIND, BLIND], "unavailable", 0.0, ()),
    ("ping_pong", [FIND, LOOK, FIND, LOOK], "fail", 4.0, spans(0, 1, 2, 3)),
    ("ping_pong", [FIND, LOOK, FIND, PAY], "pass", 3.0, ()),
    ("ping_pong", [FIND, FIND, FIND, FIND], "pass", 0.0, ()),
    ("ping_pong", [one for poll in POLL for one in (poll, LOOK)], "pass", 3.0, ()),
    ("ping_pong", [BLIND, LOOK, BLIND, LOOK], "unavailable", 0.0, ()),
    ("same_error", [made("get", {"id": at}, error="Error:  no id") for at in range(3)], "fail", 3.0, spans(0, 1, 2)),
    ("same_error", [made("get", {"id": at}, error=f"Error: no id {at}") for at in range(3)], "pass", 1.0, ()),
    (
        "same_error",
        [*[made("get", error="Error: no")] * 2, made("get", {}, "yes"), made("get", error="Error: no")],
        "pass",
        2.0,
        (),
    ),
    ("same_error", [*[made("get", error="Error: no")] * 2, made("get")], "unavailable", 0.0, ()),
]  # fmt: skip


@pytest.mark.parametrize(("name", "calls", "state", "score", "marked"), CASES)
def test_loops_are_flagged_and_polling_is_none(
    name: str, calls: list[ToolCall], state: str, score: float, marked: tuple[str, ...]
) -> None:
    found = ask(name, calls)
    assert found is not None
    assert (found.state, found.label) == (state, "diagnostic")
    if state != "unavailable":
        assert (found.score, found.span_ids) == (score, marked)


def test_as_many_repeats_as_the_task_allows_raise_no_flag() -> None:
    for name in ("repeats_since_write", "same_result"):
        found = ask(name, [FIND, FIND], task(max_repeats=1))
        assert found is not None
        assert (found.state, found.score) == ("pass", 1.0), name


@pytest.mark.parametrize("rule", [rule.name for rule in COURSE_RULES])
def test_no_flag_on_the_course_decides_on_the_trial(rule: str) -> None:
    assert not next(one for one in RULES if one.name == rule).hard
    assert ask(rule, []) is None


@pytest.mark.parametrize("captured", [True, False])
def test_calls_whose_arguments_nobody_recorded_are_not_taken_for_loops(captured: bool) -> None:
    calls = [made("find", {"q": 1}, "one", captured=captured)] * 4
    states = {name: found.state for name in LOOPS if (found := ask(name, calls))}
    assert states == dict.fromkeys(LOOPS, "fail" if captured else "unavailable")


LOOPS = ("repeats_since_write", "identical_run", "same_result")


# --- redundancy and efficiency ----------------------------------------------------------------------------------------


def test_redundancy_has_a_lower_and_an_upper_bound() -> None:
    calls = [
        made("find", {"name": "Ann"}, {"users": [{"id": "U-77", "age": 41}]}),  # shows what pay asks with
        made("weather", {}, "sunny"),  # nobody uses it
        made("find", {"name": "Ann"}, {"users": [{"id": "U-77", "age": 41}]}),  # again
        made("rate", {}, "The rate is 12.5, for New York City only."),
        made("pay", {"to": "U-77", "rate": 12.5, "city": "New York City"}, "ok", effect="write"),
    ]
    found = ask("redundancy", calls)
    assert found is not None
    assert (found.state, found.score, found.span_ids) == ("fail", 0.2, spans(2))
    assert found.details == {"calls": 5, "at_least": 1, "at_most": 2, "at_most_span_ids": [*spans(1, 2)]}


def test_a_write_made_again_counts_in_both_bounds() -> None:
    found = ask("redundancy", [PAY, PAY])
    assert found is not None
    assert (found.details["at_least"], found.details["at_most"]) == (1, 1)


def test_a_share_of_calls_that_are_not_all_known_is_unavailable() -> None:
    for found in (
        ask("redundancy", [FIND, FIND], calls_whole=False),
        ask("redundancy", [FIND, made("x", captured=False)]),
    ):
        assert found is not None
        assert (found.state, found.reason) == ("unavailable", "not_captured")


def test_steps_are_held_against_a_reference_only_where_there_is_one() -> None:
    reference = [{"tool": "find"}, {"tool": "pay"}]
    assert ask("step_efficiency", [FIND, PAY], task()) is None
    even = ask("step_efficiency", [FIND, PAY], task(reference_trajectory=reference))
    more = ask("step_efficiency", [FIND, LOOK, PAY], task(reference_trajectory=reference))
    none = ask("step_efficiency", [FIND], task(reference_trajectory=[]))
    assert even is not None
    assert more is not None
    assert none is not None
    assert (even.state, even.score) == ("pass", 1.0)
    assert (more.state, more.score, more.span_ids) == ("fail", 1.5, spans(2))
    assert (none.state, none.reason) == ("unavailable", "undefined")


# --- errors and what came after them ----------------------------------------------------------------------------------

BAD = made("get", {"id": 1}, error="Error: 404")


@pytest.mark.parametrize(
    ("calls", "after", "state"),
    [
        ([BAD, made("get", {"id": 1}, "yes")], "same_call", "pass"),
        ([BAD, made("get", {"id": 2}, "yes")], "changed_arguments", "pass"),
        ([BAD, LOOK], "other_tool", "pass"),
        ([LOOK, BAD], "gave_up", "fail"),
        ([BAD, made("get", captured=False)], "not_recorded", "pass"),
        # asked for in one breath: the second had not seen the error of the first
        ([replace(BAD, asked_by="m"), replace(LOOK, asked_by="m")], "gave_up", "fail"),
        ([replace(BAD, asked_by="m"), replace(LOOK, asked_by="m"), made("get")], "changed_arguments", "pass"),
    ],
)  # fmt: skip
def test_what_came_after_an_error_is_named(calls: list[ToolCall], after: str, state: str) -> None:
    found = ask("recovery_after_error", calls)
    assert found is not None
    assert (found.state, found.score) == (state, 1.0)
    errors = found.details["errors"]
    assert isinstance(errors, list)
    assert [one["next"] for one in errors if isinstance(one, dict)] == [after]


def test_a_refusal_is_no_error_and_the_end_of_a_torn_record_is_no_giving_up() -> None:
    refused = replace(call("pay", state="refused"), error="not allowed")
    assert ask("recovery_after_error", [refused]) is None
    torn = ask("recovery_after_error", [BAD], root_missing=True)
    assert torn is not None
    assert (torn.state, torn.reason) == ("unavailable", "incomplete")


anything = st.builds(
    made,
    st.sampled_from(["a", "b"]),
    st.sampled_from([{}, {"x": "v1"}, {"x": "v2"}]),
    st.sampled_from([None, "v1", "v2", "v1 and v2"]),
    error=st.sampled_from([None, "Error: no", "timed out"]),
    effect=st.sampled_from(["read", "write", "unclassified"]),
)


@given(st.lists(anything, max_size=8))
def test_the_bounds_of_redundancy_are_in_order_and_no_loop_is_longer_than_the_trial(calls: list[ToolCall]) -> None:
    said = {rule.name: found for rule in COURSE_RULES if (found := rule.evaluate(trial(calls=run(*calls)), None))}
    for name in ("repeats_since_write", "same_result", "identical_run", "ping_pong", "same_error"):
        if name in said:
            assert 0 <= (said[name].score or 0) <= len(calls)
    if "redundancy" in said and said["redundancy"].details:
        low, high = (said["redundancy"].details[name] for name in ("at_least", "at_most"))
        assert isinstance(low, int)
        assert isinstance(high, int)
        assert low <= high <= len(calls)


# --- against what was measured ----------------------------------------------------------------------------------------


def of_tau(told: dict[str, list[str]], writes: Sequence[str]) -> Trial:
    """Return a trial of golden case G27: calls hashed to ``name#id``, and which of them failed."""
    calls = []
    for one, failed in zip(told["pred"], told["pred_error"], strict=True):
        name, _, number = one.partition("#")
        answer, error = (None, "Error: it is not so") if failed else ("done", None)
        effect: EffectClass = "write" if name in writes else "read"
        calls.append(made(name, {"call": number}, answer, error=error, effect=effect))
    return trial(calls=run(*calls))


@needs_golden
def test_repeats_go_with_failure_as_published_and_errors_are_those_of_the_recording() -> None:
    # Golden case G23, its row of tau-bench, on the 200 trials of G27.
    case, published = golden("G27"), golden("G23")["expected"]["tau_any_repeat"]
    by_repeat: dict[bool, list[int]] = {True: [], False: []}
    for told in case["inputs"]["trials"]:
        one = of_tau(told, case["inputs"]["write_tools"])
        said = {rule.name: found for rule in RULES if (found := rule.evaluate(one, None)) is not None}
        by_repeat["repeats" in said and said["repeats"].state == "fail"].append(told["ok"])
        errors = said["recovery_after_error"].score if "recovery_after_error" in said else 0
        assert errors == sum(told["pred_error"])
        if "repeats" in said:
            assert (said["repeats"].score or 0) >= (said["repeats_since_write"].score or 0)
    table = {flag: [sum(oks), len(oks)] for flag, oks in by_repeat.items()}
    assert table == {True: published["flag"], False: published["noflag"]}


@needs_golden
def test_the_founding_evaluator_of_trajectories_counts_the_same() -> None:
    # Golden case G21: steps, errors, repeats, tools, and the longest run of its note.
    case = golden("G21")
    calls = [
        made(one["tool"], one["arguments"], "ok", error=f"code {one['error_code']}" if one["error_code"] else None)
        for one in case["inputs"]["events"]
    ]
    spec, expected = case["inputs"]["expected_spec"], case["expected"]
    about = task(
        limits={"max_tool_calls": spec["max_steps"]},
        required_tools=spec["required"],
        forbidden_tools=spec["forbidden"],
    )
    one = trial(calls=run(*calls))
    said = {rule.name: found for rule in RULES if (found := rule.evaluate(one, about)) is not None}
    assert [call.name for call in one.tool_calls] == expected["tools"]
    assert len(one.tool_calls) == expected["steps"]
    assert said["repeats"].score == expected["repeats"]
    assert said["recovery_after_error"].score == expected["errors"]
    assert said["identical_run"].score == 2.0
    failed = [
        name for name in ("budgets", "repeats", "forbidden_tools", "required_tools") if said[name].state == "fail"
    ]
    assert len(failed) == len(expected["findings"])
    assert bool(failed) is not expected["clean"]
    same = expected["argument_order_insensitive"]
    texts = [calls_of(trial(calls=[made("x", same[side])])).signatures for side in "ab"]
    assert (texts[0] == texts[1]) is same["same_signature"]


def test_trials_with_an_error_are_held_against_those_without() -> None:
    def judged(name: str, calls: list[ToolCall], outcome: Verdict) -> Assessment:
        one = trial(name, calls=run(*calls))
        said = tuple(found for rule in COURSE_RULES if (found := rule.evaluate(one, None)) is not None)
        return replace(assessed(one, outcome), results=said)

    found = measure(
        [
            judged("a", [BAD, LOOK], "verified"),
            judged("b", [BAD], "failed"),
            judged("c", [BAD], "unavailable"),
            judged("d", [LOOK], "verified"),
            judged("e", [LOOK], "failed"),
            assessed(trial("f", calls_whole=False)),
        ]
    )["recovery_after_error"]
    assert (found.numerator, found.denominator, found.unavailable) == (1, 2, 2)
    assert found.note == "without an error 1 of 2 solved, then gave up 2, then other tool 1"
    assert measure([judged("d", [LOOK], "verified")])["recovery_after_error"].value is None
