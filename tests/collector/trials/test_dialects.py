"""One run, told in each dialect: the same trial. And the traps that each dialect sets.

The run: a user asks for a refund; the model asks for a look-up and then for the refund; both are done; it says so.
"""

import json
from collections.abc import Callable, Mapping, Sequence

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanproof_collector.model.trials import ToolCall, Trial
from spanproof_collector.store import Store
from tests.factories import event, span, traces
from tests.storing import Request, put, trial_of, trials_of

LOOK = {"order_id": "A-1"}
REFUND = {"order_id": "A-1", "cents": 4250}
SEEN = {"status": "delivered"}
DONE = {"refund_id": "r-1"}
FINAL = "Order A-1 was refunded."
ASKED: Sequence[tuple[str, dict[str, object], dict[str, object]]] = (
    ("lookup_order", dict(LOOK), dict(SEEN)),
    ("issue_refund", dict(REFUND), dict(DONE)),
)
Attributes = dict[str, object]
Inference = Callable[[int], Attributes]


def _openai(turn: int) -> list[dict[str, object]]:
    """What the model was given on its turn: the user's words, and the calls before with their results."""
    messages: list[dict[str, object]] = [{"role": "user", "content": "Refund order A-1."}]
    for number, (_, _, result) in enumerate(ASKED[:turn]):
        messages.append(_openai_said(number))
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": json.dumps(result)})
    return messages


def _openai_said(turn: int) -> dict[str, object]:
    if turn == len(ASKED):
        return {"role": "assistant", "content": FINAL}
    name, arguments, _ = ASKED[turn]
    call = {"id": f"c{turn}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _run(
    inference: Inference,
    tool: Callable[[int], Attributes] | None = None,
    run: Attributes | None = None,
    *,
    scope: str = "",
    tool_names: Callable[[int], str] = lambda number: ASKED[number][0],
    tool_events: Callable[[int], Sequence[Span.Event]] = lambda number: (),
    chat_events: Callable[[int], Sequence[Span.Event]] = lambda turn: (),
) -> Request:
    """The spans of the run: under one root where there is one, else each inference a trace of its own."""
    spans = [] if run is None else [span("refund-agent", run, key="run", seconds=20)]
    for turn in range(3):
        trace = "a" if run is not None else f"t{turn}"
        parent = "run" if run is not None else None
        spans.append(
            span(
                "m", inference(turn), key=f"m{turn}", trace=trace, parent=parent, at=4 * turn, events=chat_events(turn)
            )
        )
        if tool is not None and turn < 2:
            at = 4 * turn + 2
            events = tool_events(turn)
            spans.append(span(tool_names(turn), tool(turn), key=f"x{turn}", parent=parent, at=at, events=events))
    return traces(*spans, scope=scope)


# --- each dialect ---------------------------------------------------------------------------------------------------


def _spread(prefix: str, messages: Sequence[Mapping[str, object]], inner: str = "message.") -> Attributes:
    found: Attributes = {}
    for number, message in enumerate(messages):
        at = f"{prefix}{number}.{inner}"
        for key in ("role", "content", "tool_call_id", "finish_reason"):
            if message.get(key):
                found[f"{at}{key}"] = message[key]
        calls = message.get("tool_calls")
        for place, call in enumerate(calls if isinstance(calls, list) else []):
            here = f"{at}tool_calls.{place}."
            if inner:
                found[f"{here}tool_call.id"] = call["id"]
                found[f"{here}tool_call.function.name"] = call["function"]["name"]
                found[f"{here}tool_call.function.arguments"] = call["function"]["arguments"]
            else:
                found |= {f"{here}id": call["id"], f"{here}name": call["function"]["name"]}
                found[f"{here}arguments"] = call["function"]["arguments"]
    return found


def _openinference(turn: int) -> Attributes:
    return (
        {"openinference.span.kind": "LLM", "llm.model_name": "m-1", "llm.token_count.prompt": 10}
        | _spread("llm.input_messages.", _openai(turn))
        | _spread("llm.output_messages.", [_openai_said(turn)])
    )


def _openinference_tool(number: int) -> Attributes:
    name, arguments, result = ASKED[number]
    given = next(iter(arguments.values())) if len(arguments) == 1 else json.dumps(arguments)
    return {
        "openinference.span.kind": "TOOL",
        "tool.name": name,
        "tool.parameters": json.dumps({"type": "object", "properties": {}}),
        "input.value": given,
        "output.value": json.dumps({"type": "tool", "data": {"content": json.dumps(result), "tool_call_id": None}}),
    }


