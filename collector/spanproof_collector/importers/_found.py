"""What a file holds besides sessions: requests, damage, and what is not kept."""

from dataclasses import dataclass

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanproof_collector.otlp import Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A request out of a file, the bytes that it was read from, and what of them could not be read."""

    request: ExportTraceServiceRequest | ExportLogsServiceRequest
    data: bytes
    refused: tuple[Refused, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A part of a file that could not be read. ``line`` counts from 1; ``None`` where the file has no lines."""

    reason: str
    line: int | None = None
    trace_ids: frozenset[str] = frozenset()
    """Traces, lower-case hex, of which it holds spans: what is stored of them is not whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A part that is whole, understood and not kept, such as metrics."""

    what: str
