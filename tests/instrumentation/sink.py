"""Receivers of the tests, what they were sent, and the processes that send."""

import functools
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent import futures
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

import grpc
import pytest
from opentelemetry import trace
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanproof_instrumentation import barrier, content
from spanproof_instrumentation.label_processor import LabelProcessor

SPANPROOF_RUN: Final = (sys.executable, "-W", "error", "-m", "spanproof_instrumentation", "run")


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
        self.log_requests: list[ExportLogsServiceRequest] = []
        self.paths: list[str] = []
        self.bodies: list[bytes] = []
        self.status = 200
        self.delay = 0.0
        """Seconds that a request takes."""

        self.arrived = threading.Event()
        """Set with the first request."""

        self.released = threading.Event()
        """While it is not set, no request is answered."""

        self.released.set()

    def take(self, path: str, body: bytes) -> int:
        """Keep a request; return the status to answer with."""
        self.arrived.set()
        self.released.wait()
        if self.delay:
            threading.Event().wait(self.delay)
        if self.status == 200:
            self.paths.append(path)
            self.bodies.append(body)
            if path == "/v1/logs":
                self.log_requests.append(ExportLogsServiceRequest.FromString(body))
            else:
                self.requests.append(ExportTraceServiceRequest.FromString(body))
        return self.status

    def spans(self) -> list[Span]:
        """Every span that came, in order of start."""
        found = [span for request in self.requests for span in spans_in(request)]
        return sorted(found, key=lambda span: span.start_time_unix_nano)

    def names(self) -> list[str]:
        """The names of the spans that came, sorted."""
        return sorted(span.name for span in self.spans())

    def span(self, name: str) -> Span:
        """The only span of a name."""
        (found,) = [span for span in self.spans() if span.name == name]
        return found

    def records(self) -> list[LogRecord]:
        """Every log record that came."""
        return [
            record
            for request in self.log_requests
            for resource in request.resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        ]

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


@contextmanager
def http_receiver() -> Iterator[Sink]:
    """An OTLP/HTTP receiver that keeps what arrives."""
    sink = Sink()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:  # the standard library's name
            body = self.rfile.read(int(self.headers["content-length"]))
            self.send_response(sink.take(self.path, body))
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the standard library's name
            pass

    class Server(ThreadingHTTPServer):
        block_on_close = False  # a client that was killed leaves its connection open

        def handle_error(self, request: object, client_address: object) -> None:
            pass  # a client that gave up waiting is part of some tests

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    sink.address = f"http://127.0.0.1:{server.server_address[1]}"
    yield sink
    sink.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


def clean_environment() -> dict[str, str]:
    """The environment without what speaks to OpenTelemetry or to us."""
    ours = ("OTEL_", "SPANPROOF_", "BAGGAGE", "TRACEPARENT", "ANTHROPIC_", "OPENINFERENCE_", "PYTHONPATH")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def run(program: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program in a Python process of its own, without the OTEL_ variables of this one."""
    return _run([sys.executable, "-W", "error", "-c", program], environment)


def run_agent(
    program: str, address: str, *options: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a Python program under ``spanproof run``."""
    return _run(agent_command(program, address, *options), environment)


def agent_command(program: str, address: str, *options: str) -> list[str]:
    """The command line of a Python program under ``spanproof run``."""
    agent = [sys.executable, "-W", "error", "-c", textwrap.dedent(program)]
    return [*SPANPROOF_RUN, "--endpoint", address, *options, "--", *agent]


def spanproof_run(*arguments: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``spanproof run`` with these arguments."""
    return _run([*SPANPROOF_RUN, *arguments], environment)


def _run(command: Sequence[str], environment: Mapping[str, str] | None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=clean_environment() | dict(environment or {}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