def _numbered(turn: int) -> Attributes:
    return (
        {"llm.request.type": "chat", "gen_ai.request.model": "m-1", "gen_ai.usage.prompt_tokens": 10}
        | _spread("gen_ai.prompt.", _openai(turn), inner="")
        | _spread("gen_ai.completion.", [_openai_said(turn)], inner="")
    )


def _traceloop_tool(number: int) -> Attributes:
    name, arguments, result = ASKED[number]
    message = {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "ToolMessage"],
        "kwargs": {"content": json.dumps(result), "tool_call_id": f"c{number}", "status": "success", "type": "tool"},
    }
    return {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": name,
        "traceloop.entity.input": json.dumps({"input_str": str(arguments), "tags": []}),
        "traceloop.entity.output": json.dumps({"output": message, "kwargs": {}}),
    }


def _genai(turn: int) -> Attributes:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m-1",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.input.messages": json.dumps(_openai(turn)),
        "gen_ai.output.messages": json.dumps([_openai_said(turn)]),
    }


def _genai_tool(number: int) -> Attributes:
    name, arguments, result = ASKED[number]
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": f"c{number}",
        "gen_ai.tool.call.arguments": json.dumps(arguments),
        "gen_ai.tool.call.result": json.dumps(result),
    }


def _traceloop_new_tool(number: int) -> Attributes:
    name, arguments, result = ASKED[number]
    return {
        "gen_ai.operation.name": "execute_tool",
        "traceloop.span.kind": "tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.arguments": json.dumps({"input_str": "…", "inputs": arguments, "tags": []}),
        "gen_ai.tool.call.result": json.dumps({"output": json.dumps(result), "kwargs": {}}),
    }


def _pydantic_v2_tool(number: int) -> Attributes:
    name, arguments, result = ASKED[number]
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": f"c{number}",
        "tool_arguments": json.dumps(arguments),
        "tool_response": json.dumps(result),
    }


