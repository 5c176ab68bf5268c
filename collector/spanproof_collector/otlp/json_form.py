"""Reads OTLP/JSON into the protobuf messages: hex ids, numbers as text or numbers, unknown members ignored.

Spans and log records are read one by one, so that one that cannot be read is refused alone.
"""

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

import msgspec
from google.protobuf.message import DecodeError as ProtobufError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanproof_collector.errors import DecodeError
from spanproof_collector.otlp import json_structs as structs
from spanproof_collector.otlp.json_messages import log_record_of, resource_of, scope_of, span_of
from spanproof_collector.otlp.refused import Decoded, Refused

_T = TypeVar("_T")
_Items = Callable[[list[msgspec.Raw]], "Iterator[bytes | msgspec.Raw]"]
_TRACES: Final = msgspec.json.Decoder(structs.Traces, strict=False)
_LOGS: Final = msgspec.json.Decoder(structs.Logs, strict=False)
_SPAN: Final = msgspec.json.Decoder(structs.Span, strict=False)
_LOG_RECORD: Final = msgspec.json.Decoder(structs.LogRecord, strict=False)
_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_HALF_CHARACTER: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_BRACKETS_AND_STRINGS: Final = re.compile(rb'[{}\[\]]|"(?:[^"\\]|\\.)*(?:"|\Z)', re.DOTALL)
_AROUND_ITEMS: Final = b"{[{[{["  # of groups, of scopes in them, of spans or records in those
_BRACE: Final = ord("{")
_UNREADABLE: Final = (DecodeError, ValueError, TypeError, RecursionError, ProtobufError)
_MAX_REASON: Final = 300
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
            groups = request.resource_spans.add(resource=resource_of(group.resource), schema_url=group.schema_url or "")
            for each in group.scope_spans or ():
                scope = groups.scope_spans.add(scope=scope_of(each.scope), schema_url=each.schema_url or "")
                for raw in items(each.spans or []):
                    try:
                        scope.spans.append(span_of(_decode(_SPAN, raw)))
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
            groups = request.resource_logs.add(resource=resource_of(group.resource), schema_url=group.schema_url or "")
            for each in group.scope_logs or ():
                scope = groups.scope_logs.add(scope=scope_of(each.scope), schema_url=each.schema_url or "")
                for raw in items(each.log_records or []):
                    try:
                        scope.log_records.append(log_record_of(_decode(_LOG_RECORD, raw)))
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
