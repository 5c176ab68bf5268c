"""What makes a span or log record itself: ids, project, the version by which the richer resend wins."""

from hashlib import sha256
from typing import Final

from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from zlib_ng.zlib_ng import crc32

from spanproof_collector.otlp.shallow import ShallowRecord
from spanproof_instrumentation import semconv

NO_TRACE: Final = b"\0" * 16
NO_SPAN: Final = b"\0" * 8
DEFAULT_PROJECT: Final = "default"


def broken_id(trace_id: bytes, span_id: bytes, parent: bytes) -> str:
    """Return why a span's ids cannot be stored, or ``""``."""
    if len(trace_id) == 16 and len(span_id) == 8 and trace_id != NO_TRACE and span_id != NO_SPAN:
        return "" if not parent or len(parent) == 8 else f"parent span id has {len(parent)} bytes, not 8"
    if len(trace_id) != 16:
        return f"trace id has {len(trace_id)} bytes, not 16"
    if len(span_id) != 8:
        return f"span id has {len(span_id)} bytes, not 8"
    return "trace id is all zeros" if trace_id == NO_TRACE else "span id is all zeros"


def parent_id(parent: bytes) -> str:
    """Return the parent's id, ``""`` for a root; some senders spell a root with zeros."""
    return parent.hex() if parent != NO_SPAN else ""


def log_ids(record: logs_pb2.LogRecord | ShallowRecord) -> tuple[str, str]:
    """Return the trace and span id of a record; of no valid length counts as absent, as OTLP asks of receivers."""
    trace_id, span_id = record.trace_id, record.span_id
    if len(trace_id) != len(NO_TRACE) or trace_id == NO_TRACE:
        return "", ""
    if len(span_id) != len(NO_SPAN) or span_id == NO_SPAN:
        return trace_id.hex(), ""
    return trace_id.hex(), span_id.hex()


def project_of(resource: resource_pb2.Resource) -> str:
    """Return the project that the resource names."""
    name = DEFAULT_PROJECT
    for pair in resource.attributes:
        if pair.key == semconv.PROJECT:
            name = pair.value.string_value or name
    return name


def group_bytes(
    resource: resource_pb2.Resource, resource_url: str, scope: common_pb2.InstrumentationScope, scope_url: str
) -> bytes:
    """Return what the spans or records of one scope have in common, as bytes to hash."""
    parts = (
        resource.SerializeToString(deterministic=True),
        resource_url.encode(),
        scope.SerializeToString(deterministic=True),
        scope_url.encode(),
    )
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def span_version(serialized: bytes, group_sum: int) -> int:
    """Return the version of a span: richness first; of equally rich ones the same stands in whatever order they come.

    Args:
        serialized: the span's bytes: as sent, or as protobuf spells it.
        group_sum: CRC-32 of ``group_bytes``.
    """
    return len(serialized) << 24 | crc32(serialized, group_sum) & 0xFFFFFF


def record_id(serialized: bytes, group: bytes) -> str:
    """Return the id of a log record: the same record in the same group has one id."""
    digest = sha256(group)
    digest.update(serialized)
    return digest.hexdigest()[:32]
