"""Where agents send: one address a trial, and behind all of them the collector.

Every span that comes to a trial's address is labeled as that trial's, whatever SDK sent it and whatever it said of
itself, and is acknowledged when the collector has acknowledged it. When a trial is over its address is closed: what
comes later is refused, so the evidence on which a verdict rests does not change under it.

``/TOKEN/v1/traces`` and ``/TOKEN/v1/logs`` are OTLP over HTTP. ``/TOKEN/call`` is told of each call of a tool that
ended, and answers when the changes of the world that follow it are made (``harness.changing``).
"""

import json
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Final, Self

import urllib3
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanproof_collector.errors import DecodeError
from spanproof_collector.otlp.compression import MAX_BYTES, unpack
from spanproof_collector.otlp.decode import decode_logs, decode_traces, form_of
from spanproof_instrumentation import semconv

_PROTOBUF: Final = "application/x-protobuf"
_SECONDS: Final = 30.0

Labels = Mapping[str, str | int]


@dataclass(kw_only=True)
class Address:
    """One sender's address: of the agent of a trial, or of its user."""

    token: str
    labels: Labels
    by_user: bool = False
    called: Callable[[], None] = lambda: None
    """Told of each call of a tool that ended, before whoever made it goes on."""

    came: threading.Event = field(default_factory=threading.Event)
    """Set whenever spans came."""

    spans: int = 0
    broken: str = ""
    """What went wrong behind it: then nobody knows whether all of the evidence is there."""

    closed: bool = False
    busy: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)


class Intake:
    """Listens on loopback while its block lasts."""

    def __init__(self, collector: Callable[[], str], headers: Mapping[str, str] | None = None) -> None:
        self._collector = collector
        self._headers = dict(headers or {})
        self._addresses: dict[str, Address] = {}
        self._pool = urllib3.PoolManager(maxsize=16, retries=False, timeout=urllib3.Timeout(_SECONDS))
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._pool.clear()

    def open(self, labels: Labels, *, by_user: bool = False, called: Callable[[], None] = lambda: None) -> Address:
        """Return a new address."""
        made = Address(token=secrets.token_hex(16), labels=dict(labels), by_user=by_user, called=called)
        self._addresses[made.token] = made
        return made

    def url(self, address: Address) -> str:
        """Return what ``OTEL_EXPORTER_OTLP_ENDPOINT`` takes."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/{address.token}"

    def close(self, address: Address) -> None:
        """Take nothing more there; what was being taken has its answer when this returns."""
        with address.changed:
            address.closed = True
            address.changed.wait_for(lambda: address.busy == 0, timeout=2 * _SECONDS)
            if address.busy:
                address.broken = address.broken or "a request was not answered"
        self._addresses.pop(address.token, None)

    def take(self, address: Address, signal: str, body: bytes, content_type: str) -> tuple[int, bytes, str]:
        """Return the collector's answer to a request, labeled."""
        form = form_of(content_type)
        if form is None:
            return 415, b"send application/x-protobuf or application/json", "text/plain"
        try:
            if signal == "traces":
                request = decode_traces(body, form).request
                _label_spans(request, address)
                sent = request.SerializeToString()
                address.spans += sum(len(s.spans) for r in request.resource_spans for s in r.scope_spans)
            else:
                records = decode_logs(body, form).request
                for group in records.resource_logs:
                    _set(group.resource.attributes, address.labels)
                sent = records.SerializeToString()
        except DecodeError as error:
            return 400, str(error).encode(), "text/plain"
        status, answer = self.send(signal, sent)
        if status != 200:
            address.broken = f"the collector answered {status or 'nothing'}"
            return status or 503, answer, "text/plain"
        address.came.set()
        return (200, answer, _PROTOBUF) if form == "protobuf" else (200, b"{}", "application/json")

    def send(self, signal: str, body: bytes) -> tuple[int, bytes]:
        """Hand a request to the collector; return its status, 0 where nobody answered, and its answer."""
        try:
            response = self._pool.request(
                "POST",
                f"{self._collector()}/v1/{signal}",
                body=body,
                headers={**self._headers, "Content-Type": _PROTOBUF},
            )
        except (urllib3.exceptions.HTTPError, OSError) as error:
            return 0, type(error).__name__.encode()
        return response.status, response.data

    def find(self, token: str) -> Address | None:
        """Return the address of a token."""
        return self._addresses.get(token)


def _label_spans(request: ExportTraceServiceRequest, address: Address) -> None:
    """Label every span as this trial's, and its calls of tools as the agent's or the user's."""
    for group in request.resource_spans:
        _set(group.resource.attributes, address.labels)
        for scope in group.scope_spans:
            if address.by_user:
                kept = [span for span in scope.spans if _is_call(span)]
                del scope.spans[:]
                scope.spans.extend(kept)
            for span in scope.spans:
                _drop(span.attributes, {*address.labels, semconv.TOOL_REQUESTOR})
                if address.by_user:
                    _set(span.attributes, {semconv.TOOL_REQUESTOR: "user"})


def _is_call(span: Span) -> bool:
    return any(one.key == semconv.OPERATION and one.value.string_value == "execute_tool" for one in span.attributes)


def _drop(attributes: object, keys: set[str]) -> None:
    """Remove attributes by key."""
    for place in reversed(range(len(attributes))):  # type: ignore[arg-type]
        if attributes[place].key in keys:  # type: ignore[index]
            del attributes[place]  # type: ignore[attr-defined]


def _set(attributes: object, values: Labels) -> None:
    """Set attributes, in place of others of that key."""
    _drop(attributes, set(values))
    attributes.extend(pairs(values))  # type: ignore[attr-defined]


def pairs(values: Labels) -> Iterable[KeyValue]:
    """Yield values as attributes on the wire."""
    for key, value in values.items():
        told = AnyValue(int_value=value) if isinstance(value, int) else AnyValue(string_value=value)
        yield KeyValue(key=key, value=told)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, intake: Intake) -> None:
        self.intake = intake
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a sender that was killed in the middle of a request is what a run is about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class calls it so
        """Say nothing."""

    def do_POST(self) -> None:  # the base class calls it so
        """Take a request of a sender."""
        _, token, *rest = self.path.split("?")[0].split("/")
        address = self.server.intake.find(token)
        try:
            length = int(self.headers.get("Content-Length", "0"))
        except ValueError:
            length = -1
        if not 0 <= length <= MAX_BYTES:
            self.close_connection = True
            self._answer(413, b"too large", "text/plain")
            return
        body = self.rfile.read(length)
        if address is None:
            self._answer(410, b"this trial is over", "text/plain")
            return
        with address.changed:
            if address.closed:
                self._answer(410, b"this trial is over", "text/plain")
                return
            address.busy += 1
        try:
            self._answer(*self._said(address, rest, body))
        finally:
            with address.changed:
                address.busy -= 1
                address.changed.notify_all()

    def _said(self, address: Address, rest: list[str], body: bytes) -> tuple[int, bytes, str]:
        match rest:
            case ["v1", ("traces" | "logs") as signal]:
                try:
                    unpacked = unpack(body, self.headers.get("Content-Encoding", ""))
                except DecodeError as error:
                    return 400, str(error).encode(), "text/plain"
                return self.server.intake.take(address, signal, unpacked, self.headers.get("Content-Type", ""))
            case ["v1", "metrics"]:
                return 200, b"", _PROTOBUF  # nothing of a trial is in them
            case ["call"]:
                if not address.by_user:
                    address.called()
                return 200, json.dumps({}).encode(), "application/json"
            case _:
                return 404, b"there is nothing here", "text/plain"

    def _answer(self, status: int, body: bytes, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
