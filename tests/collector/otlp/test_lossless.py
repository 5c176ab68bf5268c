import itertools
import math

from hypothesis import HealthCheck, given, settings
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanproof_collector.model.spans import LogRecord, Span
from spanproof_collector.otlp import log_records_of, spans_of
from spanproof_collector.store import Store
from tests.collector.otlp.requests import log_requests, trace_requests
from tests.factories import log_record, logs, span, traces
from tests.storing import put

# One store for all examples: their ids differ, and a store a piece would be most of the time.
_examples = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


def _stored_spans(store: Store, keys: set[tuple[str, str]]) -> list[Span]:
    return [span for records in store.read_traces(sorted(keys)).values() for span in records.spans]


def _stored_logs(store: Store, keys: set[tuple[str, str]]) -> list[LogRecord]:
    return [record for records in store.read_traces(sorted(keys)).values() for record in records.logs]


_traces = itertools.count(1)


def _with_ids_of_its_own(request: ExportTraceServiceRequest) -> ExportTraceServiceRequest:
    """Hypothesis draws the same ids again and again, and of two spans with one id the store keeps the richer."""
    for group in request.resource_spans:
        for scope_spans in group.scope_spans:
            trace_id = next(_traces).to_bytes(16, "big")
            for number, each in enumerate(scope_spans.spans, 1):
                each.trace_id, each.span_id = trace_id, number.to_bytes(8, "big")
    return request


@_examples
@given(trace_requests().map(_with_ids_of_its_own))
def test_a_span_comes_back_as_it_was_sent(store: Store, request: ExportTraceServiceRequest) -> None:
    expected = spans_of(request)
    put(store, request)
    found = _stored_spans(store, {(sent.project, sent.trace_id) for sent in expected})
    by_id = {(span.trace_id, span.span_id): span for span in found}
    assert [by_id.pop((sent.trace_id, sent.span_id)) for sent in expected] == expected
    assert not by_id


@_examples
@given(log_requests())
def test_a_log_record_comes_back_as_it_was_sent(store: Store, request: ExportLogsServiceRequest) -> None:
    expected = {record.record_id: record for record in log_records_of(request)}
    put(store, request)
    found = {
        record.record_id: record
        for record in _stored_logs(store, {(record.project, record.trace_id) for record in expected.values()})
    }
    assert {record_id: found.get(record_id) for record_id in expected} == expected


def test_a_number_that_is_none_comes_back_too(store: Store) -> None:
    request = traces(span("a", {"x": math.nan, "nested": [math.nan]}))
    put(store, request)
    (found,) = _stored_spans(store, {("default", spans_of(request)[0].trace_id)})
    assert repr(found) == repr(spans_of(request)[0])


def test_an_older_event_name_is_read_from_its_attribute(store: Store) -> None:
    request = logs(log_record("", {"event.name": "said"}))
    (record,) = log_records_of(request)
    put(store, request)
    assert record.event_name == "said"
    assert _stored_logs(store, {("default", record.trace_id)}) == [record]
