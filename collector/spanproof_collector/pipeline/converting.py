"""Turns the body of one Export request into a batch, with the hash by which a resend is known."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanproof_collector.errors import DecodeError
from spanproof_collector.otlp import (
    WIRE,
    Batch,
    Form,
    Origin,
    Refused,
    Sent,
    Signal,
    convert_logs,
    convert_traces,
    decode_logs,
    decode_traces,
    unpack,
)

Request = ExportTraceServiceRequest | ExportLogsServiceRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """A batch, the hash of what it was made of, how many bytes that was, and what was changed to read it."""

    batch: Batch
    digest: bytes
    size: int
    warning: str = ""

    @property
    def rows(self) -> int:
        """Spans and log records."""
        return self.batch.span_count + self.batch.log_count


def convert_body(signal: Signal, body: bytes, form: Form, encoding: str, sent: Sent) -> Converted:
    """Return the batch of a request as it came over the wire.

    Raises:
        DecodeError: the bytes are not such a request.
    """
    data = unpack(body, encoding)
    match signal:
        case "traces":
            traces = decode_traces(data, form)
            return replace(convert(traces.request, data, sent, refused=traces.refused), warning=traces.warning)
        case "logs":
            logs = decode_logs(data, form)
            return replace(convert(logs.request, data, sent, refused=logs.refused), warning=logs.warning)
        case "metrics":
            raise DecodeError("metrics are not stored")


def convert(
    request: Request, data: bytes, sent: Sent, origin: Origin = WIRE, refused: Sequence[Refused] = ()
) -> Converted:
    """Return the batch of a decoded request; ``data`` is what it was decoded from, ``refused`` what was not read."""
    if isinstance(request, ExportTraceServiceRequest):
        batch = convert_traces(request, sent, origin, refused)
    else:
        batch = convert_logs(request, sent, origin, refused)
    digest = hashlib.sha256("\0".join(origin).encode() + b"\0")
    digest.update(data)
    return Converted(batch=batch, digest=digest.digest(), size=len(data))


def token_of(group: list[Converted]) -> str:
    """Return the token of a block made of these requests."""
    return hashlib.sha256(b"".join(each.digest for each in group)).hexdigest()
