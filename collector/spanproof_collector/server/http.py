"""OTLP over HTTP: protobuf and JSON on one port, answered in the form of the request."""

from collections.abc import Sequence
from typing import Final

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from spanproof_collector.errors import DecodeError
from spanproof_collector.otlp import MAX_BYTES, Form, Signal, TooLargeError, form_of
from spanproof_collector.otlp.compression import ENCODINGS, SUPPORTED
from spanproof_collector.pipeline import Arriving
from spanproof_collector.server.answers import Failure, response
from spanproof_collector.server.exporting import Body, Exporting
from spanproof_collector.server.status import Status

_CONTENT_TYPES: Final[dict[Form, str]] = {"protobuf": "application/x-protobuf", "json": "application/json"}
_SIGNALS: Final[tuple[Signal, ...]] = ("traces", "logs", "metrics")
_MAX_ECHO: Final = 100


def build_app(exporting: Exporting, status: Status, prefixes: Sequence[str] = ()) -> Starlette:
    """Return the application: ``/v1/traces``, ``/v1/logs`` and ``/v1/metrics``, and what ``Status`` serves.

    Args:
        exporting: takes the requests.
        status: answers for the server.
        prefixes: paths below which the three are served too, as ``/api/public/otel``.
    """
    return Starlette(
        routes=[
            *(
                Route(f"{prefix}/v1/{signal}", _Endpoint(exporting, signal).answer, methods=["POST"])
                for prefix in ("", *prefixes)
                for signal in _SIGNALS
            ),
            *status.routes(),
        ],
        exception_handlers={404: _not_found},
    )


class _Endpoint:
    """The path of one signal."""

    def __init__(self, exporting: Exporting, signal: Signal) -> None:
        self._exporting = exporting
        self._signal = signal

    async def answer(self, request: Request) -> Response:
        """Take an export request."""
        content_type = request.headers.get("content-type", "")
        form = form_of(content_type)
        if form is None:
            return self._unsupported("type", content_type, "application/x-protobuf or application/json")
        encoding = request.headers.get("content-encoding", "").strip().lower()
        if encoding not in ENCODINGS:
            return self._unsupported("encoding", encoding, SUPPORTED)

        peer = f"{request.client.host}:{request.client.port}" if request.client else ""

        async def body() -> Body:
            with self._exporting.arriving(peer) as arriving:
                return await _read(request, arriving), form, encoding

        answer = await self._exporting.export("http", self._signal, request.headers.get("authorization"), peer, body)
        if isinstance(answer, Failure):
            return Response(
                answer.body(form),
                status_code=answer.http_status,
                headers=answer.headers,
                media_type=_CONTENT_TYPES[form],
            )
        return Response(response(self._signal, answer, form), media_type=_CONTENT_TYPES[form])

    def _unsupported(self, what: str, given: str, instead: str) -> Response:
        self._exporting.turned_away("http", self._signal, "INVALID_ARGUMENT", f"its content {what} is not supported")
        given = repr(given[:_MAX_ECHO]) if given else "'' (none was given)"
        return PlainTextResponse(f"content {what} {given} is not supported: send {instead}\n", status_code=415)


async def _read(request: Request, arriving: Arriving) -> bytes:
    """Return the body as sent.

    Raises:
        TooLargeError: it is past the limit before it is unpacked. Nothing is read where its length says so.
        DecodeError: the sender went away.
        BusyError: too much is on its way or waits.
    """
    told = request.headers.get("content-length", "")
    if told.isdecimal():
        if int(told) > MAX_BYTES:
            raise TooLargeError(MAX_BYTES)
        arriving.expect(int(told))
    parts: list[bytes] = []
    size = 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > MAX_BYTES:
                raise TooLargeError(MAX_BYTES)
            arriving.expect(size)
            parts.append(part)
    except ClientDisconnect as error:
        raise DecodeError("the connection ended in the middle of the request") from error
    return b"".join(parts)


def _not_found(request: Request, error: Exception) -> Response:
    path = request.url.path
    text = "there is no such path: OTLP is taken at /v1/traces, /v1/logs and /v1/metrics"
    for signal in _SIGNALS:
        prefix, found, rest = path.rstrip("/").partition(f"/v1/{signal}")
        if found and not rest and prefix:
            text += f". To take it below {prefix[:_MAX_ECHO]} too, start with --http-prefix {prefix[:_MAX_ECHO]}"
    return PlainTextResponse(f"{text}\n", status_code=404)