def _bare_chat(turn: int) -> Attributes:
    return {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1", "gen_ai.usage.input_tokens": 10}


def _bare_tool(number: int) -> Attributes:
    return {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": ASKED[number][0]}


def _bedrock_events(turn: int) -> Sequence[Span.Event]:
    events = [event("gen_ai.user.message", {"content": json.dumps([{"text": "Refund order A-1."}])})]
    for number, (name, arguments, result) in enumerate(ASKED[:turn]):
        ask = {"toolUse": {"toolUseId": f"c{number}", "name": name, "input": arguments}}
        answer = {"toolResult": {"toolUseId": f"c{number}", "status": "success", "content": [{"json": result}]}}
        events.append(event("gen_ai.assistant.message", {"content": json.dumps([ask])}))
        events.append(event("gen_ai.tool.message", {"content": json.dumps([answer])}))
    said: object = [{"text": FINAL}]
    if turn < len(ASKED):
        name, arguments, _ = ASKED[turn]
        said = [{"toolUse": {"toolUseId": f"c{turn}", "name": name, "input": arguments}}]
    events.append(event("gen_ai.choice", {"finish_reason": "end_turn", "message": json.dumps(said)}))
    return events


def _bedrock_tool_events(number: int) -> Sequence[Span.Event]:
    _, arguments, result = ASKED[number]
    return (
        event("gen_ai.tool.message", {"role": "tool", "content": json.dumps(arguments), "id": f"c{number}"}),
        event("gen_ai.choice", {"message": json.dumps([{"text": json.dumps(result)}]), "id": f"c{number}"}),
    )


def _details(turn: int) -> Sequence[Span.Event]:
    name = "gen_ai.client.inference.operation.details"
    return (
        event(name, {"gen_ai.input.messages": json.dumps(_openai(turn))}),
        event(name, {"gen_ai.output.messages": json.dumps([_openai_said(turn)])}),
    )


def _listed_events(turn: int) -> Sequence[Span.Event]:
    """The conventions before v1.37 as span events, tool calls and all as JSON in attributes."""
    events = []
    for message in _openai(turn):
        inside = {
            key: value if isinstance(value, str) else json.dumps(value) for key, value in message.items() if value
        }
        if "tool_call_id" in inside:
            inside["id"] = inside.pop("tool_call_id")
        events.append(event(f"gen_ai.{message['role']}.message", inside))
    said = event("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": json.dumps(_openai_said(turn))})
    return (*events, said)


def _langfuse(turn: int) -> Attributes:
    return {
        "langfuse.observation.type": "generation",
        "langfuse.observation.model.name": "m-1",
        "langfuse.observation.input": json.dumps({"messages": _openai(turn), "tools": []}),
        "langfuse.observation.output": json.dumps(_openai_said(turn)),
        "langfuse.observation.usage_details": json.dumps({"prompt_tokens": 10}),
    }


def _langfuse_tool(number: int) -> Attributes:
    _, arguments, result = ASKED[number]
    return {
        "langfuse.observation.type": "tool",
        "langfuse.observation.input": json.dumps({"args": [], "kwargs": arguments}),
        "langfuse.observation.output": json.dumps(result),
    }


def _mlflow(turn: int) -> Attributes:
    return {
        "mlflow.spanType": '"CHAT_MODEL"',
        "mlflow.llm.model": '"m-1"',
        "mlflow.spanInputs": json.dumps({"model": "m-1", "messages": _openai(turn)}),
        "mlflow.spanOutputs": json.dumps({"choices": [{"index": 0, "message": _openai_said(turn)}]}),
        "mlflow.chat.tokenUsage": json.dumps({"input_tokens": 10}),
    }


def _mlflow_tool(number: int) -> Attributes:
    _, arguments, result = ASKED[number]
    return {
        "mlflow.spanType": '"TOOL"',
        "mlflow.spanInputs": json.dumps(arguments),
        "mlflow.spanOutputs": json.dumps(result),
    }


def _logfire(turn: int) -> Attributes:
    return {
        "logfire.span_type": "span",
        "gen_ai.system": "openai",
        "gen_ai.request.model": "m-1",
        "gen_ai.usage.input_tokens": 10,
        "request_data": json.dumps({"model": "m-1", "messages": _openai(turn)}),
        "response_data": json.dumps({"message": _openai_said(turn)}),
    }


def _logfire_tool(number: int) -> Attributes:
    name, arguments, result = ASKED[number]
    return {
        "logfire.span_type": "span",
        "logfire.msg_template": "Function: {name}",
        "gen_ai.system": "openai",
        "name": name,
        "input": json.dumps(arguments),
        "output": json.dumps(result),
    }


def _anthropic_thread(turn: int) -> Attributes:
    """Thread mode: the input is only what is new."""
    name = "gen_ai.operation.name"
    given: object = [{"role": "user", "content": "Refund order A-1."}]
    if turn:
        block = {"type": "text", "text": json.dumps(ASKED[turn - 1][2])}
        response = {"type": "tool_call_response", "id": f"c{turn - 1}", "response": [block]}
        given = [{"role": "user", "parts": [response]}]
    inside = {"gen_ai.input.messages": json.dumps(given), "gen_ai.output.messages": json.dumps([_openai_said(turn)])}
    return {name: "chat", "gen_ai.response.model": "m-1", "gen_ai.usage.input_tokens": 10} | inside


def _anthropic_tool(number: int) -> Attributes:
    found = _genai_tool(number)
    result = found.pop("gen_ai.tool.call.result")
    return found | {"anthropic.tool_result.content": json.dumps([{"type": "text", "text": result}])}


AGENT: Attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "refund-agent"}
OI_AGENT: Attributes = {"openinference.span.kind": "AGENT", "agent.name": "refund-agent"}
RUNS: dict[str, Request] = {
    "genai": _run(_genai, _genai_tool, AGENT),
    "genai: LLM spans alone": _run(_genai),
    "genai: span events": _run(_bare_chat, _bare_tool, AGENT, chat_events=_listed_events),
    "anthropic: thread mode": _run(_anthropic_thread, _anthropic_tool, AGENT, scope="com.anthropic.sdk.python"),
    "openinference": _run(_openinference, _openinference_tool, OI_AGENT),
    "openinference: LLM spans alone": _run(_openinference),
    "openllmetry: numbered": _run(_numbered, _traceloop_tool, {"traceloop.span.kind": "workflow"}),
    "openllmetry: numbered LLM spans alone": _run(_numbered),
    "openllmetry: conventions": _run(
        _genai, _traceloop_new_tool, AGENT, scope="opentelemetry.instrumentation.langchain"
    ),
    "pydantic_ai: version 2": _run(_genai, _pydantic_v2_tool, AGENT, scope="pydantic-ai"),
    "pydantic_ai": _run(_genai, _genai_tool, AGENT, scope="pydantic-ai"),
    "logfire": _run(_logfire, _logfire_tool, AGENT | {"logfire.span_type": "span"}),
    "strands": _run(
        _bare_chat, _bare_tool, AGENT, scope="strands.telemetry.tracer", chat_events=_bedrock_events,
        tool_events=_bedrock_tool_events,
    ),
    "strands: latest conventions": _run(
        _bare_chat, _genai_tool, AGENT, scope="strands.telemetry.tracer", chat_events=_details
    ),
    "langfuse": _run(_langfuse, _langfuse_tool, {"langfuse.observation.type": "agent"}),
    "mlflow": _run(_mlflow, _mlflow_tool, {"mlflow.spanType": '"AGENT"'}),
}  # fmt: skip


