"""OTLP over HTTP: protobuf and JSON on one port, answered in the form of the request.

The boundary at which an error becomes an HTTP status is ``_Endpoints._export``.
"""

from typing import Final, Literal

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from spanproof_collector.errors import CollectorError
from spanproof_collector.otlp import MAX_BYTES, Form, Signal, TooLargeError, form_of
from spanproof_collector.otlp.compression import ENCODINGS
from spanproof_collector.pipeline import Accepted, Pipeline
from spanproof_collector.server.answers import Failure, response

_CONTENT_TYPES: Final[dict[Form, str]] = {"protobuf": "application/x-protobuf", "json": "application/json"}


def build_app(pipeline: Pipeline) -> Starlette:
    """Return the application: ``/v1/traces``, ``/v1/logs``, ``/v1/metrics``, ``/health`` and ``/ready``."""
    endpoints = _Endpoints(pipeline)
    return Starlette(
        routes=[
            Route("/v1/traces", endpoints.traces, methods=["POST"]),
            Route("/v1/logs", endpoints.logs, methods=["POST"]),
            Route("/v1/metrics", endpoints.metrics, methods=["POST"]),
            Route("/health", endpoints.health),
            Route("/ready", endpoints.ready),
        ]
    )


class _Endpoints:
    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    async def traces(self, request: Request) -> Response:
        return await self._export("traces", request)

    async def logs(self, request: Request) -> Response:
        return await self._export("logs", request)

    async def metrics(self, request: Request) -> Response:
        form = form_of(request.headers.get("content-type", ""))
        if form is None:
            return _unsupported_type(request)
        self._pipeline.counts["metrics_dropped"] += 1
        return _ok("metrics", Accepted(), form)

    async def health(self, request: Request) -> Response:
        """The process answers; what it has counted since its start."""
        return JSONResponse({"status": "ok", "counts": dict(self._pipeline.counts)})

    async def ready(self, request: Request) -> Response:
        """The process takes requests, and the store took the last ones."""
        ready = self._pipeline.ready
        return JSONResponse({"ready": ready}, status_code=200 if ready else 503)

    async def _export(self, signal: Literal["traces", "logs"], request: Request) -> Response:
        form = form_of(request.headers.get("content-type", ""))
        if form is None:
            return _unsupported_type(request)
        encoding = request.headers.get("content-encoding", "").strip().lower()
        if encoding not in ENCODINGS:
            return PlainTextResponse(
                f"content encoding {encoding} is not supported: send gzip, deflate or none", status_code=415
            )
        try:
            body = await _body(request)
            accepted = await self._pipeline.accept(signal, body, form, encoding)
        except ClientDisconnect:
            return Response(status_code=400)
        except CollectorError as error:
            failure = Failure(error)
            headers = {} if failure.retry_after is None else {"Retry-After": failure.retry_after}
            return Response(
                failure.body(form),
                status_code=failure.http_status,
                headers=headers,
                media_type=_CONTENT_TYPES[form],
            )
        return _ok(signal, accepted, form)


async def _body(request: Request) -> bytes:
    """Return the body as sent.

    Raises:
        TooLargeError: it is past the limit before it is unpacked.
    """
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BYTES:
            raise TooLargeError(MAX_BYTES)
        parts.append(part)
    return b"".join(parts)


def _ok(signal: Signal, accepted: Accepted, form: Form) -> Response:
    return Response(response(signal, accepted, form), media_type=_CONTENT_TYPES[form])


def _unsupported_type(request: Request) -> Response:
    given = request.headers.get("content-type", "none")
    return PlainTextResponse(
        f"content type {given} is not supported: send application/x-protobuf or application/json", status_code=415
    )
