"""The Vercel AI SDK before version 7 (``ai.*``) and since (the conventions): the same run, told in both ways."""

import json

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanproof_collector.store import Store
from tests.factories import agent, asked, chat, event, said, span, told, tool, traces
from tests.storing import trial_of

ORDER, MAIL = {"order": 7}, {"to": "ann"}


def _ai(operation: str, **more: object) -> dict[str, object]:
    return {"ai.operationId": operation, "ai.telemetry.functionId": "helper", "ai.model.provider": "openai.chat"} | more


def _inference(number: int, **more: object) -> dict[str, object]:
    calls: list[dict[str, object]] = [
        {"toolCallId": "c1", "toolName": "find_order", "input": ORDER},
        {"toolCallId": "c2", "toolName": "send_mail", "args": json.dumps(MAIL)},  # as before version 5
    ]
    history: list[object] = [{"role": "user", "content": [{"type": "text", "text": "Mail ann of order 7."}]}]
    for index in range(number):
        call = calls[index]
        answer = {"type": "tool-result", "toolCallId": call["toolCallId"], "toolName": call["toolName"]}
        output: dict[str, object] = {"type": "json", "value": {"ok": 1}} if not index else {"type": "error-text"}
        history += [
            {"role": "assistant", "content": [{"type": "tool-call", **call}]},
            {"role": "tool", "content": [answer | {"output": output | ({} if not index else {"value": "timed out"})}]},
        ]
    found = _ai(
        "ai.generateText.doGenerate",
        **{
            "ai.model.id": "gpt-4o",
            "ai.prompt.messages": json.dumps(history),
            "ai.response.text": "The mail was sent." if number == 2 else "",
            "ai.response.finishReason": "stop" if number == 2 else "tool-calls",
            "ai.usage.inputTokens": 100,
            "ai.usage.cachedInputTokens": 60,
            "ai.usage.outputTokens": 10,
            "ai.usage.inputTokenDetails.noCacheTokens": 40,
        },
    )
    if number < 2:
        found["ai.response.toolCalls"] = json.dumps([calls[number]])
    return found | more


def _legacy() -> list[Span]:
    every = [{"toolCallId": "c1", "toolName": "find_order", "input": ORDER}]
    run = _ai(
        "ai.generateText", **{"ai.response.text": "The mail was sent.", "ai.response.toolCalls": json.dumps(every * 2)}
    )
    run |= {"ai.usage.inputTokens": 300, "ai.usage.outputTokens": 30}
    failed = event("exception", {"exception.message": "timed out"}, at=5)
    return [
        span("ai.generateText", run, key="run", seconds=10),
        *(
            span("ai.generateText.doGenerate", _inference(n), key=f"m{n}", parent="run", at=3 * n, seconds=2)
            for n in range(3)
        ),
        span(
            "ai.toolCall",
            _ai("ai.toolCall", **{"ai.toolCall.name": "find_order", "ai.toolCall.id": "c1"})
            | {"ai.toolCall.args": json.dumps(ORDER), "ai.toolCall.result": json.dumps({"ok": 1})},
            key="t1",
            parent="m0",
            at=1,
        ),
        span(
            "ai.toolCall",
            _ai("ai.toolCall", **{"ai.toolCall.name": "send_mail", "ai.toolCall.id": "c2"})
            | {"ai.toolCall.args": json.dumps(MAIL)},
            key="t2",
            parent="m1",
            at=4,
            error="timed out",
            events=[failed],
        ),
    ]


def test_a_run_of_the_older_spans_is_read_once(store: Store) -> None:
    trial = trial_of(store, traces(*_legacy(), scope="ai"))
    assert (trial.agent_name, trial.status, trial.dialects) == ("helper", "complete", ("vercel_ai",))
    find, mail = trial.tool_calls
    assert (find.name, find.arguments, find.result, find.executed) == ("find_order", ORDER, {"ok": 1}, "yes")
    assert (mail.name, mail.arguments, mail.executed, mail.effect.state) == ("send_mail", MAIL, "unknown", "unknown")
    assert trial.final_answer == "The mail was sent."
    assert (trial.usage.input_tokens, trial.usage.cache_read_tokens, trial.usage.output_tokens) == (300, 180, 30)


def test_before_version_6_anthropics_cached_tokens_stand_beside_the_input(store: Store) -> None:
    attributes = _inference(2, **{"ai.model.provider": "anthropic.messages", "ai.model.id": "claude-sonnet-4-5"})
    del attributes["ai.usage.inputTokenDetails.noCacheTokens"]
    attributes["ai.response.providerMetadata"] = json.dumps({"anthropic": {"cacheCreationInputTokens": 5}})
    usage = trial_of(store, traces(span("m", attributes), scope="ai")).usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (165, 60, 5)


def test_a_call_that_was_not_approved_did_not_run(store: Store) -> None:
    call = {"type": "tool-call", "toolCallId": "c2", "toolName": "send_mail", "input": MAIL}
    denied = {"type": "tool-result", "toolCallId": "c2", "toolName": "send_mail"}
    history = [
        {"role": "user", "content": [{"type": "text", "text": "Mail ann."}]},
        {"role": "assistant", "content": [call]},
        {"role": "tool", "content": [denied | {"output": {"type": "execution-denied", "reason": "not now"}}]},
    ]
    attributes = _inference(2) | {"ai.prompt.messages": json.dumps(history)}
    (mail,) = trial_of(store, traces(span("m", attributes), scope="ai")).tool_calls
    assert (mail.executed, mail.effect.state, mail.error) == ("no", "refused", "not now")


def test_metadata_names_the_session(store: Store) -> None:
    trial = trial_of(store, traces(span("m", _inference(2, **{"ai.telemetry.metadata.sessionId": "s-7"})), scope="ai"))
    assert (trial.session_id, trial.joined_by) == ("s-7", "session")


def test_messages_that_were_cut_are_counted(store: Store) -> None:
    trial = trial_of(store, traces(span("m", _inference(2, **{"ai.prompt.messages": '[{"role":"us'})), scope="ai"))
    assert trial.completeness.truncated_values == 1


def test_since_version_7_an_agents_sums_and_flattened_answer_are_not_taken_twice(store: Store) -> None:
    history = [said("user", "Mail ann."), asked("send_mail", MAIL, "c2"), told("sent", "c2")]
    call = {"type": "tool_call", "id": "c2", "name": "send_mail", "arguments": MAIL}
    flat = {"role": "assistant", "parts": [{"type": "text", "content": "Sent."}, call]}
    used = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 1}
    summed = {
        "gen_ai.usage.input_tokens": 20,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.output.messages": json.dumps([flat]),
    }
    trial = trial_of(
        store,
        traces(
            span("invoke_agent gpt", agent("helper", **summed), key="run", seconds=9),
            span("step 1", {"gen_ai.operation.name": "agent_step"}, parent="run"),
            span("chat gpt", chat(history[:1], [history[1]], **used), key="m1", parent="step 1", at=1),
            span("execute_tool send_mail", tool("send_mail", MAIL, "sent", "c2"), parent="step 1", at=2),
            span("chat gpt", chat(history, [said("assistant", "Sent.")], **used), key="m2", parent="run", at=4),
            scope="gen_ai",
        ),
    )
    assert (len(trial.tool_calls), trial.final_answer, trial.usage.input_tokens) == (1, "Sent.", 20)
