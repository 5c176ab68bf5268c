"""Turns the body of one Export request into a batch, with the hash by which a resend is known."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

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
    convert_plain_traces,
    convert_traces,
    decode_logs,
    decode_traces,
    refuse_too_many_parts,
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
    deletions: int
    """The store's count of deletions that the batch leaves out content by."""

    again: "Callable[[Sent], Converted]"
    """Makes the same batch anew, by what is sent now."""

    @property
    def rows(self) -> int:
        """Spans and log records."""
        return self.batch.span_count + self.batch.log_count

    @property
    def weight(self) -> int:
        """About how many bytes of memory it takes: what is small on the wire is larger here."""
        attributes = 0
        for table in (self.batch.spans, self.batch.log_records):
            attributes += sum(map(len, cast("Sequence[Sequence[str]]", table.get("attribute.key", ()))))
        return 3 * self.size + 1000 * self.rows + 80 * attributes + 300 * len(self.batch.rejected)


def convert_body(signal: Signal, body: bytes, form: Form, encoding: str, sent: Sent) -> Converted:
    """Return the batch of a request as it came over the wire.

    Raises:
        DecodeError: the bytes are not such a request.
    """
    data = unpack(body, encoding)
    if signal == "metrics":
        raise DecodeError("metrics are not stored")
    refuse_too_many_parts(signal, data, form)
    again = partial(convert_body, signal, body, form, encoding)
    if signal == "traces" and form == "protobuf":
        deletions = sent.deletions
        plain = convert_plain_traces(data, sent)
        if plain is not None:
            digest = _digest(data, WIRE)
            return Converted(batch=plain, digest=digest, size=len(data), deletions=deletions, again=again)
    match signal:
        case "traces":
            traces = decode_traces(data, form)
            converted = convert(traces.request, data, sent, refused=traces.refused)
            warning = traces.warning
        case "logs":
            logs = decode_logs(data, form)
            converted = convert(logs.request, data, sent, refused=logs.refused)
            warning = logs.warning
    # Only the bytes are kept meanwhile: the message made of them is several times as large.
    return replace(converted, warning=warning, again=again)


def convert(
    request: Request, data: bytes, sent: Sent, origin: Origin = WIRE, refused: Sequence[Refused] = ()
) -> Converted:
    """Return the batch of a decoded request; ``data`` is what it was decoded from, ``refused`` what was not read."""
    deletions = sent.deletions
    if isinstance(request, ExportTraceServiceRequest):
        batch = convert_traces(request, sent, origin, refused)
    else:
        batch = convert_logs(request, sent, origin, refused)
    return Converted(
        batch=batch,
        digest=_digest(data, origin),
        size=len(data),
        deletions=deletions,
        again=lambda now: convert(request, data, now, origin, refused),
    )


def _digest(data: bytes, origin: Origin) -> bytes:
    digest = hashlib.sha256("\0".join(origin).encode() + b"\0")
    digest.update(data)
    return digest.digest()


def token_of(group: Sequence[Converted]) -> str:
    """Return the token of a block made of these requests."""
    return hashlib.sha256(b"".join(each.digest for each in group)).hexdigest()
