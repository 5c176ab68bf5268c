"""Reads OTLP/JSON into the protobuf messages: hex ids, numbers as text or numbers, unknown members ignored."""

import json
import re
from binascii import a2b_base64, unhexlify
from typing import Final, TypeVar

import msgspec
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from spanproof_collector.errors import DecodeError


class _Struct(msgspec.Struct, rename="camel", gc=False):
    """One JSON object of OTLP. A member that is null counts as absent."""


class _ArrayValue(_Struct):
    values: "list[_AnyValue] | None" = None


class _KvList(_Struct):
    values: "list[_KeyValue] | None" = None


class _AnyValue(_Struct):
    string_value: str | None = None
    bool_value: bool | None = None
    int_value: int | None = None
    double_value: float | None = None
    array_value: _ArrayValue | None = None
    kvlist_value: _KvList | None = None
    bytes_value: str | None = None


class _KeyValue(_Struct):
    key: str | None = None
    value: _AnyValue | None = None


class _Resource(_Struct):
    attributes: list[_KeyValue] | None = None
    dropped_attributes_count: int | None = None


class _Scope(_Struct):
    name: str | None = None
    version: str | None = None
    attributes: list[_KeyValue] | None = None
    dropped_attributes_count: int | None = None


class _Status(_Struct):
    message: str | None = None
    code: int | None = None


class _Event(_Struct):
    time_unix_nano: int | None = None
    name: str | None = None
    attributes: list[_KeyValue] | None = None
    dropped_attributes_count: int | None = None


class _Link(_Struct):
    trace_id: str | None = None
    span_id: str | None = None
    trace_state: str | None = None
    attributes: list[_KeyValue] | None = None
    dropped_attributes_count: int | None = None
    flags: int | None = None


class _Span(_Struct):
    trace_id: str | None = None
    span_id: str | None = None
    trace_state: str | None = None
    parent_span_id: str | None = None
    flags: int | None = None
    name: str | None = None
    kind: int | None = None
    start_time_unix_nano: int | None = None
    end_time_unix_nano: int | None = None
    attributes: list[_KeyValue] | None = None
    dropped_attributes_count: int | None = None
    events: list[_Event] | None = None
    dropped_events_count: int | None = None
    links: list[_Link] | None = None
    dropped_links_count: int | None = None
    status: _Status | None = None


class _ScopeSpans(_Struct):
    scope: _Scope | None = None
    spans: list[_Span] | None = None
    schema_url: str | None = None


class _ResourceSpans(_Struct):
    resource: _Resource | None = None
    scope_spans: list[_ScopeSpans] | None = None
    schema_url: str | None = None


class _LogRecord(_Struct):
    time_unix_nano: int | None = None
    observed_time_unix_nano: int | None = None
    severity_number: int | None = None
    severity_text: str | None = None
    body: _AnyValue | None = None
    attributes: list[_KeyValue] | None = None
    dropped_attributes_count: int | None = None
    flags: int | None = None
    trace_id: str | None = None
    span_id: str | None = None
    event_name: str | None = None


class _ScopeLogs(_Struct):
    scope: _Scope | None = None
    log_records: list[_LogRecord] | None = None
    schema_url: str | None = None


class _ResourceLogs(_Struct):
    resource: _Resource | None = None
    scope_logs: list[_ScopeLogs] | None = None
    schema_url: str | None = None


class _Traces(_Struct):
    resource_spans: list[_ResourceSpans] | None = None


class _Logs(_Struct):
    resource_logs: list[_ResourceLogs] | None = None


_T = TypeVar("_T")
_TRACES: Final = msgspec.json.Decoder(_Traces, strict=False)
_LOGS: Final = msgspec.json.Decoder(_Logs, strict=False)
_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_HALF_CHARACTER: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_BRACKETS_AND_STRINGS: Final = re.compile(rb'[{}\[\]]|"(?:[^"\\]|\\.)*(?:"|\Z)', re.DOTALL)
_INSIDE_ITEMS: Final = b"{[{[{["  # of groups, of scopes in them, of spans or records in those
_NO_ID_LENGTH: Final = 17
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def members(body: bytes) -> frozenset[str]:
    """Return the names of the outermost members, or none where the bytes are no JSON object."""
    try:
        found = _decode(_MEMBERS, body)
    except DecodeError:
        return frozenset()
    return frozenset(found)


