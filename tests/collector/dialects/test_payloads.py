"""One conversation in the shapes of providers and frameworks reads as one conversation."""

import json

import pytest

from spanproof_collector.dialects._payloads import answered, history, offered, requested, tool_answer
from spanproof_collector.model.readings import CallPart, Message, ResponsePart, Text
from spanproof_collector.model.values import Json

ARGS: Json = {"n": 1}
ASK = CallPart(name="pay", call_id="c1", arguments={"n": 1})
ANSWER: Json = {"paid": True}


def _lc(kind: str, **inside: Json) -> Json:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": dict(inside)}


CONVERSATIONS: dict[str, Json] = {
    "openai chat": [
        {"role": "user", "content": "do it"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"n": 1}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": '{"paid": true}'},
    ],
    "openai responses": [
        {"role": "user", "content": [{"type": "input_text", "text": "do it"}]},
        {"type": "function_call", "call_id": "c1", "id": "fc_9", "name": "pay", "arguments": '{"n": 1}'},
        {"type": "function_call_output", "call_id": "c1", "output": '{"paid": true}'},
    ],
    "anthropic": [
        {"role": "user", "content": "do it"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "pay", "input": {"n": 1}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": '{"paid": true}'}]}
            ],
        },
    ],
    "bedrock": [
        {"role": "user", "content": [{"text": "do it"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "pay", "input": {"n": 1}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"json": {"paid": True}}]}}]},
    ],
    "langchain, serialized": [
        _lc("HumanMessage", content="do it", type="human"),
        _lc("AIMessage", content="", type="ai", tool_calls=[{"name": "pay", "args": ARGS, "id": "c1"}]),
        _lc("ToolMessage", content='{"paid": true}', type="tool", tool_call_id="c1", status="success"),
    ],
    "langchain, dumped": [
        {"type": "human", "data": {"content": "do it"}},
        {
            "type": "ai",
            "data": {"content": "", "tool_calls": [{"name": "pay", "args": ARGS, "id": "c1", "type": "tool_call"}]},
        },
        {"type": "tool", "data": {"content": '{"paid": true}', "tool_call_id": "c1"}},
    ],
}


@pytest.mark.parametrize("shape", CONVERSATIONS)
def test_a_conversation_reads_the_same_in_every_shape(shape: str) -> None:
    given = requested({"messages": CONVERSATIONS[shape]})
    assert [part for message in given for part in message.parts if isinstance(part, Text)] == [Text(content="do it")]
    assert [part for message in given for part in message.parts if isinstance(part, CallPart)] == [ASK]
    (answer,) = [part for message in given for part in message.parts if isinstance(part, ResponsePart)]
    assert (answer.call_id, answer.response) == ("c1", ANSWER)
    assert given[0].role == "user"
    assert history(CONVERSATIONS[shape]) == given


ANSWERS: dict[str, Json] = {
    "words": "Done.",
    "openai chat": {"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "Done."}}]},
    "openai responses": {
        "object": "response",
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}],
    },
    "anthropic": {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "stop_reason": "end_turn"},
    "bedrock": {"output": {"message": {"role": "assistant", "content": [{"text": "Done."}]}}, "stopReason": "end_turn"},
    "gemini": {"candidates": [{"content": {"role": "model", "parts": [{"text": "Done."}]}, "finishReason": "STOP"}]},
    "langchain": {"generations": [[{"text": "Done.", "message": _lc("AIMessage", content="Done.", type="ai")}]]},
    "a graph's state": {"messages": [{"role": "user", "content": "do it"}, {"role": "assistant", "content": "Done."}]},
}


@pytest.mark.parametrize("shape", ANSWERS)
def test_an_answer_reads_the_same_in_every_shape(shape: str) -> None:
    (said,) = answered(ANSWERS[shape])
    assert (said.role, said.parts) == ("assistant", (Text(content="Done."),))


def test_words_beside_a_call_are_one_message_with_it() -> None:
    items: Json = [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me see."}]},
        {"type": "function_call", "call_id": "c1", "name": "pay", "arguments": "{}"},
    ]
    (said,) = answered({"output": items})
    assert [type(part) for part in said.parts] == [Text, CallPart]


def test_a_state_that_ends_on_a_tools_answer_has_no_answer() -> None:
    assert answered({"messages": CONVERSATIONS["openai chat"]}) == ()


@pytest.mark.parametrize("payload", [None, 7, [], {}, {"a": 1}, [1, 2], {"choices": "none"}])
def test_what_is_no_conversation_is_none(payload: Json) -> None:
    assert requested(payload) == ()
    assert answered(payload) == ()
    assert history(payload) == ()


def test_tools_are_found_in_every_declaration() -> None:
    declared: list[Json] = [
        {"type": "function", "function": {"name": "a"}},
        {"name": "b", "input_schema": {}},
        {"toolSpec": {"name": "c"}},
        {"functionDeclarations": [{"name": "d"}, {"name": "e"}]},
        {"type": "web_search"},
        {"type": "function"},
        {"type": 7},
    ]
    assert [tool.name for tool in offered({"tools": declared})] == ["a", "b", "c", "d", "e", "web_search"]


def test_a_tools_result_is_taken_out_of_the_message_around_it() -> None:
    message: Json = {"type": "tool", "data": {"content": '{"paid": true}', "tool_call_id": "c1", "status": "error"}}
    assert tool_answer(message) == ResponsePart(call_id="c1", response=ANSWER, is_error=True)
    assert tool_answer({"paid": True}) is None
    assert tool_answer(json.dumps(message)) is None


def test_a_call_that_stands_in_content_and_beside_it_is_one() -> None:
    block: Json = {"type": "tool_use", "id": "c1", "name": "pay", "input": ARGS}
    call: Json = {"name": "pay", "args": ARGS, "id": "c1", "type": "tool_call"}
    (said,) = answered(_lc("AIMessage", content=[block], type="ai", tool_calls=[call]))
    assert said == Message(role="assistant", parts=(ASK,))
