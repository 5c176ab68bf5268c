"""Sends one request as it is, over gRPC or over HTTP in either form, and says the answer in one way for all."""

import base64
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import grpc
from google.protobuf.json_format import MessageToDict, Parse
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from spanproof_collector.server.serve import Addresses
from tests.collector.server.posting import JSON, PROTOBUF, ask

Transport = Literal["grpc", "http/protobuf", "http/json"]
Request = ExportTraceServiceRequest | ExportLogsServiceRequest
TRANSPORTS: Final[tuple[Transport, ...]] = ("grpc", "http/protobuf", "http/json")

_METHODS: Final = {
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    "metrics": "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
}
_IDS: Final = re.compile(r'"(traceId|spanId|parentSpanId)": "([^"]*)"')


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The answer to a request, whichever way it came. ``code`` is google.rpc's, 0 for a success."""

    code: int
    rejected: int = 0
    message: str = ""
    retry_seconds: float | None = None
    size: int = 0


Send = Callable[..., Outcome]


def sender(transport: Transport, to: Addresses) -> Send:
    """Return a function of a request, or of its bytes and its signal."""

    def send(request: Request | bytes, signal: str | None = None) -> Outcome:
        if not isinstance(request, bytes):
            signal = "logs" if isinstance(request, ExportLogsServiceRequest) else "traces"
            request = spelled(request) if transport == "http/json" else request.SerializeToString()
        assert signal is not None
        if transport == "grpc":
            return _over_grpc(to, signal, request)
        return _over_http(to, signal, request, JSON if transport == "http/json" else PROTOBUF)

    send.__name__ = transport
    return send


def spelled(request: Request) -> bytes:
    """Return the request in OTLP/JSON, whose ids are hex where protobuf's JSON has base64."""
    text = json.dumps(MessageToDict(request, use_integers_for_enums=True))
    return _IDS.sub(lambda found: f'"{found[1]}": "{base64.b64decode(found[2]).hex()}"', text).encode()


def _over_grpc(to: Addresses, signal: str, body: bytes) -> Outcome:
    options = [("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(f"{to.host}:{to.grpc_port}", options=options) as channel:
        answer = channel.unary_unary(_METHODS[signal]).future(body, timeout=60)
        if answer.code() is grpc.StatusCode.OK:
            return _taken(signal, answer.result())
        status = Status.FromString(dict(answer.trailing_metadata())["grpc-status-details-bin"])
        assert status.code == answer.code().value[0]
        return Outcome(code=status.code, message=status.message, retry_seconds=_retry(status))


def _over_http(to: Addresses, signal: str, body: bytes, headers: dict[str, str]) -> Outcome:
    answer = ask(to, f"/v1/{signal}", body, headers)
    # Whatever becomes of a request, the answer is in its form.
    assert answer.headers["content-type"] == headers["Content-Type"], answer
    in_json = headers is JSON
    if answer.status == 200:
        return _taken(signal, answer.body, in_json=in_json)
    status = Parse(answer.body, Status()) if in_json else Status.FromString(answer.body)
    after = answer.headers.get("retry-after")
    assert (after is not None) == (answer.status in (429, 503))
    assert answer.status == {3: 400, 8: 413, 13: 500, 14: 503}[status.code]
    return Outcome(code=status.code, message=status.message, retry_seconds=None if after is None else float(after))


def _taken(signal: str, answer: bytes, *, in_json: bool = False) -> Outcome:
    if signal == "metrics":
        assert answer == (b"{}" if in_json else b"")
        return Outcome(code=0)
    if signal == "logs":
        logs = ExportLogsServiceResponse()
        partial_logs = (
            Parse(answer, logs) if in_json else ExportLogsServiceResponse.FromString(answer)
        ).partial_success
        return Outcome(
            code=0, rejected=partial_logs.rejected_log_records, message=partial_logs.error_message, size=len(answer)
        )
    traces = ExportTraceServiceResponse()
    partial = (Parse(answer, traces) if in_json else ExportTraceServiceResponse.FromString(answer)).partial_success
    return Outcome(code=0, rejected=partial.rejected_spans, message=partial.error_message, size=len(answer))


def _retry(status: Status) -> float | None:
    for detail in status.details:
        info = RetryInfo()
        if detail.Unpack(info):
            return float(info.retry_delay.ToMilliseconds()) / 1000
    return None