@pytest.mark.parametrize("told", RUNS)
def test_the_same_run_is_the_same_trial_in_every_dialect(told: str, store: Store) -> None:
    trial = trial_of(store, RUNS[told])
    assert trial.dialects == (told.partition(":")[0],)
    assert [(call.name, call.arguments, call.result) for call in trial.tool_calls] == list(ASKED)
    assert [call.executed for call in trial.tool_calls] == ["yes", "yes"]
    assert [call.effect.state for call in trial.tool_calls] == ["none", "reported"]
    assert (trial.status, trial.final_answer, trial.claim.state) == ("complete", FINAL, "success")
    assert trial.models == ("m-1",)
    assert trial.usage.input_tokens == 30
    assert trial.completeness.unclaimed_spans == 0
    assert trial.joined_by == ("history" if "alone" in told else "trace")
    assert trial.session_id is None
    alone = "alone" in told
    assert trial.agent_name == (None if alone or told == "openllmetry: numbered" else "refund-agent")
    assert all(call.arguments_source == ("message" if alone else call.arguments_source) for call in trial.tool_calls)


# --- traps ----------------------------------------------------------------------------------------------------------


def _only(trial: Trial) -> ToolCall:
    (call,) = trial.tool_calls
    return call


def _ask(name: str, arguments: Mapping[str, object], call_id: str = "c1") -> object:
    part = {"type": "tool_call", "id": call_id, "name": name, "arguments": dict(arguments)}
    return {"role": "assistant", "parts": [part]}


def _chat(given: Sequence[object], said: Sequence[object], **more: object) -> Attributes:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(given),
        "gen_ai.output.messages": json.dumps(said),
        **more,
    }


USER = {"role": "user", "parts": [{"type": "text", "content": "Refund order A-1."}]}
DEFERRED: Attributes = _genai_tool(1) | {"pydantic_ai.tool.deferral.name": "ApprovalRequired"}
DEFERRED.pop("gen_ai.tool.call.result")
PAUSED = (
    span("run", AGENT | {"gen_ai.conversation.id": "s"}, seconds=9),
    span("m", _chat([USER], [_ask("issue_refund", REFUND)]), key="m1", parent="run"),
    span("x", DEFERRED | {"gen_ai.tool.call.id": "c1"}, parent="run", at=2),
)


def _resumed(answer: str) -> tuple[Span, ...]:
    told = {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "response": answer}]}
    said = {"role": "assistant", "parts": [{"type": "text", "content": "Understood."}]}
    history = [USER, _ask("issue_refund", REFUND), told]
    return (
        span("run", AGENT | {"gen_ai.conversation.id": "s"}, key="run2", trace="b", at=20, seconds=9),
        span("m", _chat(history, [said]), key="m2", parent="run2", trace="b", at=24),
    )


def test_a_call_that_waits_for_leave_has_not_run_and_the_trial_waits(store: Store) -> None:
    trial = trial_of(store, traces(*PAUSED, scope="pydantic-ai"))
    call = _only(trial)
    assert (call.executed, call.effect.state, call.effect.reason) == ("no", "none", "deferred")
    assert (trial.status, trial.status_reason, trial.claim.state) == ("waiting", "approval", "none")


