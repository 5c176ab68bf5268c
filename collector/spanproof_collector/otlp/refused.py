"""A span or log record that cannot be read, found while the rest of its request was."""

from typing import Generic, NamedTuple, TypeVar

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

Request = TypeVar("Request", ExportTraceServiceRequest, ExportLogsServiceRequest)


class Refused(NamedTuple):
    """Why one span or record cannot be read, and its bytes as they came."""

    reason: str
    body: bytes


class Decoded(NamedTuple, Generic[Request]):
    """A request with what could be read of it, and what could not."""

    request: Request
    refused: tuple[Refused, ...] = ()
