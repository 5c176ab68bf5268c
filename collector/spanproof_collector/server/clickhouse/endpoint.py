"""Listens on loopback, and lets in who has the token."""

import asyncio
import base64
import binascii
import contextlib
import hmac
import re
import secrets
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import uvicorn
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from spanproof_collector.errors import ServeError
from spanproof_collector.server.clickhouse.failures import AUTHENTICATION_FAILED, failure
from spanproof_collector.server.clickhouse.request import StatementRequest
from spanproof_collector.server.clickhouse.statements import ACCESS_DENIED
from spanproof_collector.store import Store
from spanproof_collector.store.engine import Engine

_THREADS: Final = 16
_LOOPBACK: Final = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?")


class ClickHouseEndpoint:
    """Serves a store's embedded engine on loopback. ``token`` is the password of any user, or a bearer token."""

    def __init__(self, store: Store, *, host: str = "127.0.0.1", port: int = 0, token: str | None = None) -> None:
        if store.engine is None:
            raise ServeError(f"{store.address} is not held by this process, so it is not served here either")
        self.host = host
        self.port = port
        self.token = token if token is not None else secrets.token_urlsafe(32)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="clickhouse-http")
        self._app = _Application(store.engine, self.token, self._threads)
        self._server: _Server | None = None
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Listen; on return the port is known and answers.

        Raises:
            ServeError: the port is taken.
        """
        try:
            listener = socket.create_server((self.host, self.port))
        except OSError as error:
            raise ServeError(
                f"cannot listen on {self.host}:{self.port}: {error}. Is another server running?"
            ) from error
        # asyncio does this only for sockets that name their protocol; without it an answer waits for 40 ms.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port = listener.getsockname()[1]
        config = uvicorn.Config(
            self._app,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=5,
        )
        self._server = _Server(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[listener]))
        await self._server.ready.wait()

    async def stop(self) -> None:
        """Finish what runs, for some seconds, and stop. May be called again."""
        if self._server is None or self._serving is None:
            return
        self._server.should_exit = True
        self._server.leaving.set()
        await self._serving
        self._server = self._serving = None
        self._threads.shutdown(wait=True)


class _Server(uvicorn.Server):
    """uvicorn in somebody else's loop: signals are not its business."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()
        self.leaving = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def main_loop(self) -> None:
        # uvicorn's own wakes up ten times a second, to renew a header that is switched off here.
        await self.leaving.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Application:
    """The ASGI application."""

    def __init__(self, engine: Engine, token: str, threads: ThreadPoolExecutor) -> None:
        self._engine = engine
        self._token = token.encode()
        self._threads = threads
        session = engine.session()
        names = session.query("SELECT name FROM system.table_functions", "TabSeparated").bytes().decode()
        session.close()
        self._table_functions = frozenset(names.lower().split())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            response = await self._respond(Request(scope, receive))
            await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        # A page in a browser can send a request here; it can neither read the answer, nor set the header with the
        # token, nor hide where it comes from.
        if not _LOOPBACK.fullmatch(request.headers.get("host", "")) or "origin" in request.headers:
            return failure(ACCESS_DENIED, "Only clients of this machine are served", "")
        if request.url.path == "/ping":
            return Response("Ok.\n", media_type="text/plain")
        if not self._trusted(request.headers):
            why = "Authentication failed: the password is not the token of this endpoint. (AUTHENTICATION_FAILED)"
            return failure(AUTHENTICATION_FAILED, why, "")
        if request.method not in ("GET", "POST") or request.url.path != "/":
            return Response("There is no such page\n", status_code=404)
        return await StatementRequest(request, self._engine, self._table_functions, self._threads).answer()

    def _trusted(self, headers: Headers) -> bool:
        given = headers.get("x-clickhouse-key", "").encode()
        scheme, _, credentials = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            given = credentials.strip().encode()
        elif scheme.lower() == "basic":
            with contextlib.suppress(binascii.Error, ValueError):
                given = base64.b64decode(credentials, validate=True).partition(b":")[2]
        return hmac.compare_digest(given, self._token)