def test_a_deferred_call_that_was_answered_and_never_run_was_refused_in_whatever_words(store: Store) -> None:
    trial = trial_of(store, traces(*PAUSED, *_resumed("Too expensive, sorry."), scope="pydantic-ai"))
    call = _only(trial)
    assert (call.executed, call.effect.state, call.error) == ("no", "refused", "Too expensive, sorry.")
    assert trial.status == "complete"


def test_a_deferred_call_that_ran_later_is_one_call_that_ran(store: Store) -> None:
    ran = span("x", _genai_tool(1) | {"gen_ai.tool.call.id": "c1"}, key="x2", parent="run2", trace="b", at=21)
    trial = trial_of(store, traces(*PAUSED, *_resumed(json.dumps(DONE)), ran, scope="pydantic-ai"))
    call = _only(trial)
    assert (call.executed, call.effect.state, call.result) == ("yes", "reported", DONE)


def test_arguments_that_were_invalid_never_reached_the_tool(store: Store) -> None:
    attributes = _genai_tool(1) | {"pydantic_ai.tool.failure_stage": "validation", "gen_ai.tool.call.result": "bad"}
    trial = trial_of(store, traces(span("x", attributes, error="2 errors"), scope="pydantic-ai"))
    assert (_only(trial).executed, _only(trial).effect.state) == ("no", "none")


@pytest.mark.parametrize(
    "words",
    [
        "Error: Validation failed for input parameters: 1 validation error",
        "Error invoking tool 'issue_refund' with kwargs {} with error:\n cents: Field required",
    ],
)
def test_what_a_framework_answers_to_wrong_arguments_says_that_the_tool_was_not_called(
    words: str, store: Store
) -> None:
    told = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": words}]}
    ask = _ask("issue_refund", REFUND)
    second = _chat([USER, ask, told], [{"role": "assistant", "parts": [{"type": "text", "content": "Hm."}]}])
    trial = trial_of(
        store, traces(span("m", _chat([USER], [ask]), key="m1"), span("m", second, key="m2", parent="m1", at=2))
    )
    assert (_only(trial).executed, _only(trial).effect.reason) == ("no", "validation")


def test_a_rejection_with_a_reason_of_its_own_is_a_refusal(store: Store) -> None:
    words = "User rejected the tool call for `issue_refund` with reason: Too expensive"
    told = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": words}]}
    ask = _ask("issue_refund", REFUND)
    second = _chat([USER, ask, told], [{"role": "assistant", "parts": [{"type": "text", "content": "Hm."}]}])
    trial = trial_of(
        store, traces(span("m", _chat([USER], [ask]), key="m1"), span("m", second, key="m2", parent="m1", at=2))
    )
    assert (_only(trial).executed, _only(trial).effect.state) == ("no", "refused")


HANDOFFS: dict[str, Attributes] = {
    "openinference": {"openinference.span.kind": "TOOL", "input.value": "triage", "output.value": "refund agent"},
    "openllmetry": {"gen_ai.operation.name": "handoff", "traceloop.span.kind": "handoff",
                    "gen_ai.handoff.to_agent": "refund agent"},
    "logfire": {"logfire.span_type": "span", "logfire.msg_template": "Handoff: {from_agent} → {to_agent}",
                "to_agent": "refund agent", "from_agent": "triage"},
}  # fmt: skip


@pytest.mark.parametrize("dialect", HANDOFFS)
@pytest.mark.parametrize("name", ["transfer_to_refund_agent", "escalate", "give_it_to_refund_agent"])
def test_a_handoff_that_the_model_asked_for_is_one_call_whatever_the_tool_is_called(
    dialect: str, name: str, store: Store
) -> None:
    look = {"type": "tool_call", "id": "c0", "name": "lookup_order", "arguments": LOOK}
    hand = {"type": "tool_call", "id": "c1", "name": name, "arguments": {}}
    both = {"role": "assistant", "parts": [look, hand]}
    trial = trial_of(
        store,
        traces(
            span("run", AGENT, seconds=9),
            span("m", _chat([USER], [both]), key="m1", parent="run"),
            span("x", _genai_tool(0), parent="run", at=2),
            span("handoff to refund agent", HANDOFFS[dialect], key="h", parent="run", at=3),
        ),
    )
    assert [(call.name, call.effect.effect_class) for call in trial.tool_calls] == [
        ("lookup_order", "read"),
        (name, "handoff"),
    ]
    assert [step.kind for step in trial.steps] == ["agent_call", "model_call", "tool_call", "handoff"]


