"""Google ADK: spans made here in the shapes that google-adk 2.13.0 wrote against a fake model, both schema versions.

Recorded with content on spans, on events, off, and with ``ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN=1``.
"""

import json

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanproof_collector.model.trials import Trial
from spanproof_collector.store import Store
from tests.factories import asked, said, span, told, traces
from tests.storing import trial_of

SCOPE = "gcp.vertex.agent"
ABOUT: dict[str, object] = {"gen_ai.agent.name": "planner", "gen_ai.conversation.id": "adk-1"}
FIND, PUBLISH, DONE = {"plan": 7}, {"plan": 7, "loud": True}, "Plan 7 was published."
USED: dict[str, object] = {
    "gen_ai.usage.input_tokens": 100,
    "gen_ai.usage.output_tokens": 15,
    "gen_ai.usage.cache_read.input_tokens": 60,
    "gen_ai.usage.reasoning.output_tokens": 5,
    "gen_ai.request.model": "gemini-2.5-pro",
}


def _history() -> list[object]:
    return [said("user", "Publish plan 7."), asked("find_plan", FIND, "c1"), told({"state": "draft"}, "c1")]


def _tool(name: str, arguments: object, result: object, call_id: str, *, legacy: bool) -> dict[str, object]:
    keys = (
        ("gcp.vertex.agent.tool_call_args", "gcp.vertex.agent.tool_response")
        if legacy
        else ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result")
    )
    found: dict[str, object] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": call_id,
    }
    found |= {"gen_ai.agent.name": "planner", "gcp.vertex.agent.event_id": f"e-{call_id}"}
    found |= {keys[0]: json.dumps(arguments), keys[1]: json.dumps(result)}
    return found | ({"gcp.vertex.agent.llm_request": "{}", "gcp.vertex.agent.llm_response": "{}"} if legacy else {})


def _spans(*, legacy: bool, result: object = None, error: str | None = None) -> list[Span]:
    """A run of three inferences and two calls; the older schema has a span around each inference with its content."""
    found = [
        span(
            "invocation", {} if legacy else ABOUT | {"gen_ai.operation.name": "invoke_workflow"}, key="run", seconds=20
        ),
        span(
            "invoke_agent planner",
            ABOUT | {"gen_ai.operation.name": "invoke_agent"},
            key="agent",
            parent="run",
            seconds=19,
        ),
    ]
    answers = [asked("find_plan", FIND, "c1"), asked("publish_plan", PUBLISH, "c2"), said("assistant", DONE)]
    for number, answer in enumerate(answers):
        attributes = ABOUT | USED | {"gen_ai.operation.name": "generate_content"}
        parent, at = "agent", 5 * number + 1
        if legacy:
            parent = f"around {number}"
            parts: list[object] = [{"text": "Publish plan 7."}]
            content = {"parts": [{"text": DONE}], "role": "model"}
            if number < 2:
                call = {"id": f"c{number + 1}", "name": ("find_plan", "publish_plan")[number]}
                content = {"parts": [{"function_call": call | {"args": (FIND, PUBLISH)[number]}}], "role": "model"}
            request = {"model": "gemini-2.5-pro", "contents": [{"parts": parts, "role": "user"}]}
            around = {
                "gen_ai.system": "gcp.vertex.agent",
                "gcp.vertex.agent.session_id": "adk-1",
                "gcp.vertex.agent.llm_request": json.dumps(request),
                "gcp.vertex.agent.llm_response": json.dumps({"content": content, "finish_reason": "STOP"}),
            }
            found.append(span("call_llm", USED | around, key=parent, parent="agent", at=at, seconds=2))
            attributes |= {"gen_ai.system": "gemini"}
        else:
            attributes |= {"gen_ai.provider.name": "gcp.gemini"}
            attributes |= {"gen_ai.input.messages": json.dumps(_history()[: 2 * number + 1])}
            attributes |= {"gen_ai.output.messages": json.dumps([answer])}
        found.append(span("generate_content", attributes, key=f"llm {number}", parent=parent, at=at + 0.1, seconds=1))
    publish = _tool("publish_plan", PUBLISH, {"published": 7} if result is None else result, "c2", legacy=legacy)
    if error:
        publish = {key: value for key, value in publish.items() if not key.endswith(("response", "result"))}
        publish |= {"gen_ai.tool.call.id": "<not specified>", "error.type": "TimeoutError"}
    return [
        *found,
        span(
            "execute_tool find_plan",
            _tool("find_plan", FIND, {"state": "draft"}, "c1", legacy=legacy),
            parent="agent",
            at=4,
        ),
        span("execute_tool publish_plan", publish, parent="agent", at=9, error=error),
    ]


def _trial(store: Store, spans: list[Span]) -> Trial:
    return trial_of(store, traces(*spans, scope=SCOPE))


@pytest.mark.parametrize("legacy", [False, True])
def test_both_schemas_give_the_same_trial(legacy: bool, store: Store) -> None:
    trial = _trial(store, _spans(legacy=legacy))
    assert (trial.session_id, trial.status, trial.dialects) == ("adk-1", "complete", ("google_adk",))
    assert [(call.name, call.arguments, call.result) for call in trial.tool_calls] == [
        ("find_plan", FIND, {"state": "draft"}),
        ("publish_plan", PUBLISH, {"published": 7}),
    ]
    assert [call.effect.state for call in trial.tool_calls] == ["none", "reported"]
    assert trial.final_answer == DONE
    # the span around an inference repeats its tokens
    assert (trial.usage.input_tokens, trial.usage.output_tokens, trial.usage.cache_read_tokens) == (300, 45, 180)
    assert trial.cost.covered


def test_the_span_that_merges_answers_is_no_call(store: Store) -> None:
    merged = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "(merged tools)",
        "gen_ai.tool.call.id": "e-9",
    }
    spans = [*_spans(legacy=False), span("execute_tool (merged)", merged, parent="agent", at=10)]
    assert len(_trial(store, spans).tool_calls) == 2


def test_a_failed_tool_that_lost_its_call_id_is_still_its_call(store: Store) -> None:
    trial = _trial(store, _spans(legacy=False, error="TimeoutError: timed out"))
    call = trial.tool_calls[1]
    assert len(trial.tool_calls) == 2
    assert (call.call_id, call.executed, call.effect.state) == ("c2", "unknown", "unknown")


@pytest.mark.parametrize(
    ("said_of_it", "state"),
    [
        ("This tool call requires confirmation, please approve or reject.", "none"),
        ("This tool call is rejected.", "refused"),
    ],
)
@pytest.mark.parametrize("legacy", [False, True])
def test_a_call_that_waits_or_was_rejected_did_not_run(legacy: bool, said_of_it: str, state: str, store: Store) -> None:
    call = _trial(store, _spans(legacy=legacy, result={"error": said_of_it})).tool_calls[1]
    assert (call.executed, call.result, call.effect.state) == ("no", None, state)


def test_content_that_was_not_to_be_captured_is_not_recorded(store: Store) -> None:
    empty = _tool("publish_plan", {}, {}, "c2", legacy=True)
    call = _trial(store, [span("run", ABOUT), span("execute_tool", empty, parent="run")]).tool_calls[0]
    assert (call.arguments_source, call.result_source, call.executed) == (None, None, "unknown")
