"""OTLP/JSON as it was spelled before, or as protobuf names its fields: the same request in today's spelling."""

import json
import re
from typing import Final

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


def modern(body: bytes) -> bytes:
    """Return the request in today's spelling; bytes that are no JSON as they are.

    In OTLP/JSON the name of every member is a field's: attributes have theirs as values of ``key``.
    """
    if not any(mark in body for mark in MARKS):
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
            return {_name(key): _renamed(item) for key, item in value.items()}
        case _:
            return value


def _name(key: str) -> str:
    camel = _SNAKE.sub(lambda match: match[1].upper(), key)
    return _RENAMED.get(camel, camel)
