"""Monologues, errors of execution, calls that no tool takes, and how a trial comes to its end."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from spanproof_collector.importers import import_paths
from spanproof_collector.model.readings import ToolDefinition
from spanproof_collector.model.trials import Inference, OrphanResult, Step, ToolCall, Trial
from spanproof_collector.model.values import Json
from spanproof_collector.store import Store
from spanproof_collector.trials import read_trials
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.rules import RULES
from spanproof_evaluators.rules.trajectories.execution_errors import class_of
from tests.evaluators.factories import START, call, step, trial


def ask(name: str, one: Trial) -> Result | None:
    return next(rule for rule in RULES if rule.name == name).evaluate(one, None)


def state(name: str, one: Trial) -> tuple[str, float | None] | None:
    found = ask(name, one)
    return None if found is None else (found.state, found.score if found.state != "unavailable" else None)


def turns(*told: bool | None, own: bool = True, offered: bool = True) -> tuple[Inference, ...]:
    """Return inferences m0, m1 … of which each says whether somebody had spoken before it."""
    return tuple(
        Inference(span_id=f"m{at}", own=own, failed=False, prompted=prompted, offered=offered)
        for at, prompted in enumerate(told)
    )


def steps(count: int) -> list[Step]:
    """Return the steps of inferences m0, m1 …, a second apart."""
    return [replace(step("model_call", "chat"), span_id=f"m{at}", started_at=START + at * 10) for at in range(count)]


def asked(name: str, by: int, arguments: Json = None, **more: object) -> ToolCall:
    """Return an answered call that inference number ``by`` asked for."""
    one = call(name, {} if arguments is None else arguments, span_id=f"{name}{by}")
    return replace(one, asked_by=f"m{by}", started_at=START + by * 10 + 1, **more)  # type: ignore[arg-type]


# --- monologues -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "calls", "expected"),
    [
        ((True, False, False), [], ("fail", 3.0)),
        ((True, False, False), [asked("x", 1)], ("pass", 1.0)),
        ((True, True, True, True), [], ("pass", 1.0)),  # a conversation
        ((True, False, False), [replace(asked("x", 1), asked_by=None)], ("unavailable", None)),
        ((True, None, None), [], ("unavailable", None)),
        ((), [], None),
    ],
)
def test_three_inferences_without_a_call_are_a_monologue_unless_somebody_spoke(
    told: tuple[bool | None, ...], calls: list[ToolCall], expected: tuple[str, float | None] | None
) -> None:
    one = replace(trial(calls=calls), inferences=turns(*told))
    assert state("monologue", one) == expected


def test_agents_that_talk_to_each_other_hold_no_monologue() -> None:
    told = [replace(one, agent="ab"[at % 2]) for at, one in enumerate(turns(True, False, False, False))]
    assert state("monologue", replace(trial(), inferences=tuple(told))) == ("pass", 1.0)


def test_what_agents_say_who_work_for_another_one_is_no_monologue() -> None:
    assert state("monologue", replace(trial(), inferences=turns(True, False, False, own=False))) is None


# --- validity ---------------------------------------------------------------------------------------------------------

SCHEMA: Json = {
    "type": "object",
    "properties": {"id": {"type": "string", "pattern": "^(a+)+$"}, "amount": {"type": "number", "minimum": 0}},
    "required": ["id"],
    "additionalProperties": False,
}
PAY = ToolDefinition(name="pay", parameters=SCHEMA)


def validity(calls: Sequence[ToolCall], *tools: ToolDefinition, **more: object) -> Result:
    one = replace(trial(calls=calls), tools=tools, inferences=turns(True, False), **more)  # type: ignore[arg-type]
    found = ask("tool_call_validity", one)
    assert found is not None
    return found


def faults(found: Result) -> list[object]:
    told = found.details.get("faults", [])
    assert isinstance(told, list)
    return [one["fault"] for one in told if isinstance(one, dict)]


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({"id": "A", "amount": 5}, False),
        ({"amount": 5}, True),
        ({"id": 7}, True),
        ({"id": "A", "amount": -1}, True),
        ({"id": "A", "tip": 1}, True),
        ("{id: A", True),
        ({"id": "a" * 40 + "!"}, False),  # patterns are not tried: this one would not end
    ],
)
def test_arguments_are_held_against_the_schema_of_their_tool(arguments: Json, wrong: bool) -> None:
    found = validity([asked("pay", 0, arguments)], PAY)
    assert (found.state, faults(found)) == (("fail", ["invalid_arguments"]) if wrong else ("pass", []))


def test_geminis_spelling_of_types_is_read() -> None:
    tool = ToolDefinition(name="pay", parameters={"type": "OBJECT", "properties": {"id": {"type": "STRING"}}})
    assert validity([asked("pay", 0, {"id": "A"})], tool).state == "pass"
    assert validity([asked("pay", 0, {"id": 1})], tool).state == "fail"


def test_tools_that_there_are_none_of_ids_that_come_twice_and_answers_of_no_call_are_counted_apart() -> None:
    calls = [
        asked("pay", 0, {"id": "A"}, call_id="c1"),
        asked("pay", 1, {"id": "B"}, call_id="c1"),
        asked("refund", 1, {}, call_id="c2"),
    ]
    found = validity(calls, PAY, orphan_results=(OrphanResult(call_id="c9", span_id="m1"),))
    assert found.score == 4.0
    assert sorted(map(str, faults(found))) == [
        "duplicate_call_id", "duplicate_call_id", "orphan_result", "undefined_tool",
    ]  # fmt: skip
    assert found.span_ids == ("pay0", "pay1", "refund1", "m1")


def test_without_definitions_there_is_no_verdict_and_a_tool_is_undefined_only_where_they_were_recorded() -> None:
    bare = validity([asked("pay", 0, {"id": "A"})])
    assert (bare.state, bare.reason) == ("unavailable", "not_captured")
    calls = [asked("refund", 0)]
    some = ask("tool_call_validity", replace(trial(calls=calls), tools=(PAY,), inferences=turns(True, offered=False)))
    assert some is not None
    assert (some.state, some.reason) == ("unavailable", "not_captured")


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"type": 12},
        {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False},
    ],
    ids=["elsewhere", "a circle", "no schema", "patterns"],
)
def test_a_schema_that_cannot_be_followed_gives_no_verdict(schema: Json) -> None:
    found = validity([asked("pay", 0, {"id": "A"})], ToolDefinition(name="pay", parameters=schema))
    assert (found.state, found.reason) == ("unavailable", "schema_unreadable")


# --- errors of execution ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("401", "authentication"),
        ("HTTP 403 Forbidden", "authentication"),
        ("Error code: 404 - page", "not_found"),
        ("429: slow down", "rate_limit"),
        ("RateLimitError", "rate_limit"),
        ("status_code=503", "server_error"),
        ("504: upstream", "timeout"),
        ("TimeoutError", "timeout"),
        ("bash: foo: command not found", "setup"),
        ("Error: payment method not found", "other"),
        ("bash: ./run: Permission denied", "other"),
        ("NotFoundError", "not_found"),
        ("7 PERMISSION_DENIED", "authentication"),
        ("Error: amount 500 is too much for order 404", "other"),
    ],
)
def test_an_error_has_a_class_by_its_status_or_its_words(error: str, kind: str) -> None:
    assert class_of(error) == kind


def test_errors_of_tools_and_of_models_are_counted_once_and_refusals_never() -> None:
    failed = replace(step("model_call"), span_id="m0", failed=True, error="429: slow down")
    tool_span = replace(step("tool_call"), span_id="pay0", failed=True, error="500")
    refused = replace(call("pay", state="refused", span_id="no"), error="403 not allowed")
    calls = [replace(asked("pay", 0), error="HTTP 500"), replace(asked("find", 1), error="no such user"), refused]
    barred = replace(step("tool_call"), span_id="no", failed=True, error="403")
    found = ask("execution_errors", trial(calls=calls, steps=[failed, tool_span, barred]))
    assert found is not None
    assert (found.state, found.score) == ("fail", 2.0)
    assert found.details["classes"] == {"other": 1, "rate_limit": 1, "server_error": 1}
    assert set(found.span_ids) == {"m0", "pay0"}


# --- how it came to its end -------------------------------------------------------------------------------------------

SUBMIT = asked("submit", 0, {"answer": "42"})


@pytest.mark.parametrize(
    ("calls", "told", "expected"),
    [
        ([SUBMIT, asked("look", 1)], (True, False), ("fail", 1.0)),
        ([SUBMIT], (True, False), ("pass", 0.0)),
        ([SUBMIT, asked("look", 0)], (True, False), ("pass", 0.0)),  # in one breath
        ([SUBMIT, asked("look", 1)], (True, True), ("pass", 0.0)),  # somebody asked for more
        ([SUBMIT, asked("look", 1)], (True, None), ("unavailable", None)),
        ([replace(SUBMIT, error="tests are missing"), asked("look", 1)], (True, False), None),  # it was turned down
        ([asked("look", 0)], (True,), None),
    ],
)
def test_calls_after_the_agent_declared_that_it_was_done_are_flagged(
    calls: list[ToolCall], told: tuple[bool | None, ...], expected: tuple[str, float | None] | None
) -> None:
    one = replace(trial(calls=calls, steps=steps(len(told))), inferences=turns(*told))
    assert state("calls_after_completion", one) == expected


def test_an_event_declares_it_too() -> None:
    one = trial(calls=[asked("look", 0), asked("pay", 1)], steps=steps(2))
    said = replace(one, inferences=turns(True, False), declared_at=START + 5)
    found = ask("calls_after_completion", said)
    assert found is not None
    assert (found.state, found.span_ids) == ("fail", ("pay1",))


WRITE = call("pay", effect_class="write", state="reported")
READ = call("get_payment")
SHELL = call("shell", {"x": 1}, effect_class="unclassified", state="unknown")


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([READ, WRITE], "fail"),
        ([WRITE, READ], "pass"),
        ([WRITE, READ, WRITE], "fail"),
        ([WRITE, replace(READ, error="timed out", executed="unknown")], "fail"),
        ([WRITE, SHELL], "unavailable"),
        ([SHELL], "unavailable"),
        ([READ], None),
        ([WRITE, call("bash", {"command": "pytest -q"}, effect_class="unclassified", state="unknown")], "pass"),
    ],
)
def test_a_claim_of_success_needs_a_look_after_the_last_write(calls: list[ToolCall], expected: str | None) -> None:
    found = ask("check_before_completion", trial(calls=calls))
    assert (None if found is None else found.state) == expected


def test_who_claims_nothing_needs_no_check() -> None:
    assert ask("check_before_completion", trial(calls=[WRITE], claim="none")) is None


def test_an_imported_conversation_is_held_against_the_tools_it_names(store: Store, tmp_path: Path) -> None:
    def asks(call_id: str, name: str, arguments: Json) -> dict[str, object]:
        function = {"name": name, "arguments": json.dumps(arguments)}
        made = [{"id": call_id, "type": "function", "function": function}]
        return {"role": "assistant", "content": None, "tool_calls": made}

    def answers(call_id: str, words: str) -> dict[str, object]:
        return {"role": "tool", "tool_call_id": call_id, "content": words}

    session = {
        "id": "s1",
        "tools": [{"type": "function", "function": {"name": "pay", "parameters": SCHEMA}}],
        "messages": [
            {"role": "user", "content": "Pay A."},
            asks("c1", "pay", {"id": "A", "amount": 5}),
            answers("c1", "paid"),
            asks("c2", "pay", {"id": "A", "amount": "five"}),
            answers("c2", "Error: amount is no number"),
            asks("c3", "wire", {}),
            answers("c3", "Error: no such tool"),
            {"role": "assistant", "content": "Done."},
        ],
    }
    file = tmp_path / "session.json"
    file.write_text(json.dumps(session))
    import_paths(store, [file])
    (one,) = read_trials(store)
    found = ask("tool_call_validity", one)
    assert found is not None
    assert found.state == "fail"
    assert sorted(map(str, faults(found))) == ["invalid_arguments", "undefined_tool"]
    assert found.span_ids == tuple(one.tool_calls[at].span_ids[0] for at in (1, 2))