def read_traces(body: bytes) -> ExportTraceServiceRequest:
    """Return the traces request that the JSON spells.

    Raises:
        DecodeError: The bytes are no JSON, or a member has the wrong type.
    """
    message = _decode(_TRACES, body)
    try:
        return ExportTraceServiceRequest(resource_spans=[_resource_spans(r) for r in message.resource_spans or ()])
    except (ValueError, TypeError) as error:
        raise DecodeError(f"not OTLP/JSON: {error}") from error


def read_logs(body: bytes) -> ExportLogsServiceRequest:
    """Return the logs request that the JSON spells.

    Raises:
        DecodeError: The bytes are no JSON, or a member has the wrong type.
    """
    message = _decode(_LOGS, body)
    try:
        return ExportLogsServiceRequest(resource_logs=[_resource_logs(r) for r in message.resource_logs or ()])
    except (ValueError, TypeError) as error:
        raise DecodeError(f"not OTLP/JSON: {error}") from error


def whole_part(body: bytes) -> bytes | None:
    """Return the request with the spans or records before the place where the JSON is cut off, or ``None``."""
    open_brackets = bytearray()
    end = 0
    for token in _BRACKETS_AND_STRINGS.finditer(body):
        match token[0]:
            case b"{" | b"[":
                open_brackets += token[0]
            case b"}" | b"]" if open_brackets:
                open_brackets.pop()
                if open_brackets == _INSIDE_ITEMS:
                    end = token.end()
            case _:
                pass
    return body[:end] + b"]}]}]}" if end else None


def _decode(decoder: "msgspec.json.Decoder[_T]", body: bytes) -> _T:
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        if not _HALF_CHARACTER.search(body):
            raise DecodeError(f"not OTLP/JSON: {error}") from error
    # A sender that cuts text by UTF-16 units leaves half a character, which JSON can spell and UTF-8 cannot.
    try:
        text = _SURROGATE.sub("\ufffd", json.dumps(json.loads(body), ensure_ascii=False))
        return decoder.decode(text)
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"not OTLP/JSON: {error}") from error


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


def _any_value(value: _AnyValue) -> common_pb2.AnyValue:
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


def _key_values(pairs: list[_KeyValue] | None) -> list[common_pb2.KeyValue]:
    return [
        common_pb2.KeyValue(key=pair.key or "", value=None if pair.value is None else _any_value(pair.value))
        for pair in pairs or ()
    ]


def _resource(resource: _Resource | None) -> resource_pb2.Resource | None:
    if resource is None:
        return None
    return resource_pb2.Resource(
        attributes=_key_values(resource.attributes), dropped_attributes_count=resource.dropped_attributes_count or 0
    )


def _scope(scope: _Scope | None) -> common_pb2.InstrumentationScope | None:
    if scope is None:
        return None
    return common_pb2.InstrumentationScope(
        name=scope.name or "",
        version=scope.version or "",
        attributes=_key_values(scope.attributes),
        dropped_attributes_count=scope.dropped_attributes_count or 0,
    )


def _resource_spans(group: _ResourceSpans) -> trace_pb2.ResourceSpans:
    return trace_pb2.ResourceSpans(
        resource=_resource(group.resource),
        scope_spans=[
            trace_pb2.ScopeSpans(
                scope=_scope(each.scope),
                spans=[_span(span) for span in each.spans or ()],
                schema_url=each.schema_url or "",
            )
            for each in group.scope_spans or ()
        ],
        schema_url=group.schema_url or "",
    )


def _span(span: _Span) -> trace_pb2.Span:
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


def _resource_logs(group: _ResourceLogs) -> logs_pb2.ResourceLogs:
    return logs_pb2.ResourceLogs(
        resource=_resource(group.resource),
        scope_logs=[
            logs_pb2.ScopeLogs(
                scope=_scope(each.scope),
                log_records=[_log_record(record) for record in each.log_records or ()],
                schema_url=each.schema_url or "",
            )
            for each in group.scope_logs or ()
        ],
        schema_url=group.schema_url or "",
    )


def _log_record(record: _LogRecord) -> logs_pb2.LogRecord:
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
