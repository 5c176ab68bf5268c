"""Dumps that the SDK of Python writes for real, and what those of JavaScript and Go print, spelled by hand."""

import io
import json
from pathlib import Path

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from opentelemetry.trace import Link, SpanContext, SpanKind, StatusCode

from spanproof_collector.model.spans import Span
from spanproof_collector.store import Store
from tests.collector.importers.recording import kinds, lines, tell

TRACE, ROOT, CHILD = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174", "eee19b7ec3c1b175"
START = 1_770_000_000_000_000_000
SECONDS, NANOSECONDS = divmod(START + 5, 10**9)


def stored(store: Store) -> dict[str, Span]:
    records = store.read_traces([("default", TRACE)])
    return {span.name: span for found in records.values() for span in found.spans}


def printed_by_python(indent: int | None) -> tuple[bytes, str]:
    """Return what the SDK's console exporter prints of two spans, and their trace id."""
    out = io.StringIO()
    provider = TracerProvider(resource=Resource({"service.name": "shop"}))
    provider.add_span_processor(
        SimpleSpanProcessor(ConsoleSpanExporter(out=out, formatter=lambda span: span.to_json(indent=indent) + "\n"))
    )
    tracer = provider.get_tracer("test")
    linked = Link(SpanContext(int(TRACE, 16), int(ROOT, 16), is_remote=False), {"why": "retry"})
    with tracer.start_as_current_span("invoke_agent a", attributes={"gen_ai.operation.name": "invoke_agent"}) as root:
        tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.result": "x"}
        with tracer.start_as_current_span(
            "execute_tool look", attributes=tool, kind=SpanKind.CLIENT, links=[linked]
        ) as s:
            s.add_event("seen", {"n": [1, 2]})
            s.set_status(StatusCode.ERROR, "gone")
    return out.getvalue().encode(), f"{root.get_span_context().trace_id:032x}"


@pytest.mark.parametrize("form", ["lines", "one after another", "array", "under spans"])
def test_what_the_sdk_of_python_prints_is_stored_as_it_was(store: Store, tmp_path: Path, form: str) -> None:
    printed, trace_id = printed_by_python(4 if form == "one after another" else None)
    if form in ("array", "under spans"):
        spans = [json.loads(each) for each in printed.splitlines()]
        printed = json.dumps(spans if form == "array" else {"spans": spans, "final_output": "x"}).encode()
    told = tell(store, tmp_path, printed)
    assert (told.imported.formats, told.imported.spans, told.imported.rejected) == ({"otel_spans": 1}, 2, ())
    assert (told.trial.trace_ids, kinds(told.trial)) == ((trace_id,), "at")
    assert [(call.name, call.error) for call in told.trial.tool_calls] == [("look", "gone")]
    (found,) = store.read_traces([("default", trace_id)]).values()
    tool = next(span for span in found.spans if span.name == "execute_tool look")
    root = next(span for span in found.spans if span is not tool)
    assert (tool.parent_span_id, tool.kind, tool.status, tool.status_message) == (
        root.span_id,
        "CLIENT",
        "ERROR",
        "gone",
    )
    assert [(event.name, event.attributes) for event in tool.events] == [("seen", {"n": [1, 2]})]
    assert [(link.trace_id, link.span_id, dict(link.pairs)) for link in tool.links] == [(TRACE, ROOT, {"why": "retry"})]
    assert dict(tool.resource.attributes)["service.name"] == "shop"
    assert root.start <= tool.start <= tool.end <= root.end
    assert tool.start % 1000 == 0  # Python prints microseconds


def test_ids_that_are_numbers_of_128_bits_keep_every_digit(store: Store, tmp_path: Path) -> None:
    span = {
        "name": "a",
        "kind": "internal",
        "context": {"trace_id": int(TRACE, 16), "span_id": int(CHILD, 16)},
        "parent": {"trace_id": int(TRACE, 16), "span_id": int(ROOT, 16)},
        "start_time": START,
        "end_time": START + 1,
        "status": {"status_code": "ok", "description": None},
        "attributes": {"n": 2**63 - 1, "deep": {"a": [1, None]}},
        "resource": {"attributes": {}, "schema_url": "https://example.test/1"},
    }
    tell(store, tmp_path, {"spans": [span]})
    found = stored(store)["a"]
    assert (found.span_id, found.parent_span_id, found.start, found.status) == (CHILD, ROOT, START, "OK")
    assert found.attributes == {"n": 2**63 - 1, "deep": {"a": [1, None]}}
    assert found.resource.schema_url == "https://example.test/1"


