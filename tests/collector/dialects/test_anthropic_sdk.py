"""What the Anthropic SDK's own spans say beyond the conventions."""

import json

import pytest

from spanproof_collector.dialects import SpanView, read_span
from spanproof_collector.model.readings import ModelCall, Recorded, ResponsePart, ToolRun
from spanproof_collector.model.values import Value

SCOPE = "com.anthropic.sdk.python"


def _block(said: str) -> dict[str, Value]:
    return {"type": "text", "text": said}


ANSWERS = pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([_block('{"refund_id": "RF-1"}')], {"refund_id": "RF-1"}),
        ([_block("no such order")], "no such order"),
        ([], []),
        ([_block("one"), _block("two")], [_block("one"), _block("two")]),
        ([{"type": "image", "source": "…"}], [{"type": "image", "source": "…"}]),
        ([{"type": "text", "text": "one", "cache_control": "x"}], "one"),
    ],
)


@ANSWERS
def test_a_tools_answer_is_taken_out_of_its_only_block(content: list[Value], expected: Recorded) -> None:
    attributes: dict[str, Value] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "issue_refund",
        "anthropic.tool_result.content": json.dumps(content),
    }
    found = read_span(SpanView(attributes=attributes, scope=SCOPE))
    assert found is not None
    assert isinstance(found[1], ToolRun)
    assert found[1].result == expected


@ANSWERS
def test_the_answer_in_the_next_request_is_the_same(content: list[Value], expected: Recorded) -> None:
    part: Value = {"type": "tool_call_response", "id": "toolu_1", "response": content}
    messages = json.dumps([{"role": "user", "parts": [part]}])
    found = read_span(
        SpanView(attributes={"gen_ai.operation.name": "chat", "gen_ai.input.messages": messages}, scope=SCOPE)
    )
    assert found is not None
    assert isinstance(found[1], ModelCall)
    assert found[1].input is not None
    assert found[1].input[0].parts == (ResponsePart(call_id="toolu_1", response=expected),)


def test_the_stop_reason_is_a_finish_reason() -> None:
    found = read_span(
        SpanView(
            attributes={"gen_ai.operation.name": "chat", "anthropic.message.stop_reason": "max_tokens"}, scope=SCOPE
        )
    )
    assert found is not None
    assert isinstance(found[1], ModelCall)
    assert found[1].finish_reasons == ("max_tokens",)


def test_a_result_under_either_name_is_the_same() -> None:
    tool: dict[str, Value] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "issue_refund"}
    for key, answer in (
        ("anthropic.tool_result.content", json.dumps([_block('{"a":1}')])),
        ("gen_ai.tool.call.result", '{"a": 1}'),
    ):
        found = read_span(SpanView(attributes=tool | {key: answer}, scope=SCOPE))
        assert found is not None
        assert isinstance(found[1], ToolRun)
        assert found[1].result == {"a": 1}
