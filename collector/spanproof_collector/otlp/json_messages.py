"""Turns the JSON objects of OTLP into its protobuf messages: hex ids, base64 bytes."""

from binascii import a2b_base64, unhexlify
from typing import Final

from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from spanproof_collector.otlp import json_structs as structs

_NO_ID_LENGTH: Final = 17


def _id(text: str | None) -> bytes:
    if not text:
        return b""
    try:
        return unhexlify(text)
    except ValueError:
        # No id at all: given a length that no id has, so that this span alone is rejected.
        return text.encode().ljust(_NO_ID_LENGTH, b"?")


def _base64(text: str) -> bytes:
    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    return a2b_base64(plain + "=" * (-len(plain) % 4), strict_mode=True)


def _any_value(value: structs.AnyValue) -> common_pb2.AnyValue:
    if value.string_value is not None:
        return common_pb2.AnyValue(string_value=value.string_value)
    if value.int_value is not None:
        return common_pb2.AnyValue(int_value=value.int_value)
    if value.double_value is not None:
        return common_pb2.AnyValue(double_value=value.double_value)
    if value.bool_value is not None:
        return common_pb2.AnyValue(bool_value=value.bool_value)
    if value.array_value is not None:
        values = [_any_value(each) for each in value.array_value.values or ()]
        return common_pb2.AnyValue(array_value=common_pb2.ArrayValue(values=values))
    if value.kvlist_value is not None:
        pairs = _key_values(value.kvlist_value.values)
        return common_pb2.AnyValue(kvlist_value=common_pb2.KeyValueList(values=pairs))
    if value.bytes_value is not None:
        return common_pb2.AnyValue(bytes_value=_base64(value.bytes_value))
    return common_pb2.AnyValue()


def _key_values(pairs: list[structs.KeyValue] | None) -> list[common_pb2.KeyValue]:
    return [
        common_pb2.KeyValue(key=pair.key or "", value=None if pair.value is None else _any_value(pair.value))
        for pair in pairs or ()
    ]


def resource_of(resource: structs.Resource | None) -> resource_pb2.Resource:
    """Return the message of a resource, an empty one where there is none."""
    if resource is None:
        return resource_pb2.Resource()
    return resource_pb2.Resource(
        attributes=_key_values(resource.attributes), dropped_attributes_count=resource.dropped_attributes_count or 0
    )


def scope_of(scope: structs.Scope | None) -> common_pb2.InstrumentationScope | None:
    """Return the message of a scope."""
    if scope is None:
        return None
    return common_pb2.InstrumentationScope(
        name=scope.name or "",
        version=scope.version or "",
        attributes=_key_values(scope.attributes),
        dropped_attributes_count=scope.dropped_attributes_count or 0,
    )


def span_of(span: structs.Span) -> trace_pb2.Span:
    """Return the message of a span.

    Raises:
        ValueError: a number or a text that no span can hold.
    """
    return trace_pb2.Span(
        trace_id=_id(span.trace_id),
        span_id=_id(span.span_id),
        trace_state=span.trace_state or "",
        parent_span_id=_id(span.parent_span_id),
        flags=span.flags or 0,
        name=span.name or "",
        kind=span.kind or 0,  # type: ignore[arg-type]  # enums are open
        start_time_unix_nano=span.start_time_unix_nano or 0,
        end_time_unix_nano=span.end_time_unix_nano or 0,
        attributes=_key_values(span.attributes),
        dropped_attributes_count=span.dropped_attributes_count or 0,
        events=[
            trace_pb2.Span.Event(
                time_unix_nano=event.time_unix_nano or 0,
                name=event.name or "",
                attributes=_key_values(event.attributes),
                dropped_attributes_count=event.dropped_attributes_count or 0,
            )
            for event in span.events or ()
        ],
        dropped_events_count=span.dropped_events_count or 0,
        links=[
            trace_pb2.Span.Link(
                trace_id=_id(link.trace_id),
                span_id=_id(link.span_id),
                trace_state=link.trace_state or "",
                attributes=_key_values(link.attributes),
                dropped_attributes_count=link.dropped_attributes_count or 0,
                flags=link.flags or 0,
            )
            for link in span.links or ()
        ],
        dropped_links_count=span.dropped_links_count or 0,
        status=None
        if span.status is None
        else trace_pb2.Status(
            message=span.status.message or "",
            code=span.status.code or 0,  # type: ignore[arg-type]
        ),
    )


def log_record_of(record: structs.LogRecord) -> logs_pb2.LogRecord:
    """Return the message of a log record.

    Raises:
        ValueError: a number or a text that no record can hold.
    """
    return logs_pb2.LogRecord(
        time_unix_nano=record.time_unix_nano or 0,
        observed_time_unix_nano=record.observed_time_unix_nano or 0,
        severity_number=record.severity_number or 0,  # type: ignore[arg-type]
        severity_text=record.severity_text or "",
        body=None if record.body is None else _any_value(record.body),
        attributes=_key_values(record.attributes),
        dropped_attributes_count=record.dropped_attributes_count or 0,
        flags=record.flags or 0,
        trace_id=_id(record.trace_id),
        span_id=_id(record.span_id),
        event_name=record.event_name or "",
    )
