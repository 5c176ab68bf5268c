"""Turns protobuf requests into spans and log records without a store: the reference for what the store gives back."""

from collections.abc import Iterable
from zlib import crc32

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from spanproof_collector.model.spans import (
    SPAN_KINDS,
    STATUS_CODES,
    LogRecord,
    Pairs,
    Resource,
    Scope,
    Span,
    SpanEvent,
    SpanLink,
)
from spanproof_collector.otlp.any_values import plain
from spanproof_collector.otlp.columns import MAX_SEVERITY, older_event_name
from spanproof_collector.otlp.identity import (
    broken_id,
    group_bytes,
    log_ids,
    parent_id,
    project_of,
    record_id,
    span_version,
)


def spans_of(request: ExportTraceServiceRequest) -> list[Span]:
    """Return the spans of a request in the order sent, without those that the store rejects."""
    return [
        _span(
            span,
            project_of(group.resource),
            _resource(group.resource, group.schema_url),
            _scope(scope_spans.scope, scope_spans.schema_url),
            crc32(group_bytes(group.resource, group.schema_url, scope_spans.scope, scope_spans.schema_url)),
        )
        for group in request.resource_spans
        for scope_spans in group.scope_spans
        for span in scope_spans.spans
        if not broken_id(span.trace_id, span.span_id, span.parent_span_id)
    ]


def log_records_of(request: ExportLogsServiceRequest) -> list[LogRecord]:
    """Return the log records of a request in the order sent."""
    return [
        _log_record(
            record,
            project_of(group.resource),
            _resource(group.resource, group.schema_url),
            _scope(scope_logs.scope, scope_logs.schema_url),
            group_bytes(group.resource, group.schema_url, scope_logs.scope, scope_logs.schema_url),
        )
        for group in request.resource_logs
        for scope_logs in group.scope_logs
        for record in scope_logs.log_records
    ]


def _span(span: trace_pb2.Span, project: str, resource: Resource, scope: Scope, group_sum: int) -> Span:
    kind, status = span.kind, span.status.code
    return Span(
        project=project,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_span_id=parent_id(span.parent_span_id),
        trace_state=span.trace_state,
        flags=span.flags,
        name=span.name,
        kind=SPAN_KINDS[kind] if 0 <= kind < len(SPAN_KINDS) else "UNSPECIFIED",
        start=span.start_time_unix_nano,
        end=span.end_time_unix_nano,
        status=STATUS_CODES[status] if 0 <= status < len(STATUS_CODES) else "UNSET",
        status_message=span.status.message,
        pairs=_pairs(span.attributes),
        dropped_attributes=span.dropped_attributes_count,
        events=tuple(
            SpanEvent(
                time=event.time_unix_nano,
                name=event.name,
                pairs=_pairs(event.attributes),
                dropped_attributes=event.dropped_attributes_count,
            )
            for event in span.events
        ),
        dropped_events=span.dropped_events_count,
        links=tuple(
            SpanLink(
                trace_id=link.trace_id.hex(),
                span_id=link.span_id.hex(),
                trace_state=link.trace_state,
                pairs=_pairs(link.attributes),
                dropped_attributes=link.dropped_attributes_count,
                flags=link.flags,
            )
            for link in span.links
        ),
        dropped_links=span.dropped_links_count,
        resource=resource,
        scope=scope,
        version=span_version(span.SerializeToString(deterministic=True), group_sum),
    )


def _log_record(record: logs_pb2.LogRecord, project: str, resource: Resource, scope: Scope, shared: bytes) -> LogRecord:
    trace_id, span_id = log_ids(record)
    pairs = _pairs(record.attributes)
    severity = record.severity_number
    return LogRecord(
        project=project,
        trace_id=trace_id,
        span_id=span_id,
        time=record.time_unix_nano,
        observed_time=record.observed_time_unix_nano,
        severity=severity if 0 <= severity <= MAX_SEVERITY else 0,
        severity_text=record.severity_text,
        event_name=record.event_name or older_event_name(dict(pairs)),
        body=plain(record.body),
        pairs=pairs,
        dropped_attributes=record.dropped_attributes_count,
        flags=record.flags,
        resource=resource,
        scope=scope,
        record_id=record_id(record.SerializeToString(deterministic=True), shared),
    )


def _pairs(pairs: Iterable[common_pb2.KeyValue]) -> Pairs:
    return tuple((pair.key, plain(pair.value)) for pair in pairs)


def _resource(resource: resource_pb2.Resource, schema_url: str) -> Resource:
    return Resource(
        attributes=_pairs(resource.attributes),
        dropped_attributes=resource.dropped_attributes_count,
        schema_url=schema_url,
    )


def _scope(scope: common_pb2.InstrumentationScope, schema_url: str) -> Scope:
    return Scope(
        name=scope.name,
        version=scope.version,
        attributes=_pairs(scope.attributes),
        dropped_attributes=scope.dropped_attributes_count,
        schema_url=schema_url,
    )
