import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.instrumentation.sink import Sink, fresh_exporter, grpc_receiver


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """The spans of one test, content captured, nothing told yet."""
    return fresh_exporter(monkeypatch)


@pytest.fixture
def http_sink() -> Iterator[Sink]:
    """An OTLP/HTTP receiver that keeps what arrives."""
    sink = Sink()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the standard library's name
            body = self.rfile.read(int(self.headers["content-length"]))
            sink.requests.append(ExportTraceServiceRequest.FromString(body))
            sink.paths.append(self.path)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the standard library's name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    sink.address = f"http://127.0.0.1:{server.server_address[1]}"
    yield sink
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def grpc_sink() -> Iterator[Sink]:
    """An OTLP/gRPC receiver that keeps what arrives."""
    with grpc_receiver() as sink:
        yield sink