def test_a_stream_whose_answer_is_a_span_beside_its_request_is_one_inference(store: Store) -> None:
    def request(turn: int) -> Attributes:
        found = _genai(turn) | {"logfire.span_type": "span"}
        del found["gen_ai.output.messages"], found["gen_ai.usage.input_tokens"]
        return found

    spans = [span("work", {"logfire.span_type": "span"}, key="run", seconds=20)]
    for turn in range(3):
        answer = _genai(turn) | {"logfire.span_type": "log"}
        spans.append(span("m", request(turn), key=f"m{turn}", parent="run", at=4 * turn))
        spans.append(span("s", answer, key=f"s{turn}", parent="run", at=4 * turn + 2, seconds=0))
    trial = trial_of(store, traces(*spans))
    assert [step.kind for step in trial.steps].count("model_call") == 3
    assert trial.usage.input_tokens == 30
    assert (trial.final_answer, trial.completeness.content) == (FINAL, "captured")
    assert trial.completeness.unmetered_calls == 0


def test_a_call_that_history_repeats_under_the_id_of_another_item_is_the_same_call(store: Store) -> None:
    ask, again = _ask("issue_refund", REFUND, "c1"), _ask("issue_refund", REFUND, "fc_c1")
    told = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": json.dumps(DONE)}]}
    trial = trial_of(
        store,
        traces(
            span("m", _chat([USER], [ask]), key="m1"),
            span("m", _chat([USER, again, told], []), key="m2", parent="m1", at=2),
        ),
    )
    assert (_only(trial).call_id, _only(trial).result) == ("c1", DONE)


def test_two_equal_calls_under_two_ids_stay_two(store: Store) -> None:
    one, two = _ask("issue_refund", REFUND, "c1"), _ask("issue_refund", REFUND, "c2")
    trial = trial_of(
        store,
        traces(
            span("m", _chat([USER], [one]), key="m1"),
            span("m", _chat([USER, one], [two]), key="m2", parent="m1", at=2),
            span("m", _chat([USER, one, two], []), key="m3", parent="m1", at=4),
        ),
    )
    assert [call.call_id for call in trial.tool_calls] == ["c1", "c2"]


def test_a_bare_argument_joins_the_call_whose_only_argument_it_is(store: Store) -> None:
    first = {"role": "assistant", "parts": [
        {"type": "tool_call", "id": "c1", "name": "lookup_order", "arguments": {"order_id": "A-1"}},
        {"type": "tool_call", "id": "c2", "name": "lookup_order", "arguments": {"order_id": "A-2"}},
    ]}  # fmt: skip
    tool: Attributes = {"openinference.span.kind": "TOOL", "tool.name": "lookup_order", "output.value": "second"}
    trial = trial_of(
        store,
        traces(
            span("m", _chat([USER], [first]), key="m1"),
            span("lookup_order", tool | {"input.value": "A-2"}, parent="m1", at=2),
        ),
    )
    assert [(call.call_id, call.result) for call in trial.tool_calls] == [("c1", None), ("c2", "second")]


def test_a_bare_argument_of_a_call_that_nobody_asked_for_is_its_arguments(store: Store) -> None:
    tool: Attributes = {"openinference.span.kind": "TOOL", "tool.name": "look", "input.value": "A-2"}
    assert _only(trial_of(store, traces(span("look", tool)))).arguments == "A-2"


def test_a_tool_that_runs_at_the_provider_is_a_call_with_its_answer_and_no_open_question(store: Store) -> None:
    said = {
        "role": "assistant",
        "content": [
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "weather"}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"url": "u"}]},
            {"type": "text", "text": "It rains."},
        ],
    }
    trial = trial_of(store, traces(span("m", _chat([USER], [said]))))
    assert (_only(trial).name, _only(trial).executed) == ("web_search", "yes")
    assert (trial.final_answer, trial.status) == ("It rains.", "complete")


def test_the_tokens_of_an_agents_span_are_not_counted_beside_its_inferences(store: Store) -> None:
    run = AGENT | {"gen_ai.usage.input_tokens": 30, "gen_ai.aggregated_usage.input_tokens": 30}
    trial = trial_of(store, _run(_genai, None, run))
    assert trial.usage.input_tokens == 30


