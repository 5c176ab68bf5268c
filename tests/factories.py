"""Export requests with only the facts that a test is about, as any OpenTelemetry SDK would send them."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from spanproof_collector.dialects import Projection, SpanView, project
from spanproof_collector.model.values import Value

SECOND = 1_000_000_000
T0 = 1_760_000_000 * SECOND
"""Tests begin on 2025-10-09; nothing depends on the day."""


def trace_id(name: str) -> bytes:
    """Return a trace id for a name."""
    return hashlib.sha256(f"trace {name}".encode()).digest()[:16]


def span_id(name: str) -> bytes:
    """Return a span id for a name."""
    return hashlib.sha256(f"span {name}".encode()).digest()[:8]


def any_value(value: object) -> AnyValue:
    """Return an AnyValue that holds a value; ``None`` is the empty one."""
    match value:
        case None:
            return AnyValue()
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case str():
            return AnyValue(string_value=value)
        case bytes():
            return AnyValue(bytes_value=value)
        case list():
            return AnyValue(array_value=ArrayValue(values=[any_value(item) for item in value]))
        case dict():
            return AnyValue(kvlist_value=KeyValueList(values=key_values(value)))
        case _:
            raise TypeError(f"an AnyValue holds no {type(value).__name__}")


def key_values(attributes: Mapping[str, object]) -> list[KeyValue]:
    """Return attributes as OTLP writes them."""
    return [KeyValue(key=key, value=any_value(value)) for key, value in attributes.items()]


def event(name: str, attributes: Mapping[str, object] | None = None, *, at: float = 0) -> Span.Event:
    """Return a span event, ``at`` seconds after T0."""
    return Span.Event(name=name, time_unix_nano=T0 + round(at * SECOND), attributes=key_values(attributes or {}))


def span(
    name: str,
    attributes: Mapping[str, object] | None = None,
    *,
    trace: str = "a",
    key: str | None = None,
    parent: str | None = None,
    at: float = 0,
    seconds: float = 1,
    error: str | None = None,
    events: Sequence[Span.Event] = (),
) -> Span:
    """Return a span. ``key`` and ``parent`` name it and its parent; ``at`` and ``seconds`` place it after T0."""
    return Span(
        trace_id=trace_id(trace),
        span_id=span_id(key or name),
        parent_span_id=span_id(parent) if parent else b"",
        name=name,
        kind=Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=T0 + round(at * SECOND),
        end_time_unix_nano=T0 + round((at + seconds) * SECOND),
        attributes=key_values(attributes or {}),
        events=list(events),
        status=Status() if error is None else Status(code=Status.STATUS_CODE_ERROR, message=error),
    )


def log_record(
    event_name: str,
    attributes: Mapping[str, object] | None = None,
    *,
    body: object = None,
    trace: str | None = "a",
    of: str | None = None,
    at: float = 0,
) -> LogRecord:
    """Return a log record; ``of`` names the span that it belongs to."""
    return LogRecord(
        trace_id=trace_id(trace) if trace else b"",
        span_id=span_id(of) if of else b"",
        time_unix_nano=T0 + round(at * SECOND),
        event_name=event_name,
        body=any_value(body) if body is not None else None,
        attributes=key_values(attributes or {}),
    )


def traces(
    *spans: Span, scope: str = "test.agent", resource: Mapping[str, object] | None = None
) -> ExportTraceServiceRequest:
    """Return one Export request with these spans."""
    return ExportTraceServiceRequest(
        resource_spans=[
            ResourceSpans(
                resource=Resource(attributes=key_values(resource or {"service.name": "test"})),
                scope_spans=[ScopeSpans(scope=InstrumentationScope(name=scope), spans=spans)],
            )
        ]
    )


def logs(*records: LogRecord, scope: str = "test.agent") -> ExportLogsServiceRequest:
    """Return one Export request with these log records."""
    return ExportLogsServiceRequest(
        resource_logs=[
            ResourceLogs(
                resource=Resource(attributes=key_values({"service.name": "test"})),
                scope_logs=[ScopeLogs(scope=InstrumentationScope(name=scope), log_records=records)],
            )
        ]
    )


# --- messages of the GenAI conventions ----------------------------------------------------------------------------


def said(role: str, content: str) -> object:
    """Return a message of words."""
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def asked(name: str, arguments: object, call_id: str | None = None) -> object:
    """Return a model's message that asks for one tool."""
    part: dict[str, object] = {"type": "tool_call", "name": name, "arguments": arguments}
    return {"role": "assistant", "parts": [part | ({"id": call_id} if call_id else {})]}


def told(response: object, call_id: str | None = None) -> object:
    """Return a message that brings a tool's result."""
    part: dict[str, object] = {"type": "tool_call_response", "response": response}
    return {"role": "tool", "parts": [part | ({"id": call_id} if call_id else {})]}


def chat(inputs: Iterable[object] | None, outputs: Iterable[object] | None, **attributes: object) -> dict[str, object]:
    """Return the attributes of an inference, its messages as JSON strings."""
    found: dict[str, object] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "test-model"}
    if inputs is not None:
        found["gen_ai.input.messages"] = json.dumps(list(inputs))
    if outputs is not None:
        found["gen_ai.output.messages"] = json.dumps(list(outputs))
    return found | attributes


def tool(
    name: str, arguments: object = None, result: object = None, call_id: object = None, **attributes: object
) -> dict[str, object]:
    """Return the attributes of a tool span; what is ``None`` was not captured."""
    found: dict[str, object] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    if arguments is not None:
        found["gen_ai.tool.call.arguments"] = json.dumps(arguments)
    if result is not None:
        found["gen_ai.tool.call.result"] = result if isinstance(result, str) else json.dumps(result)
    if call_id is not None:
        found["gen_ai.tool.call.id"] = call_id
    return found | attributes


def agent(name: object = "test-agent", **attributes: object) -> dict[str, object]:
    """Return the attributes of an agent's run."""
    return {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, **attributes}


def projection(attributes: Mapping[str, Value], scope: str = "") -> Projection:
    """Return the projection of one span."""
    (row,) = project([SpanView(attributes=attributes, scope=scope)])
    return Projection._make(row)
