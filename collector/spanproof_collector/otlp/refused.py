"""A span or log record that cannot be read, found while the rest of its request was."""

from typing import Final, Generic, NamedTuple, TypeVar

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

Request = TypeVar("Request", ExportTraceServiceRequest, ExportLogsServiceRequest)

MENDED: Final = "a text of a resource or scope is not UTF-8: what cannot be read of it was replaced by U+FFFD"


class Refused(NamedTuple):
    """Why one span or record cannot be read, and its bytes as they came."""

    reason: str
    body: bytes


class Decoded(NamedTuple, Generic[Request]):
    """A request with what could be read of it, and what could not.

    ``warning`` says what was changed so that the rest could be kept, and is empty where nothing was.
    """

    request: Request
    refused: tuple[Refused, ...] = ()
    warning: str = ""


def around_unreadable(why: str) -> str:
    """Return the reason for which every span or record of a group is refused."""
    return f"its resource or scope cannot be read: {why}"
