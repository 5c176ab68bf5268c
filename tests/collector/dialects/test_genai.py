"""What the GenAI conventions say, in each way in which they are written."""

import json

import pytest

from spanproof_collector.dialects import (
    DIALECTS,
    LogView,
    MessageEvent,
    SpanView,
    project_log,
    read_log,
    read_span,
)
from spanproof_collector.model.readings import (
    ABSENT,
    AgentRun,
    CallPart,
    Message,
    ModelCall,
    Other,
    OtherPart,
    Reading,
    ResponsePart,
    Retrieval,
    Text,
    ToolRun,
    Usage,
)
from spanproof_collector.model.trials import ForeignResult
from spanproof_collector.model.values import Value
from tests.factories import projection

MESSAGES: list[Value] = [
    {"role": "system", "parts": [{"type": "text", "content": "Be kind."}]},
    {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "pay", "arguments": {"n": 1}}]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "paid"}]},
    {"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}, {"type": "text", "content": "Done."}]},
]
READ = (
    Message(role="system", parts=(Text(content="Be kind."),)),
    Message(role="assistant", parts=(CallPart(name="pay", call_id="c1", arguments={"n": 1}),)),
    Message(role="tool", parts=(ResponsePart(call_id="c1", response="paid"),)),
    Message(role="assistant", parts=(OtherPart(type="reasoning", content="hm"), Text(content="Done."))),
)


def _read(attributes: dict[str, Value]) -> Reading:
    found = read_span(SpanView(attributes=attributes))
    assert found is not None
    return found[1]


def _call(attributes: dict[str, Value]) -> ModelCall:
    reading = _read({"gen_ai.operation.name": "chat", **attributes})
    assert isinstance(reading, ModelCall)
    return reading


@pytest.mark.parametrize("written", [MESSAGES, json.dumps(MESSAGES), json.dumps(MESSAGES, separators=(",", ":"))])
def test_messages_read_the_same_as_structure_and_as_json(written: Value) -> None:
    assert _call({"gen_ai.input.messages": written}).input == READ


def test_arguments_that_are_a_json_string_are_opened() -> None:
    part: Value = {"type": "tool_call", "id": "c1", "name": "pay", "arguments": '{"n": 1}'}
    call = _call({"gen_ai.output.messages": [{"role": "assistant", "parts": [part]}]})
    assert call.output == (READ[1],)


def test_arguments_that_were_not_captured_are_absent_and_null_is_null() -> None:
    parts: list[Value] = [
        {"type": "tool_call", "name": "a"},
        {"type": "tool_call", "name": "b", "arguments": None},
    ]
    output = _call({"gen_ai.output.messages": [{"role": "assistant", "parts": parts}]}).output
    assert output == (Message(role="assistant", parts=(CallPart(name="a"), CallPart(name="b", arguments=None))),)
    assert isinstance(output[0].parts[0], CallPart)
    assert output[0].parts[0].arguments is ABSENT


def test_a_part_of_an_unknown_type_is_kept() -> None:
    parts: list[Value] = [{"type": "blob", "content": "AAAA", "mime_type": "image/png"}, "plain words", 7]
    call = _call({"gen_ai.input.messages": [{"role": "user", "parts": parts}]})
    assert call.input == (
        Message(
            role="user",
            parts=(
                OtherPart(type="blob", content="AAAA"),
                Text(content="plain words"),
                OtherPart(type="unread", content=7),
            ),
        ),
    )


def test_an_unknown_role_is_other() -> None:
    call = _call({"gen_ai.input.messages": [{"role": "narrator", "parts": []}]})
    assert call.input == (Message(role="other"),)


@pytest.mark.parametrize("cut", ['[{"role":"user","par', "not json", '{"role"'])
def test_messages_that_were_cut_are_not_captured_and_counted(cut: str) -> None:
    call = _call({"gen_ai.input.messages": cut})
    assert (call.input, call.truncated_values) == (None, 1)


def test_counts_are_read_whatever_type_a_language_gives_them() -> None:
    call = _call(
        {
            "gen_ai.usage.input_tokens": 120,
            "gen_ai.usage.output_tokens": "20",
            "gen_ai.usage.cache_read.input_tokens": 64.0,
            "gen_ai.usage.cache_creation.input_tokens": 7,
            "gen_ai.usage.reasoning.output_tokens": True,
        }
    )
    assert call.usage == Usage(input_tokens=120, output_tokens=20, cache_read_tokens=64, cache_write_tokens=7)


def test_the_newer_name_of_cache_writes_stands_before_the_older() -> None:
    call = _call({"gen_ai.usage.cache_creation.input_tokens": 7, "gen_ai.usage.cache_write.input_tokens": 9})
    assert call.usage.cache_write_tokens == 9


