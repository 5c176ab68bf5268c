"""Outbound requests under a tool's span: one that failed without a response leaves open what it did at the other end.

The tool may say that all went well and not know. A request that was answered, with whatever code, is the tool's to
judge, and so is one that the tool made again: only the last one counts.
"""

from typing import Final

from spanproof_collector.model.readings import AgentRun, ModelCall, Retrieval, ToolRun
from spanproof_collector.model.values import Attributes
from spanproof_collector.trials._reading import ReadSpan, ReadTrial

_RESPONSES: Final = (
    "http.response.status_code",
    "http.status_code",
    "db.response.status_code",
    "rpc.response.status_code",
    "rpc.grpc.status_code",
    "rpc.jsonrpc.error_code",
    "jsonrpc.error.code",
)
"""Attributes that tell of a response, whatever it was."""

_METHODS: Final = ("http.request.method", "http.method", "db.operation.name", "db.operation")
_READING: Final = frozenset(("GET", "HEAD", "OPTIONS", "TRACE", "SELECT", "SHOW", "DESCRIBE", "EXPLAIN", "PING"))


def unanswered(trial: ReadTrial) -> frozenset[tuple[str, str]]:
    """Return the tool spans, by trace and span id, whose last outbound request failed without a response."""
    last: dict[tuple[str, str], ReadSpan] = {}
    for item in trial.spans:
        if item.span.kind not in ("CLIENT", "PRODUCER") or isinstance(item.reading, ModelCall | AgentRun | Retrieval):
            continue
        if not item.span.parent_span_id or _reads(item.span.attributes):
            continue
        if isinstance(item.reading, ToolRun) and item.reading.mcp_side is None:
            continue
        owner = next((outer for outer in trial.ancestors(item) if isinstance(outer.reading, ToolRun | AgentRun)), None)
        if owner is not None and isinstance(owner.reading, ToolRun):
            last[(owner.span.trace_id, owner.span.span_id)] = item
    return frozenset(key for key, item in last.items() if _failed_silently(item))


def _reads(attributes: Attributes) -> bool:
    told = next((attributes[key] for key in _METHODS if key in attributes), None)
    return isinstance(told, str) and told.upper() in _READING


def _failed_silently(item: ReadSpan) -> bool:
    attributes = item.span.attributes
    return item.span.status == "ERROR" and not any(key in attributes for key in _RESPONSES)
