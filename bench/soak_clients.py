"""Senders of the soak: processes that send the same requests over and over, each time under trace ids of their own."""

import http.client
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from typing import Final
from urllib.parse import urlsplit

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from bench.traffic import requests

_METHOD: Final = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_SECONDS: Final = 60
_REST: Final = 0.1
"""Seconds before a request that was not taken is sent again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What one sender came to."""

    acknowledged: int
    """Spans."""

    refused: int
    """Requests that were turned away, and then sent again."""

    slowest: float
    """Seconds from a request to its acknowledgement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Send until a moment of the monotonic clock, at so many spans a second or, for ``None``, as fast as can be."""

    until: float
    rate: float | None


class Stamped:
    """A request whose trace ids can be changed without encoding it again."""

    def __init__(self, body: bytes) -> None:
        spans = ExportTraceServiceRequest.FromString(body).resource_spans[0].scope_spans[0].spans
        self.spans = len(spans)
        self._body = bytearray(body)
        self._places: list[tuple[int, bytes]] = []
        at = 0
        for span in spans:
            at = self._body.index(b"\x0a\x10" + span.trace_id, at) + 2
            self._places.append((at, span.trace_id))

    def under(self, number: int) -> bytes:
        """Return the request with each trace id made another one by this number."""
        stamp = number.to_bytes(8, "big")
        changed: dict[bytes, bytes] = {}
        for at, trace_id in self._places:
            new = changed.get(trace_id)
            if new is None:
                new = changed[trace_id] = bytes(a ^ b for a, b in zip(trace_id[:8], stamp, strict=True)) + trace_id[8:]
            self._body[at : at + 16] = new
        return bytes(self._body)


def work(
    kind: str,
    endpoint: str,
    number: int,
    per_request: int,
    tasks: "Connection[Sent | None, Task]",
    acknowledged: "Synchronized[int]",
) -> None:
    """Do tasks until there are no more. Runs in a process of its own.

    Args:
        kind: ``grpc`` or ``http``.
        endpoint: where to.
        number: of this sender; makes its spans different from those of the others.
        per_request: spans of one request.
        tasks: gives tasks, takes what they came to; ``None`` says that this sender is ready.
        acknowledged: counts spans for whoever looks.
    """
    pool = [Stamped(body) for body in requests(per_request * 8, per_request, seed=number + 1)]
    send = _over_grpc(endpoint) if kind == "grpc" else _over_http(endpoint)
    tasks.send(None)
    turn = 0
    while True:
        try:
            task = tasks.recv()
        except EOFError:
            return
        done = refused = 0
        slowest = 0.0
        began = time.monotonic()
        while time.monotonic() < task.until:
            request = pool[turn % len(pool)]
            body = request.under(turn // len(pool) << 8 | number)
            turn += 1
            if task.rate is not None:
                time.sleep(max(0.0, began + done / task.rate - time.monotonic()))
            asked = time.monotonic()
            while not send(body):
                refused += 1
                time.sleep(_REST)
            slowest = max(slowest, time.monotonic() - asked)
            done += request.spans
            acknowledged.value += request.spans
        tasks.send(Sent(acknowledged=done, refused=refused, slowest=slowest))


def _over_grpc(endpoint: str) -> Callable[[bytes], bool]:
    call = grpc.insecure_channel(urlsplit(endpoint).netloc).unary_unary(_METHOD)

    def send(body: bytes) -> bool:
        try:
            call(body, timeout=_SECONDS)
        except grpc.RpcError:
            return False
        return True

    return send


def _over_http(endpoint: str) -> Callable[[bytes], bool]:
    where = urlsplit(endpoint)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=_SECONDS)

    def send(body: bytes) -> bool:
        try:
            connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"})
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            return False
        return answer.status == 200

    return send
