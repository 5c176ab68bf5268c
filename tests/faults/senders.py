"""Four ways of sending: the SDK's exporters over gRPC and HTTP, gzipped protobuf and JSON by hand."""

import gzip
import http.client
import threading
from collections.abc import Sequence
from typing import Protocol
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from tests.fuzz.json_form import spell

_SECONDS = 20
SENDERS = 4


class Sender(Protocol):
    """Sends spans to one server."""

    def send(self, spans: Sequence[ReadableSpan]) -> bool:
        """Return whether they were acknowledged."""

    def give_up(self) -> None:
        """Try no more, from another thread."""

    def close(self) -> None:
        """Let go of the connection, when nothing is being sent."""


def make_sender(number: int, grpc: str, http: str) -> Sender:
    """Return a sender to a server."""
    match number % SENDERS:
        case 0:
            return _Exporting(GrpcExporter(endpoint=grpc, insecure=True, timeout=_SECONDS))
        case 1:
            return _Exporting(HttpExporter(endpoint=f"{http}/v1/traces", timeout=_SECONDS))
        case 2:
            return _Posting(http, {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"})
        case _:
            return _Posting(http, {"Content-Type": "application/json"})


class _Exporting:
    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._closing = threading.Lock()
        self._closed = False

    def send(self, spans: Sequence[ReadableSpan]) -> bool:
        try:
            return self._exporter.export(spans) is SpanExportResult.SUCCESS
        except ValueError:  # gRPC, of a channel that was closed meanwhile
            return False

    def give_up(self) -> None:
        with self._closing:
            if not self._closed:
                self._closed = True
                self._exporter.shutdown()

    def close(self) -> None:
        self.give_up()


class _Posting:
    def __init__(self, endpoint: str, headers: dict[str, str]) -> None:
        self._headers = headers
        where = urlsplit(endpoint)
        self._connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=_SECONDS)

    def send(self, spans: Sequence[ReadableSpan]) -> bool:
        request = encode_spans(spans)
        zipped = "Content-Encoding" in self._headers
        body = gzip.compress(request.SerializeToString()) if zipped else spell(request)
        try:
            self._connection.request("POST", "/v1/traces", body, self._headers)
            answer = self._connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            return False
        return answer.status == 200

    def give_up(self) -> None:
        """Nothing waits here but for an answer, which a dead server ends."""

    def close(self) -> None:
        self._connection.close()
