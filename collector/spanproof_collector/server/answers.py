"""What OTLP senders are answered: responses, partial successes and errors, in protobuf and in JSON."""

import json
import math
from typing import Final

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc import code_pb2
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

from spanproof_collector.errors import CollectorError, DecodeError, StoreError, StoreUnreachableError
from spanproof_collector.otlp import Form, Signal, TooLargeError
from spanproof_collector.pipeline import Accepted, BusyError
from spanproof_collector.server.access import ForbiddenError, UnauthenticatedError

_STORE_RETRY_SECONDS: Final = 5.0
_UNFORESEEN: Final = "the server failed, and its log says at what: send the same request again"
_MAX_MESSAGE: Final = 1000
"""Responses are to stay small; an error that quotes its request would not."""


class Failure:
    """An error as both protocols spell it. Only what is worth sending again is called UNAVAILABLE."""

    def __init__(self, error: Exception) -> None:
        self.message = str(error)[:_MAX_MESSAGE] if isinstance(error, CollectorError) else _UNFORESEEN
        self.retry_seconds: float | None = None
        match error:
            case TooLargeError():
                self.code, self.http_status = code_pb2.RESOURCE_EXHAUSTED, 413
            case DecodeError():
                self.code, self.http_status = code_pb2.INVALID_ARGUMENT, 400
            case BusyError(retry_seconds=seconds):
                self.code, self.http_status, self.retry_seconds = code_pb2.UNAVAILABLE, 503, seconds
            case UnauthenticatedError():
                self.code, self.http_status = code_pb2.UNAUTHENTICATED, 401
            case ForbiddenError():
                self.code, self.http_status = code_pb2.PERMISSION_DENIED, 403
            case StoreError() if not isinstance(error, StoreUnreachableError):
                self.code, self.http_status = code_pb2.INTERNAL, 500  # it will not fit the next time either
            case _:
                self.code, self.http_status = code_pb2.UNAVAILABLE, 503
                self.retry_seconds = _STORE_RETRY_SECONDS

    @property
    def name(self) -> str:
        """The code as google.rpc calls it."""
        return str(code_pb2.Code.Name(self.code))

    @property
    def retry_after(self) -> str | None:
        """Whole seconds for the header ``Retry-After``."""
        return None if self.retry_seconds is None else str(math.ceil(self.retry_seconds))

    @property
    def headers(self) -> dict[str, str]:
        """What HTTP says beside the status."""
        if self.retry_after is not None:
            return {"Retry-After": self.retry_after}
        return {"WWW-Authenticate": 'Bearer realm="spanproof"'} if self.http_status == 401 else {}

    @property
    def retry_info(self) -> RetryInfo | None:
        """The detail that tells gRPC senders to try again."""
        if self.retry_seconds is None:
            return None
        delay = Duration()
        delay.FromMilliseconds(int(self.retry_seconds * 1000))
        return RetryInfo(retry_delay=delay)

    @property
    def status(self) -> Status:
        """The error as a message."""
        status = Status(code=self.code, message=self.message)
        if (info := self.retry_info) is not None:
            detail = AnyMessage()
            detail.Pack(info)
            status.details.append(detail)
        return status

    def body(self, form: Form) -> bytes:
        """Return the error in the form of the request."""
        if form == "protobuf":
            return bytes(self.status.SerializeToString())
        return json.dumps({"code": self.code, "message": self.message}).encode()


def response(signal: Signal, accepted: Accepted, form: Form = "protobuf") -> bytes:
    """Return the answer to a request that was taken, in its form; empty where there is nothing to tell.

    With a message and nothing rejected it is what OTLP calls a warning.
    """
    if not accepted.rejected and not accepted.message:
        return b"" if form == "protobuf" else b"{}"
    name = {"traces": "rejectedSpans", "logs": "rejectedLogRecords", "metrics": "rejectedDataPoints"}[signal]
    if form == "json":
        count = {name: str(accepted.rejected)} if accepted.rejected else {}
        partial = count | {"errorMessage": accepted.message}
        return json.dumps({"partialSuccess": partial}).encode()
    match signal:
        case "traces":
            traces = trace_service_pb2.ExportTraceServiceResponse()
            traces.partial_success.rejected_spans = accepted.rejected
            traces.partial_success.error_message = accepted.message
            return traces.SerializeToString()
        case "logs":
            logs = logs_service_pb2.ExportLogsServiceResponse()
            logs.partial_success.rejected_log_records = accepted.rejected
            logs.partial_success.error_message = accepted.message
            return logs.SerializeToString()
        case "metrics":
            metrics = metrics_service_pb2.ExportMetricsServiceResponse()
            metrics.partial_success.rejected_data_points = accepted.rejected
            metrics.partial_success.error_message = accepted.message
            return metrics.SerializeToString()