@pytest.mark.parametrize("reasons", [["stop"], '["stop"]', "stop"])
def test_finish_reasons_are_read_as_array_json_or_one_word(reasons: Value) -> None:
    assert _call({"gen_ai.response.finish_reasons": reasons}).finish_reasons == ("stop",)


def test_the_older_name_of_the_provider_is_read() -> None:
    assert _call({"gen_ai.system": "openai"}).provider == "openai"


@pytest.mark.parametrize(
    ("definition", "hints"),
    [
        ({"name": "pay", "annotations": {"readOnlyHint": False, "destructiveHint": True}}, (False, True)),
        ({"type": "function", "function": {"name": "pay"}}, (None, None)),
    ],
)
def test_tool_definitions_are_read_in_both_shapes(
    definition: dict[str, Value], hints: tuple[bool | None, bool | None]
) -> None:
    (tool,) = _call({"gen_ai.tool.definitions": [definition]}).tools
    assert (tool.name, (tool.read_only_hint, tool.destructive_hint)) == ("pay", hints)


def test_a_tool_span_says_what_it_was_given_and_what_it_answered() -> None:
    reading = _read(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "pay",
            "gen_ai.tool.call.id": "c1",
            "gen_ai.tool.call.arguments": {"n": 1},
            "gen_ai.tool.call.result": '{"ok": true}',
        }
    )
    assert reading == ToolRun(name="pay", call_id="c1", arguments={"n": 1}, result={"ok": True})


def test_a_tool_span_without_content_says_nothing_of_it() -> None:
    reading = _read({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay"})
    assert reading == ToolRun(name="pay", arguments=ABSENT, result=ABSENT)


def test_each_operation_is_read_as_what_it_is() -> None:
    kinds = {
        "chat": ModelCall,
        "generate_content": ModelCall,
        "text_completion": ModelCall,
        "invoke_agent": AgentRun,
        "invoke_workflow": AgentRun,
        "execute_tool": ToolRun,
        "retrieval": Retrieval,
        "plan": Other,
        "something_new": Other,
    }
    assert {name: type(_read({"gen_ai.operation.name": name})) for name in kinds} == kinds


def test_a_span_without_an_operation_is_no_span_of_the_conventions() -> None:
    attributes: dict[str, Value] = {"http.request.method": "GET", "gen_ai.request.model": "x"}
    assert read_span(SpanView(attributes=attributes, scope="opentelemetry.instrumentation")) is None


def test_a_protocol_span_is_read_as_one_side_of_a_call() -> None:
    reading = _read(
        {"mcp.method.name": "tools/call", "gen_ai.tool.name": "pay", "gen_ai.operation.name": "execute_tool"}
    )
    assert reading == ToolRun(name="pay", mcp_side="server", done=True)
    assert _read({"mcp.method.name": "tools/list"}) == Other(operation="tools/list")


def test_a_result_of_another_evaluator_is_read_as_foreign() -> None:
    attributes: dict[str, Value] = {
        "gen_ai.evaluation.name": "tone",
        "gen_ai.evaluation.score.value": 0,
        "gen_ai.evaluation.score.label": "fail",
    }
    found = read_log(LogView(attributes=attributes, event_name="gen_ai.evaluation.result", span_id="ab" * 8))
    expected = ForeignResult(name="tone", score=0.0, label="fail", explanation=None, error_type=None, span_id="ab" * 8)
    assert found == ("genai", expected)


@pytest.mark.parametrize(
    ("name", "body", "expected"),
    [
        (
            "gen_ai.user.message",
            {"content": "hello"},
            MessageEvent(direction="input", message=Message(role="user", parts=(Text(content="hello"),))),
        ),
        (
            "gen_ai.tool.message",
            {"id": "c1", "content": '{"ok": true}'},
            MessageEvent(
                direction="input",
                message=Message(role="tool", parts=(ResponsePart(call_id="c1", response={"ok": True}),)),
            ),
        ),
        (
            "gen_ai.choice",
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"n": 1}'}}
                    ],
                },
            },
            MessageEvent(
                direction="output",
                message=Message(
                    role="assistant",
                    parts=(CallPart(name="pay", call_id="c1", arguments={"n": 1}),),
                    finish_reason="tool_calls",
                ),
            ),
        ),
    ],
)
def test_the_log_events_of_older_conventions_are_single_messages(
    name: str, body: Value, expected: MessageEvent
) -> None:
    assert read_log(LogView(attributes={"gen_ai.system": "openai"}, event_name=name, body=body)) == (
        "genai_events",
        expected,
    )


def test_a_record_of_no_known_event_is_nobodys() -> None:
    assert read_log(LogView(attributes={}, event_name="exception")) is None
    assert project_log({"session.id": "s"}, event_name="exception", body=None).session_id == "s"


