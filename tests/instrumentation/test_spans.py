import json
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from spanproof_instrumentation import agent_span, content, model_span, semconv, spans, tool_span


def test_an_agent_span_says_which_agent_ran_and_what_it_answered(spans: InMemorySpanExporter) -> None:
    with agent_span("clerk", version="7", conversation_id="c1", input_messages="Hello") as run:
        run.output("Done.")
    (span,) = spans.get_finished_spans()
    attributes = dict(span.attributes or {})
    assert span.name == "invoke_agent clerk"
    assert attributes[semconv.OPERATION] == "invoke_agent"
    assert attributes[semconv.AGENT_NAME] == "clerk"
    assert attributes[semconv.AGENT_VERSION] == "7"
    assert attributes[semconv.CONVERSATION_ID] == "c1"
    assert json.loads(str(attributes[semconv.INPUT_MESSAGES])) == [
        {"role": "user", "parts": [{"type": "text", "content": "Hello"}]}
    ]
    assert json.loads(str(attributes[semconv.OUTPUT_MESSAGES])) == [
        {"role": "assistant", "parts": [{"type": "text", "content": "Done."}], "finish_reason": "stop"}
    ]


def test_a_model_span_says_which_model_answered_and_what_it_used(spans: InMemorySpanExporter) -> None:
    asked = [{"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "look", "arguments": {}}]}]
    with model_span("m-1", provider="acme") as call:
        call.output(asked, finish_reason="tool_call")
        call.response(model="m-1-2026", response_id="r")
        call.usage(input_tokens=3, output_tokens=0)
    (span,) = spans.get_finished_spans()
    attributes = dict(span.attributes or {})
    assert (span.name, span.kind) == ("chat m-1", SpanKind.CLIENT)
    assert attributes == {
        semconv.OPERATION: "chat",
        semconv.PROVIDER: "acme",
        semconv.REQUEST_MODEL: "m-1",
        semconv.FINISH_REASONS: ("tool_call",),
        semconv.OUTPUT_MESSAGES: json.dumps(asked),
        semconv.RESPONSE_MODEL: "m-1-2026",
        semconv.RESPONSE_ID: "r",
        semconv.INPUT_TOKENS: 3,
        semconv.OUTPUT_TOKENS: 0,
    }


def test_a_tool_span_carries_call_id_arguments_and_result(spans: InMemorySpanExporter) -> None:
    with tool_span("look", call_id="call-1", arguments={"order": 7}) as call:
        call.result({"status": "sent"})
    (span,) = spans.get_finished_spans()
    assert dict(span.attributes or {}) == {
        semconv.OPERATION: "execute_tool",
        semconv.TOOL_NAME: "look",
        semconv.TOOL_CALL_ID: "call-1",
        semconv.TOOL_TYPE: "function",
        semconv.TOOL_ARGUMENTS: '{"order": 7}',
        semconv.TOOL_RESULT: '{"status": "sent"}',
    }


def test_without_capture_no_content_is_recorded(spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "_chosen", False)
    with agent_span("a", input_messages="secret", system_instructions="secret") as run:
        with model_span("m", input_messages="secret", tool_definitions=[{"name": "secret"}]) as call:
            call.output("secret")
        with tool_span("t", arguments={"key": "secret"}) as used:
            used.result("secret")
        run.output("secret")
    assert len(spans.get_finished_spans()) == 3
    assert not any("secret" in span.to_json() for span in spans.get_finished_spans())


@pytest.mark.parametrize(
    ("setting", "captured"),
    [("SPAN_ONLY", True), ("SPAN_AND_EVENT", True), ("true", True), ("EVENT_ONLY", False), ("NO_CONTENT", False)],
)
def test_the_standard_variable_decides_on_content_where_nobody_chose(
    setting: str, captured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content, "_chosen", None)
    monkeypatch.setenv(content.CAPTURE_VARIABLE, setting)
    assert content.captured() is captured


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": float("nan")}, "\"{'a': nan}\""),
        ({(1, 2): 3}, '"{(1, 2): 3}"'),
        ({"a": {2, 1}}, '{"a": [1, 2]}'),
        ("ä", '"ä"'),
        (b"x", "\"b'x'\""),
    ],
)
def test_whatever_a_tool_returns_becomes_valid_json(value: object, text: str) -> None:
    assert content.as_json(value) == text
    json.loads(text)


def test_an_exception_is_recorded_and_re_raised_unchanged(spans: InMemorySpanExporter) -> None:
    error = TimeoutError("no answer")
    with pytest.raises(TimeoutError) as caught, tool_span("pay"):
        raise error
    assert caught.value is error
    (span,) = spans.get_finished_spans()
    assert (span.attributes or {})[semconv.ERROR_TYPE] == "TimeoutError"
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "no answer")
    assert [event.name for event in span.events] == ["exception"]


def test_a_good_exit_inside_a_span_is_no_error(spans: InMemorySpanExporter) -> None:
    with pytest.raises(SystemExit), agent_span("a"):
        raise SystemExit(0)
    (span,) = spans.get_finished_spans()
    assert span.status.status_code is StatusCode.UNSET


def test_spans_inside_an_agent_take_over_its_conversation(spans: InMemorySpanExporter) -> None:
    with agent_span("a", conversation_id="c9"):
        with model_span("m"):
            pass
        with tool_span("t"):
            pass
    ids = [(span.attributes or {}).get(semconv.CONVERSATION_ID) for span in spans.get_finished_spans()]
    assert ids == ["c9", "c9", "c9"]
    assert not trace.get_current_span().is_recording()


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A tracer provider in which somebody else's processor raises."""

    class Broken(SpanProcessor):
        def on_start(self, span: Span, parent_context: Context | None = None) -> None:
            raise RuntimeError("start")

        def on_end(self, span: ReadableSpan) -> None:
            raise RuntimeError("end")

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Broken())
    monkeypatch.setattr(spans, "_tracer", (trace.get_tracer_provider(), provider.get_tracer("x")))
    yield
    monkeypatch.undo()


@pytest.mark.usefixtures("spans", "broken")
def test_a_failure_on_our_side_never_reaches_the_agent(caplog: pytest.LogCaptureFixture) -> None:
    with tool_span("pay", arguments={"a": 1}) as call:
        call.result(2)
    assert "was not recorded: RuntimeError: start" in caplog.text


def test_an_object_that_cannot_be_shown_never_reaches_the_agent(
    spans: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError("no repr")

    with tool_span("pay", arguments={"a": Hostile()}) as call:
        call.result(Hostile())
    (span,) = spans.get_finished_spans()
    assert semconv.TOOL_RESULT not in (span.attributes or {})
    assert "no repr" in caplog.text


def test_a_misspelled_keyword_is_told_once_and_dropped(
    spans: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        with agent_span("clerk", vesion="7"):  # type: ignore[call-arg]
            pass
    with model_span(provider="acme"):  # type: ignore[call-arg]
        pass
    with tool_span("pay", "call-1", argument={}) as call:  # type: ignore[call-arg]
        call.result("done", 2)  # type: ignore[call-arg]
    assert [span.name for span in spans.get_finished_spans()] == [
        "invoke_agent clerk",
        "invoke_agent clerk",
        "chat unnamed",
        "execute_tool pay",
    ]
    assert [message for message in caplog.messages if "vesion" in message] == [
        "spanproof: what agent_span does not know was dropped: TypeError: "
        "agent_span() got an unexpected keyword argument 'vesion'"
    ]
