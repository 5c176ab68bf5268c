"""Reads OTLP/JSON into the protobuf messages: hex ids, numbers as text or numbers, unknown members ignored.

Spans and log records are read one by one, so that one that cannot be read is refused alone. Of a group whose resource
or scope cannot be read its own spans are refused, and the other groups kept.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Final, Generic, NamedTuple, TypeVar

import msgspec
from google.protobuf.message import DecodeError as ProtobufError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanproof_collector.errors import DecodeError
from spanproof_collector.otlp import json_structs as structs
from spanproof_collector.otlp.json_items import Numbered, items_of_group
from spanproof_collector.otlp.json_messages import log_record_of, resource_of, scope_of, span_of
from spanproof_collector.otlp.refused import MENDED, Decoded, Refused, around_unreadable

_T = TypeVar("_T")
_Group = TypeVar("_Group")
_Groups = list[_Group] | None
_Raws = list[msgspec.Raw] | None
_Items = Callable[[list[msgspec.Raw]], "Iterator[bytes | msgspec.Raw]"]

_TRACES: Final = msgspec.json.Decoder(structs.Traces, strict=False)
_TRACES_APART: Final = msgspec.json.Decoder(structs.TracesApart, strict=False)
_RESOURCE_SPANS: Final = msgspec.json.Decoder(structs.ResourceSpans, strict=False)
_SPAN: Final = msgspec.json.Decoder(structs.Span, strict=False)
_LOGS: Final = msgspec.json.Decoder(structs.Logs, strict=False)
_LOGS_APART: Final = msgspec.json.Decoder(structs.LogsApart, strict=False)
_RESOURCE_LOGS: Final = msgspec.json.Decoder(structs.ResourceLogs, strict=False)
_LOG_RECORD: Final = msgspec.json.Decoder(structs.LogRecord, strict=False)
_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_HALF_CHARACTER: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_UNREADABLE: Final = (DecodeError, ValueError, TypeError, RecursionError, ProtobufError)
_NO_JSON: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_MAX_REASON: Final = 300
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def members(body: bytes) -> frozenset[str]:
    """Return the names of the outermost members, or none where the bytes are no JSON object."""
    try:
        try:
            return frozenset(_MEMBERS.decode(body))
        except _NO_JSON:
            found = _decode(_MEMBERS, Numbered(body).text)
            return frozenset(found)
    except DecodeError:
        return frozenset()


def read_traces(body: bytes) -> Decoded[ExportTraceServiceRequest]:
    """Return the traces request that the JSON spells, without the spans that cannot be read.

    Raises:
        DecodeError: The bytes are no JSON, or no group of spans in them can be read.
    """
    opened = _opened(
        body,
        lambda text: _TRACES.decode(text).resource_spans,
        lambda text: _decode(_TRACES_APART, text).resource_spans,
        _RESOURCE_SPANS,
    )
    refused = list(opened.refused)
    request = ExportTraceServiceRequest()
    failure: Exception | None = None
    for group in opened.groups:
        scopes = group.scope_spans or ()
        message = request.resource_spans.add(schema_url=group.schema_url or "")
        try:
            message.resource.CopyFrom(resource_of(group.resource))
            for each in scopes:
                message.scope_spans.add(scope=scope_of(each.scope), schema_url=each.schema_url or "")
        except _UNREADABLE as error:
            failure = error
            refused += _all_refused(error, (raw for each in scopes for raw in opened.items(each.spans or [])))
            del request.resource_spans[-1]
            continue
        for scope, each in zip(message.scope_spans, scopes, strict=True):
            for raw in opened.items(each.spans or []):
                try:
                    scope.spans.append(span_of(_decode(_SPAN, raw)))
                except _UNREADABLE as error:
                    refused.append(Refused(_why(error), bytes(raw)))
    if failure is not None and not request.resource_spans:
        raise DecodeError(_why(failure)) from failure
    return Decoded(request, tuple(refused), opened.warning)


def read_logs(body: bytes) -> Decoded[ExportLogsServiceRequest]:
    """Return the logs request that the JSON spells, without the records that cannot be read.

    Raises:
        DecodeError: The bytes are no JSON, or no group of records in them can be read.
    """
    opened = _opened(
        body,
        lambda text: _LOGS.decode(text).resource_logs,
        lambda text: _decode(_LOGS_APART, text).resource_logs,
        _RESOURCE_LOGS,
    )
    refused = list(opened.refused)
    request = ExportLogsServiceRequest()
    failure: Exception | None = None
    for group in opened.groups:
        scopes = group.scope_logs or ()
        message = request.resource_logs.add(schema_url=group.schema_url or "")
        try:
            message.resource.CopyFrom(resource_of(group.resource))
            for each in scopes:
                message.scope_logs.add(scope=scope_of(each.scope), schema_url=each.schema_url or "")
        except _UNREADABLE as error:
            failure = error
            refused += _all_refused(error, (raw for each in scopes for raw in opened.items(each.log_records or [])))
            del request.resource_logs[-1]
            continue
        for scope, each in zip(message.scope_logs, scopes, strict=True):
            for raw in opened.items(each.log_records or []):
                try:
                    scope.log_records.append(log_record_of(_decode(_LOG_RECORD, raw)))
                except _UNREADABLE as error:
                    refused.append(Refused(_why(error), bytes(raw)))
    if failure is not None and not request.resource_logs:
        raise DecodeError(_why(failure)) from failure
    return Decoded(request, tuple(refused), opened.warning)


class _Opened(NamedTuple, Generic[_Group]):
    """A request whose groups are read and whose items are not yet."""

    groups: list[_Group]
    items: _Items
    refused: tuple[Refused, ...] = ()
    warning: str = ""


def _opened(
    body: bytes,
    whole: "Callable[[bytes], _Groups[_Group]]",
    apart: Callable[[bytes], _Raws],
    group_decoder: "msgspec.json.Decoder[_Group]",
) -> _Opened[_Group]:
    """Return the groups of a request.

    Raises:
        DecodeError: The bytes are no JSON or of another shape, and that not because of single items or groups.
    """
    try:
        return _Opened(whole(body) or [], iter)
    except _NO_JSON:
        pass
    # One item that is no JSON makes the whole none.
    numbered = Numbered(body)
    text, warning = numbered.text, ""
    try:
        text.decode()
    except UnicodeDecodeError:
        text, warning = text.decode(errors="replace").encode(), MENDED
    groups: list[_Group] = []
    refused: list[Refused] = []
    failure: DecodeError | None = None
    for raw in apart(text) or ():
        try:
            groups.append(_decode(group_decoder, raw))
        except DecodeError as error:
            failure = error
            refused += _all_refused(error, map(numbered.item, items_of_group(bytes(raw))))
    if failure is not None and not groups:
        raise failure
    return _Opened(groups, lambda places: map(numbered.item, map(bytes, places)), tuple(refused), warning)


def _all_refused(error: Exception, items: "Iterator[bytes | msgspec.Raw]") -> list[Refused]:
    reason = around_unreadable(_why(error))
    return [Refused(reason, bytes(item)) for item in items]


def _decode(decoder: "msgspec.json.Decoder[_T]", body: "bytes | msgspec.Raw") -> _T:
    try:
        return decoder.decode(body)
    except _NO_JSON as error:
        if not _HALF_CHARACTER.search(body):
            raise DecodeError(f"not OTLP/JSON: {error}") from error
    # A sender that cuts text by UTF-16 units leaves half a character, which JSON can spell and UTF-8 cannot.
    try:
        text = _SURROGATE.sub("\ufffd", json.dumps(json.loads(bytes(body)), ensure_ascii=False))
        return decoder.decode(text)
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"not OTLP/JSON: {error}") from error


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