def test_the_projection_names_what_the_reading_says() -> None:
    found = projection(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "pay",
            "gen_ai.tool.call.id": "c1",
            "gen_ai.tool.call.arguments": '{"b": 1, "a": 2}',
            "spanproof.trial.id": "t-1",
            "spanproof.trial.attempt": 0,
            "error.type": "TimeoutError",
        },
        scope="x",
    )
    assert (found.kind, found.dialect, found.tool_name, found.tool_call_id) == ("tool_call", "genai", "pay", "c1")
    assert (found.trial_id, found.attempt, found.error_type) == ("t-1", 0, "TimeoutError")
    same: dict[str, Value] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": {"a": 2, "b": 1}}
    assert projection(same).arguments_hash == found.arguments_hash != 0


def test_a_tool_run_says_what_it_goes_on_from_only_where_it_names_no_session() -> None:
    run: dict[str, Value] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "pay",
        "gen_ai.tool.call.id": "c1",
    }
    written: dict[str, Value] = {"gen_ai.tool.call.arguments": '{"a": 1}'}
    assert projection(run).join_keys == ["answered:c1"]
    assert [key.rpartition(":")[0] for key in projection(run | written).join_keys] == ["holds:c1"]
    for named in ("gen_ai.conversation.id", "spanproof.trial.id"):
        assert projection(run | {named: "s-1"}).join_keys == []
        found = projection(run | written | {named: "s-1"})
        assert (found.join_keys, found.arguments_hash) == ([], projection(run | written).arguments_hash)


def test_dialect_names_are_unique() -> None:
    assert len({dialect.name for dialect in DIALECTS}) == len(DIALECTS)


CALL = CallPart(name="pay", call_id="c1", arguments={"n": 1})


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"n": 1}'}}],
            },
            Message(role="assistant", parts=(CALL,)),
        ),
        (
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "pay", "input": {"n": 1}}]},
            Message(role="assistant", parts=(CALL,)),
        ),
        (
            {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
            Message(role="assistant", parts=(Text(content="Done."),)),
        ),
        (
            {"role": "assistant", "parts": [{"type": "text", "text": "Done."}]},
            Message(role="assistant", parts=(Text(content="Done."),)),
        ),
        (
            {"role": "tool", "tool_call_id": "c1", "content": '{"ok": true}'},
            Message(role="tool", parts=(ResponsePart(call_id="c1", response={"ok": True}),)),
        ),
        (
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": True}],
            },
            Message(role="user", parts=(ResponsePart(call_id="c1", response="no", is_error=True),)),
        ),
        (
            json.dumps({"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}),
            Message(role="assistant", parts=(Text(content="Done."),)),
        ),
    ],
)
def test_providers_own_shapes_are_read(written: Value, expected: Message) -> None:
    call = _call({"gen_ai.output.messages": json.dumps([written])})
    assert (call.output, call.truncated_values) == ((expected,), 0)


def test_a_message_that_nobody_can_read_is_counted() -> None:
    call = _call({"gen_ai.output.messages": json.dumps([{"role": "assistant", "candidates": [1]}, 7])})
    assert call.truncated_values == 2


def test_json_in_json_is_opened() -> None:
    assert _call({"gen_ai.input.messages": json.dumps(json.dumps(MESSAGES))}).input == READ


@pytest.mark.parametrize("odd", ['"NaN": NaN', '"half": "\\ud83d"', '"big": 123456789012345678901234567890'])
def test_what_python_writes_and_json_does_not_know_loses_nothing_else(odd: str) -> None:
    call = '{"type":"tool_call","id":"c1","name":"pay","arguments":{' + odd + "}}"
    text = '[{"role":"assistant","parts":[' + call + "]}]"
    output = _call({"gen_ai.output.messages": text}).output
    assert output is not None
    (part,) = output[0].parts
    assert isinstance(part, CallPart)
    assert part.name == "pay"


def test_json_that_is_nested_without_end_is_not_opened() -> None:
    deep = "[" * 5000 + "]" * 5000
    reading = _read({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": deep})
    assert isinstance(reading, ToolRun)
    assert (reading.arguments, reading.truncated_values) == (deep, 1)


@pytest.mark.parametrize("odd", [-1, 1e300, "99999999999999999999999", "\u00b2", "9" * 5000, float("nan"), True, "-5"])
def test_a_number_that_is_no_count_is_not_recorded(odd: Value) -> None:
    assert _call({"gen_ai.usage.input_tokens": odd}).usage.input_tokens is None


def test_an_attempt_that_no_column_holds_is_not_recorded() -> None:
    assert projection({"spanproof.trial.attempt": 2**40}).attempt is None
    assert projection({"spanproof.trial.attempt": "2"}).attempt == 2


def test_an_id_that_was_sent_as_a_number_is_an_id() -> None:
    assert projection({"gen_ai.conversation.id": 12, "spanproof.task.id": 7})[6:9] == ("12", "", "7")
