"""What a receiver of the tests was sent."""

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Sink:
    """Requests as they came, and the address they came to."""

    def __init__(self) -> None:
        self.address = ""
        self.requests: list[ExportTraceServiceRequest] = []
        self.paths: list[str] = []

    def spans(self) -> list[Span]:
        """Every span that came, in order of start."""
        found = [
            span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
        return sorted(found, key=lambda span: span.start_time_unix_nano)

    def resource(self) -> dict[str, str]:
        """The resource of the first request."""
        return texts(self.requests[0].resource_spans[0].resource.attributes)


def texts(attributes: Iterable[KeyValue]) -> dict[str, str]:
    """Attributes that are texts."""
    return {pair.key: pair.value.string_value for pair in attributes}


def run(program: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program in a Python process of its own, without the OTEL_ variables of this one."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=clean | dict(environment or {}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
