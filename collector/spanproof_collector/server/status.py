"""What a server tells of itself over HTTP: that it lives, that it is ready, what it counts, what it has of a trace."""

import importlib.metadata
import re
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from spanproof_collector.errors import CollectorError
from spanproof_collector.server.access import Access
from spanproof_collector.server.answers import Failure
from spanproof_collector.server.metrics import Metrics
from spanproof_collector.server.readiness import Readiness
from spanproof_collector.store import Store

_TRACE_ID: Final = re.compile(r"[0-9a-f]{32}")


class Status:
    """``/healthz`` and ``/readyz`` for everybody; ``/metrics`` and ``/api/traces/ID`` for who may read."""

    def __init__(self, readiness: Readiness, access: Access, metrics: Metrics, store: Store) -> None:
        self._readiness = readiness
        self._access = access
        self._metrics = metrics
        self._store = store

    def routes(self) -> list[Route]:
        """Return the paths."""
        return [
            Route("/healthz", self._healthz),
            Route("/readyz", self._readyz),
            Route("/metrics", self._show_metrics),
            Route("/api/traces/{trace_id}", self._show_trace),
        ]

    async def _healthz(self, request: Request) -> Response:
        """The process answers."""
        return JSONResponse({"status": "ok", "server": "spanproof", "version": importlib.metadata.version("spanproof")})

    async def _readyz(self, request: Request) -> Response:
        """Requests are taken, or why they are not."""
        reason = await self._readiness.obstacle()
        if reason:
            return JSONResponse({"ready": False, "reason": reason}, status_code=503)
        return JSONResponse({"ready": True})

    async def _show_metrics(self, request: Request) -> Response:
        if refused := await self._refused(request):
            return refused
        text, content_type = await self._metrics.exposition(request.headers.get("accept", ""))
        return Response(text, headers={"Content-Type": content_type})

    async def _show_trace(self, request: Request) -> Response:
        """The spans of a trace by id and name, so that a sender can see that they arrived."""
        if refused := await self._refused(request):
            return refused
        trace_id = request.path_params["trace_id"].lower()
        if not _TRACE_ID.fullmatch(trace_id):
            return JSONResponse({"message": "a trace id is 32 hex digits"}, status_code=400)
        project = request.query_params.get("project", "default")
        try:
            found = await run_in_threadpool(self._store.read_traces, [(project, trace_id)])
        except CollectorError as error:
            return _answer(Failure(error))
        records = found.get((project, trace_id))
        if records is None:
            message = f"there is no trace {trace_id} in the project {project!r}"
            return JSONResponse({"message": message}, status_code=404)
        return JSONResponse(
            {
                "trace_id": trace_id,
                "project": project,
                "spans": [{"span_id": span.span_id, "name": span.name} for span in records.spans],
                "log_records": len(records.logs),
            }
        )

    async def _refused(self, request: Request) -> Response | None:
        try:
            await self._access.check(request.headers.get("authorization"), "read")
        except CollectorError as error:
            return _answer(Failure(error))
        return None


def _answer(failure: Failure) -> Response:
    return Response(
        failure.body("json"),
        status_code=failure.http_status,
        headers=failure.headers,
        media_type="application/json",
    )