def test_messages_that_were_dropped_with_their_attributes_are_seen(store: Store) -> None:
    attributes = {f"llm.input_messages.{n}.message.role": "user" for n in range(40, 50)}
    attributes |= {f"llm.input_messages.{n}.message.content": "hi" for n in range(40, 50)}
    record = span("m", {**attributes, "llm.output_messages.0.message.content": "Hello."})
    record.dropped_attributes_count = 17
    trial = trial_of(store, traces(record))
    assert trial.dialects == ("openinference",)
    assert (trial.completeness.truncated_values, trial.completeness.dropped_attributes) == (1, 17)
    assert trial.completeness.content == "partial"


def test_a_payload_that_was_cut_is_seen_and_not_read(store: Store) -> None:
    cut = json.dumps({"messages": _openai(2)})[:-30]
    attributes = _langfuse(2) | {"langfuse.observation.input": cut}
    trial = trial_of(store, traces(span("m", attributes)))
    assert trial.completeness.truncated_values == 1
    assert trial.tool_calls == ()


def test_a_failure_that_only_the_dialect_tells_is_a_failure(store: Store) -> None:
    attributes = _bare_tool(1) | {"gen_ai.tool.status": "error"}
    trial = trial_of(store, traces(span("x", attributes, events=_bedrock_tool_events(1))))
    assert (_only(trial).executed, _only(trial).effect.state) == ("unknown", "unknown")


def test_an_error_is_told_without_its_traceback(store: Store) -> None:
    tool = span("x", _genai_tool(1), error="TimeoutError('late')Traceback (most recent call last):\n  File …")
    assert _only(trial_of(store, traces(tool))).error == "TimeoutError('late')"


def test_results_that_other_tools_wrote_onto_spans_are_theirs(store: Store) -> None:
    annotated: Attributes = {
        "openinference.span.kind": "EVALUATOR",
        "evaluations.0.evaluation.name": "tone",
        "evaluations.0.evaluation.score": 0.25,
        "evaluations.0.evaluation.label": "rude",
        "evaluations.0.evaluation.explanation": "It shouts.",
    }
    assessed: Attributes = {
        "mlflow.spanType": '"AGENT"',
        "mlflow.assessments": json.dumps([{"name": "correct", "feedback": {"value": True}, "rationale": "It is."}]),
    }
    trial = trial_of(store, traces(span("a", annotated), span("b", assessed, key="b", parent="a", at=1)))
    found = {(r.name, r.score, r.label, r.explanation) for r in trial.foreign_results}
    assert found == {("tone", 0.25, "rude", "It shouts."), ("correct", None, "true", "It is.")}
    assert trial.claim.state == "unavailable"


def test_a_structured_answer_is_handed_over_by_no_tool_of_the_agent(store: Store) -> None:
    parameters = json.dumps({"function_tools": [], "output_tools": [{"name": "final_result"}]})
    said = _ask("final_result", {"refunded": True})
    chat = span("m", _chat([USER], [said], model_request_parameters=parameters))
    trial = trial_of(store, traces(chat, scope="pydantic-ai"))
    assert (trial.tool_calls, trial.final_answer) == ((), '{"refunded":true}')


def test_a_run_that_ends_with_its_whole_conversation_tells_its_calls_without_any_inference(store: Store) -> None:
    conversation = [*_openai(2), _openai_said(2)]
    run: Attributes = {
        "openinference.span.kind": "AGENT",
        "agent.name": "refund-agent",
        "output.value": json.dumps({"messages": conversation}),
    }
    trial = trial_of(store, traces(span("run", run)))
    assert [(call.name, call.arguments, call.result) for call in trial.tool_calls] == list(ASKED)
    assert trial.final_answer == FINAL


def test_sessions_come_from_the_span_else_its_ancestors_and_are_never_invented(store: Store) -> None:
    own = "traceloop.association.properties.session_id"
    put(
        store,
        traces(
            span("run", {"traceloop.span.kind": "workflow", own: "s-1"}, seconds=9),
            span("m", _numbered(0), key="m1", parent="run"),
        ),
        traces(span("m", _numbered(0) | {own: "s-1"}, key="m2", trace="b", at=30)),
        traces(span("m", _chat([USER], []), key="m3", trace="c", at=60)),
    )
    assert [(trial.session_id, trial.joined_by) for trial in trials_of(store)] == [("s-1", "session"), (None, "trace")]
