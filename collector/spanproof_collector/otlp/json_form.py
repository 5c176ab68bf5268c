"""Reads OTLP/JSON into the protobuf messages: hex ids, numbers as text or numbers, unknown members ignored.

Spans and log records are read one by one, so that one that cannot be read is refused alone.
"""

import contextlib
import json
import re
from binascii import a2b_base64, unhexlify
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

import msgspec
from google.protobuf.message import DecodeError as ProtobufError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from spanproof_collector.errors import DecodeError
from spanproof_collector.otlp.refused import Decoded, Refused


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
    spans: list[msgspec.Raw] | None = None
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
    log_records: list[msgspec.Raw] | None = None
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
_Items = Callable[[list[msgspec.Raw]], "Iterator[bytes | msgspec.Raw]"]
_TRACES: Final = msgspec.json.Decoder(_Traces, strict=False)
_LOGS: Final = msgspec.json.Decoder(_Logs, strict=False)
_SPAN: Final = msgspec.json.Decoder(_Span, strict=False)
_LOG_RECORD: Final = msgspec.json.Decoder(_LogRecord, strict=False)
_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_HALF_CHARACTER: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_BRACKETS_AND_STRINGS: Final = re.compile(rb'[{}\[\]]|"(?:[^"\\]|\\.)*(?:"|\Z)', re.DOTALL)
_AROUND_ITEMS: Final = b"{[{[{["  # of groups, of scopes in them, of spans or records in those
_BRACE: Final = ord("{")
_UNREADABLE: Final = (DecodeError, ValueError, TypeError, RecursionError, ProtobufError)
_MAX_REASON: Final = 300
_NO_ID_LENGTH: Final = 17
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def members(body: bytes) -> frozenset[str]:
    """Return the names of the outermost members, or none where the bytes are no JSON object."""
    try:
        found, _ = _read(_MEMBERS, body)
    except DecodeError:
        return frozenset()
    return frozenset(found)


def read_traces(body: bytes) -> Decoded[ExportTraceServiceRequest]:
    """Return the traces request that the JSON spells, without the spans that cannot be read.

    Raises:
        DecodeError: The bytes are no JSON, or a member outside of the spans has the wrong type.
    """
    message, items = _read(_TRACES, body)
    request = ExportTraceServiceRequest()
    refused: list[Refused] = []
    with _outside_items():
        for group in message.resource_spans or ():
            groups = request.resource_spans.add(resource=_resource(group.resource), schema_url=group.schema_url or "")
            for each in group.scope_spans or ():
                scope = groups.scope_spans.add(scope=_scope(each.scope), schema_url=each.schema_url or "")
                for raw in items(each.spans or []):
                    try:
                        scope.spans.append(_span(_decode(_SPAN, raw)))
                    except _UNREADABLE as error:
                        refused.append(Refused(_why(error), bytes(raw)))
    return Decoded(request, tuple(refused))


def read_logs(body: bytes) -> Decoded[ExportLogsServiceRequest]:
    """Return the logs request that the JSON spells, without the records that cannot be read.

    Raises:
        DecodeError: The bytes are no JSON, or a member outside of the records has the wrong type.
    """
    message, items = _read(_LOGS, body)
    request = ExportLogsServiceRequest()
    refused: list[Refused] = []
    with _outside_items():
        for group in message.resource_logs or ():
            groups = request.resource_logs.add(resource=_resource(group.resource), schema_url=group.schema_url or "")
            for each in group.scope_logs or ():
                scope = groups.scope_logs.add(scope=_scope(each.scope), schema_url=each.schema_url or "")
                for raw in items(each.log_records or []):
                    try:
                        scope.log_records.append(_log_record(_decode(_LOG_RECORD, raw)))
                    except _UNREADABLE as error:
                        refused.append(Refused(_why(error), bytes(raw)))
    return Decoded(request, tuple(refused))


def whole_part(body: bytes) -> bytes | None:
    """Return the request with the spans or records before the place where the JSON is cut off, or ``None``."""
    ends = [end for _, end in _items(body)]
    return body[: ends[-1]] + b"]}]}]}" if ends else None


def _items(body: bytes) -> Iterator[tuple[int, int]]:
    """Yield where each span or record begins and ends, told by brackets alone, so whatever it holds."""
    open_brackets = bytearray()
    start = 0
    for token in _BRACKETS_AND_STRINGS.finditer(body):
        match token[0]:
            case b"{" | b"[":
                if token[0] == b"{" and open_brackets == _AROUND_ITEMS:
                    start = token.start()
                open_brackets += token[0]
            case b"}" | b"]" if open_brackets:
                opened = open_brackets.pop()
                if opened == _BRACE and open_brackets == _AROUND_ITEMS:
                    yield start, token.end()
            case _:
                pass


def _read(decoder: "msgspec.json.Decoder[_T]", body: bytes) -> tuple[_T, _Items]:
    """Return the request, and what gives the bytes of the items of one of its lists.

    Raises:
        DecodeError: The bytes are no JSON or of another shape, and that not because of single items.
    """
    try:
        return decoder.decode(body), _as_they_are
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    # One item that is no JSON makes the whole none. So the whole is read with a number in the place of each.
    found: list[bytes] = []
    parts: list[bytes] = []
    end = 0
    for start, stop in _items(body):
        parts += (body[end:start], b'{"item":%d}' % len(found))
        found.append(body[start:stop])
        end = stop
    message = _decode(decoder, b"".join((*parts, body[end:])))

    def by_number(places: list[msgspec.Raw]) -> Iterator[bytes]:
        for place in map(bytes, places):
            # Every object in these lists is one of ours; what is no object is not an item either.
            yield found[int(place[place.index(b":") + 1 : -1])] if place[:1] == b"{" else place

    return message, by_number


def _as_they_are(items: list[msgspec.Raw]) -> Iterator[msgspec.Raw]:
    return iter(items)


def _decode(decoder: "msgspec.json.Decoder[_T]", body: "bytes | msgspec.Raw") -> _T:
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        if not _HALF_CHARACTER.search(body):
            raise DecodeError(f"not OTLP/JSON: {error}") from error
    # A sender that cuts text by UTF-16 units leaves half a character, which JSON can spell and UTF-8 cannot.
    try:
        text = _SURROGATE.sub("\ufffd", json.dumps(json.loads(bytes(body)), ensure_ascii=False))
        return decoder.decode(text)
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"not OTLP/JSON: {error}") from error


@contextlib.contextmanager
def _outside_items() -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, RecursionError, ProtobufError) as error:
        raise DecodeError(f"not OTLP/JSON: {_why(error)}") from error


def _why(error: Exception) -> str:
    match error:
        case DecodeError():
            return str(error)[:_MAX_REASON]
        case RecursionError():
            return "nested too deep"
        case ProtobufError():
            return f"no protobuf can hold it, perhaps for being nested too deep: {error}"[:_MAX_REASON]
        case _:
            return f"not OTLP/JSON: {error}"[:_MAX_REASON]


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