JAVASCRIPT = {
    "name": "ai.generateText",
    "spanContext": {"traceId": TRACE, "spanId": CHILD, "traceFlags": 1},
    "parentSpanContext": {"traceId": TRACE, "spanId": ROOT},
    "kind": 2,
    "startTime": [SECONDS, NANOSECONDS],
    "endTime": [SECONDS + 1, NANOSECONDS],
    "status": {"code": 2, "message": "gone"},
    "attributes": {"a": 1},
    "events": [{"name": "e", "time": [SECONDS, NANOSECONDS + 1], "attributes": {"b": 2}}],
    "links": [],
    "resource": {"_rawAttributes": [["service.name", "shop"]]},
    "instrumentationScope": {"name": "ai", "version": "7"},
}
CONSOLE = {
    "traceId": TRACE,
    "id": CHILD,
    "parentSpanContext": {"traceId": TRACE, "spanId": ROOT},
    "name": "ai.generateText",
    "kind": 2,
    "timestamp": (START + 5000) // 1000,
    "duration": 1_000_000.0,
    "status": {"code": 2, "message": "gone"},
    "attributes": {"a": 1},
    "events": [],
    "links": [],
    "resource": {"attributes": {"service.name": "shop"}},
    "instrumentationScope": {"name": "ai", "version": "7"},
}
GO = {
    "Name": "ai.generateText",
    "SpanContext": {"TraceID": TRACE, "SpanID": CHILD, "TraceFlags": "01", "TraceState": "", "Remote": False},
    "Parent": {"TraceID": TRACE, "SpanID": ROOT},
    "SpanKind": 3,
    "StartTime": "2026-02-02T02:40:00.000000005Z",
    "EndTime": "2026-02-02T02:40:01.000000005Z",
    "Attributes": [{"Key": "a", "Value": {"Type": "INT64", "Value": 1}}],
    "Events": None,
    "Links": None,
    "Status": {"Code": "Error", "Description": "gone"},
    "Resource": [{"Key": "service.name", "Value": {"Type": "STRING", "Value": "shop"}}],
    "InstrumentationScope": {"Name": "ai", "Version": "7", "SchemaURL": ""},
}


@pytest.mark.parametrize("dump", [JAVASCRIPT, CONSOLE, GO], ids=["javascript", "javascript's console", "go"])
def test_what_other_sdks_print_is_the_same_span(store: Store, tmp_path: Path, dump: dict[str, object]) -> None:
    told = tell(store, tmp_path, lines(dump))
    assert told.imported.formats == {"otel_spans": 1}
    (span,) = stored(store).values()
    begin = START + (5000 if dump is CONSOLE else 5)
    assert (span.span_id, span.parent_span_id, span.kind) == (CHILD, ROOT, "CLIENT")
    assert (span.start, span.end, span.status, span.status_message) == (begin, begin + 10**9, "ERROR", "gone")
    assert (span.attributes, dict(span.resource.attributes)) == ({"a": 1}, {"service.name": "shop"})
    assert (span.scope.name, span.scope.version) == ("ai", "7")


def test_spans_of_several_traces_are_told_apart_and_one_without_ids_is_named(store: Store, tmp_path: Path) -> None:
    other = JAVASCRIPT | {"spanContext": {"traceId": TRACE[::-1], "spanId": CHILD}, "parentSpanContext": None}
    told = tell(store, tmp_path, [JAVASCRIPT, other, JAVASCRIPT | {"spanContext": {"traceId": "?", "spanId": "1"}}])
    assert {trial.trace_ids for trial in told.trials} == {(TRACE,), (TRACE[::-1],)}
    assert [each.reason for each in told.imported.rejected] == ["no span: trace id '?'"]


def test_attributes_alone_are_a_span_without_time_and_older_messages_are_read(store: Store, tmp_path: Path) -> None:
    asked = {"type": "tool_call", "id": "c", "name": "get_weather", "arguments": {"at": "Paris"}}
    history = [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "parts": [asked]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "rain"}]},
    ]
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4",
        "gen_ai.prompt": json.dumps(history),
        "gen_ai.completion": json.dumps({"text": "It rains.", "finish_reason": "stop"}),
    }
    told = tell(store, tmp_path, attributes)
    trial = told.trial
    assert (told.imported.formats, trial.timed, trial.final_answer) == ({"otel_spans": 1}, False, "It rains.")
    assert [(call.call_id, call.arguments, call.result) for call in trial.tool_calls] == [
        ("c", {"at": "Paris"}, "rain")
    ]
