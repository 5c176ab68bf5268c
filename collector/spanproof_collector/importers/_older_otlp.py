"""OTLP/JSON as it was spelled before, or as protobuf's own JSON spells it: the same request in today's spelling.

Protobuf's JSON has ids in base64 and the names of enum values; OTLP/JSON has hex and numbers.
"""

import base64
import binascii
import json
import re
from typing import Final

from opentelemetry.proto.logs.v1.logs_pb2 import SeverityNumber
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from spanproof_collector.importers._files import NotJsonError, parse
from spanproof_collector.model.values import Json

_SNAKE: Final = re.compile(r"_([a-z])")
_RENAMED: Final = {
    "instrumentationLibrarySpans": "scopeSpans",
    "instrumentationLibraryLogs": "scopeLogs",
    "instrumentationLibraryMetrics": "scopeMetrics",
    "instrumentationLibrary": "scope",
}
MARKS: Final = (
    b'"resource_spans"',
    b'"resource_logs"',
    b'"resource_metrics"',
    b'"instrumentationLibrarySpans"',
    b'"instrumentationLibraryLogs"',
)

_PROTOBUF_JSON: Final = re.compile(
    rb'"(SPAN_KIND|STATUS_CODE|SEVERITY_NUMBER)_|"trace_?[iI]d"\s*:\s*"[A-Za-z0-9+/]{22}=="'
)
_ID_LENGTHS: Final = {"traceId": 16, "spanId": 8, "parentSpanId": 8}
_ENUMS: Final = {
    "kind": SpanMessage.SpanKind.DESCRIPTOR,
    "code": Status.StatusCode.DESCRIPTOR,
    "severityNumber": SeverityNumber.DESCRIPTOR,
}


def modern(body: bytes) -> bytes:
    """Return the request in today's spelling; bytes that are no JSON as they are.

    In OTLP/JSON the name of every member is a field's: attributes have theirs as values of ``key``.
    """
    if not any(mark in body for mark in MARKS) and _PROTOBUF_JSON.search(body) is None:
        return body
    try:
        return json.dumps(_renamed(parse(body))).encode()
    except (NotJsonError, RecursionError):
        return body


def _renamed(value: Json) -> Json:
    match value:
        case list():
            return [_renamed(item) for item in value]
        case dict():
            return {(name := _name(key)): _plain(name, item) for key, item in value.items()}
        case _:
            return value


def _plain(name: str, value: Json) -> Json:
    """Return the value of a member, an id in hex and an enum value as its number."""
    if not isinstance(value, str):
        return _renamed(value)
    if name in _ENUMS and (known := _ENUMS[name].values_by_name.get(value)) is not None:
        number: int = known.number
        return number
    if name in _ID_LENGTHS and value.endswith("="):
        try:
            found = base64.b64decode(value, validate=True)
        except binascii.Error:
            return value
        return found.hex() if len(found) == _ID_LENGTHS[name] else value
    return value


def _name(key: str) -> str:
    camel = _SNAKE.sub(lambda match: match[1].upper(), key)
    return _RENAMED.get(camel, camel)
