"""Turns the bytes of an Export request, protobuf or JSON, into the protobuf message.

A span or record that cannot be read is refused alone, with its reason and its bytes. A text of a resource or scope that
is not UTF-8 is mended, so that its spans are kept.
"""

from collections.abc import Iterator
from typing import Final, Literal

from google.protobuf.message import DecodeError as ProtobufError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanproof_collector.errors import DecodeError
from spanproof_collector.otlp import json_form
from spanproof_collector.otlp.mending import mend
from spanproof_collector.otlp.refused import MENDED, Decoded, Refused, Request, around_unreadable
from spanproof_collector.otlp.wire import alone, groups, items, signal_of, without

Signal = Literal["traces", "logs", "metrics"]
Form = Literal["protobuf", "json"]

_FORMS: Final[dict[str, Form]] = {
    "application/x-protobuf": "protobuf",
    "application/protobuf": "protobuf",
    "application/json": "json",
}
_MEMBERS: Final[dict[Signal, str]] = {"traces": "resourceSpans", "logs": "resourceLogs", "metrics": "resourceMetrics"}


def form_of(content_type: str) -> Form | None:
    """Return the form that a content type names, its parameters ignored, or ``None`` for another type."""
    return _FORMS.get(content_type.partition(";")[0].strip().lower())


def decode_traces(body: bytes, form: Form = "protobuf") -> Decoded[ExportTraceServiceRequest]:
    """Return the traces request.

    Raises:
        DecodeError: The bytes are no traces request; the message says what they look like.
    """
    if form == "json":
        spelled = json_form.read_traces(body)
        if not spelled.request.resource_spans:
            _refuse_other_members("traces", body)
        return spelled
    try:
        request = ExportTraceServiceRequest.FromString(body)
    except ProtobufError as error:
        return _by_items("traces", ExportTraceServiceRequest, body, error)
    if not _holds_a_trace_id(request):
        found = signal_of(body)
        if found not in (None, "traces"):
            raise DecodeError(_hint("traces", body, "no span has a trace id"))
    return Decoded(request)


def decode_logs(body: bytes, form: Form = "protobuf") -> Decoded[ExportLogsServiceRequest]:
    """Return the logs request.

    Raises:
        DecodeError: The bytes are no logs request; the message says what they look like.
    """
    if form == "json":
        spelled = json_form.read_logs(body)
        if not spelled.request.resource_logs:
            _refuse_other_members("logs", body)
        return spelled
    try:
        request = ExportLogsServiceRequest.FromString(body)
    except ProtobufError as error:
        return _by_items("logs", ExportLogsServiceRequest, body, error)
    if not _holds_a_time(request) and signal_of(body) not in (None, "logs"):
        raise DecodeError(_hint("logs", body, "no record has a time"))
    return Decoded(request)


def signal_in(body: bytes, form: Form) -> Signal | None:
    """Return which signal the bytes hold, or ``None`` where they are empty or no OTLP."""
    if form == "protobuf":
        return signal_of(body)
    members = json_form.members(body)
    return next((signal for signal, member in _MEMBERS.items() if member in members), None)


def _by_items(signal: Signal, kind: type[Request], body: bytes, error: ProtobufError) -> Decoded[Request]:
    """Return what can be read of a request that as a whole cannot.

    Raises:
        DecodeError: Something is cut off, nothing around the spans or records can be read, or it is no such request.
    """
    hint = _hint(signal, body, str(error))
    if signal_of(body) != signal or without(body, ()) is None:
        raise DecodeError(hint) from error
    mended = None if _reads(kind, without(body, {*items(body)})) else mend(body, kind.DESCRIPTOR)
    readable: list[bytes] = []
    refused: list[Refused] = []
    part: bytes
    for part in groups(body if mended is None else mended):
        if _reads(kind, without(part, {*items(part)})):
            unreadable = [*_unreadable(kind, part)]
            refused += unreadable
            readable.append(without(part, {each.body for each in unreadable}) or b"")
        else:
            refused += [Refused(around_unreadable("it is no protobuf"), item) for item in items(part)]
    try:
        if readable:
            return Decoded(kind.FromString(b"".join(readable)), tuple(refused), "" if mended is None else MENDED)
    except ProtobufError:
        pass
    raise DecodeError(hint) from error


def _reads(kind: type[Request], body: bytes | None) -> bool:
    try:
        kind.FromString(body or b"")
    except ProtobufError:
        return False
    return body is not None


def _unreadable(kind: type[Request], body: bytes) -> Iterator[Refused]:
    for item in items(body):
        try:
            kind.FromString(alone(item))
        except ProtobufError as error:
            yield Refused("a text in it is not UTF-8" if "UTF-8" in str(error) else f"no protobuf: {error}", item)


def _holds_a_trace_id(request: ExportTraceServiceRequest) -> bool:
    spans = (span for group in request.resource_spans for scope in group.scope_spans for span in scope.spans)
    return any(len(span.trace_id) == 16 for span in spans)


def _holds_a_time(request: ExportLogsServiceRequest) -> bool:
    records = (r for group in request.resource_logs for scope in group.scope_logs for r in scope.log_records)
    return any(record.time_unix_nano or record.observed_time_unix_nano for record in records)


def _hint(wanted: Signal, body: bytes, why: str) -> str:
    found = signal_of(body)
    if found is not None and found != wanted:
        return f"this is a {found} request on the {wanted} path ({why}): send it to /v1/{found}"
    if body[:1] in (b"{", b"["):
        return f"this looks like JSON, and the content type says protobuf ({why})"
    if body[:2] == b"\x1f\x8b":
        return f"this looks like gzip, and no content encoding says so ({why})"
    return f"not an OTLP {wanted} request: {why}"


def _refuse_other_members(wanted: Signal, body: bytes) -> None:
    members = json_form.members(body)
    for signal, member in _MEMBERS.items():
        if signal != wanted and member in members:
            raise DecodeError(f"this is a {signal} request on the {wanted} path: send it to /v1/{signal}")
    snake = f"resource_{'spans' if wanted == 'traces' else wanted}"
    if snake in members:
        raise DecodeError(f"{snake!r} is not how OTLP/JSON spells it: names are lowerCamelCase, ids are hex")
