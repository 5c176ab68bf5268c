"""Receivers of the tests, and what they were sent."""

import functools
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager

import grpc
import pytest
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanproof_instrumentation import barrier, content
from spanproof_instrumentation.label_processor import LabelProcessor


@functools.cache
def _exporter() -> InMemorySpanExporter:
    """The spans of this process, whichever test asks: a tracer provider can be set only once."""
    kept = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(LabelProcessor({}))
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace.set_tracer_provider(provider)
    return kept


def fresh_exporter(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """Return the spans of this process, none yet, with content captured and nothing told."""
    kept = _exporter()
    kept.clear()
    monkeypatch.setattr(content, "_chosen", True)
    monkeypatch.setattr(barrier, "_told", set())
    return kept


class Sink:
    """Requests as they came, and the address they came to."""

    def __init__(self) -> None:
        self.address = ""
        self.requests: list[ExportTraceServiceRequest] = []
        self.paths: list[str] = []

    def spans(self) -> list[Span]:
        """Every span that came, in order of start."""
        found = [span for request in self.requests for span in spans_in(request)]
        return sorted(found, key=lambda span: span.start_time_unix_nano)

    def resource(self) -> dict[str, str]:
        """The resource of the first request."""
        return texts(self.requests[0].resource_spans[0].resource.attributes)


@contextmanager
def grpc_receiver() -> Iterator[Sink]:
    """An OTLP/gRPC receiver that keeps what arrives."""
    sink = Sink()

    class Service(TraceServiceServicer):
        def Export(  # noqa: N802  # the protocol's name
            self, request: ExportTraceServiceRequest, context: grpc.ServicerContext
        ) -> ExportTraceServiceResponse:
            sink.requests.append(request)
            return ExportTraceServiceResponse()

    server = grpc.server(futures.ThreadPoolExecutor(2))
    add_TraceServiceServicer_to_server(Service(), server)  # type: ignore[no-untyped-call]  # generated without types
    sink.address = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield sink
    server.stop(None).wait()


def spans_in(request: ExportTraceServiceRequest) -> Iterator[Span]:
    """The spans of a request, which may be changed in place."""
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            yield from scope.spans


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
