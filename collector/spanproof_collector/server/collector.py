"""The listeners and the pipeline over an open store, on one event loop."""

import asyncio
import contextlib
import os
import socket
import ssl
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import grpc.aio
import uvicorn
from starlette.types import ASGIApp

from spanproof_collector.pipeline import Pipeline
from spanproof_collector.retention import keep_retention
from spanproof_collector.server.access import REFRESH_SECONDS, Access
from spanproof_collector.server.clickhouse import ClickHouseEndpoint
from spanproof_collector.server.exporting import Exporting
from spanproof_collector.server.grpc import Health, build_server
from spanproof_collector.server.http import build_app
from spanproof_collector.server.listening import Addresses, listen
from spanproof_collector.server.metrics import Metrics
from spanproof_collector.server.readiness import Readiness
from spanproof_collector.server.status import Status
from spanproof_collector.server.tls import Tls
from spanproof_collector.store import Query, Serving, Store, advertise, withdraw
from spanproof_collector.store.damage import DamageCheck
from spanproof_collector.store.tokens import read_tokens

_GRACE_SECONDS: Final = 2
"""For bodies on their way: when the listeners close, what was taken has its answer."""

_KEEP_ALIVE_SECONDS: Final = 75
"""Longer than the five seconds between two batches of an exporter, which would else find its connection closed."""


class Collector:
    """A server. Start and stop it on one event loop; the store is opened before and closed after."""

    def __init__(
        self,
        store: Store,
        host: str,
        grpc_port: int,
        http_port: int,
        pipeline: Pipeline | None = None,
        *,
        tls: Tls | None = None,
        demand_tokens: bool = False,
        http_prefixes: Sequence[str] = (),
    ) -> None:
        self.pipeline = pipeline or Pipeline(store)
        self.access = Access(partial(read_tokens, store), required=demand_tokens)
        self._store = store
        self._host = host
        self._grpc_port = grpc_port
        self._http_port = http_port
        self._tls = tls
        self._http_prefixes = http_prefixes
        self._readiness = Readiness(self.pipeline, partial(store.rows, Query.READ_SCHEMA_VERSION))
        self._health: Health | None = None
        self._endpoint: ClickHouseEndpoint | None = None
        self._grpc: grpc.aio.Server | None = None
        self._http: _HttpServer | None = None
        self._http_task: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._damage: DamageCheck | None = None
        self._checking: asyncio.Task[None] | None = None
        self._retaining: asyncio.Task[None] | None = None

    async def start(self) -> Addresses:
        """Listen, and return where.

        Raises:
            ServeError: a port is taken, or a file for TLS cannot be used.
        """
        try:
            if self._tls is not None:
                self._tls.check()
            await self.access.refresh()
            self.pipeline.start()
            metrics = Metrics(self.pipeline, self._store)
            exporting = Exporting(self.pipeline, self.access, metrics)
            status = Status(self._readiness, self.access, metrics, self._store)
            listener = listen(self._host, self._http_port)
            self._http_port = listener.getsockname()[1]
            self._http = _HttpServer(build_app(exporting, status, self._http_prefixes), self._tls)
            self._http_task = asyncio.create_task(self._http.serve(sockets=[listener]))
            self._health = Health(self._readiness)
            self._grpc, self._grpc_port = build_server(exporting, self._health, self._host, self._grpc_port, self._tls)
            await self._grpc.start()
            await self._http.ready.wait()
            where = Addresses(
                host=self._host,
                grpc_port=self._grpc_port,
                http_port=self._http_port,
                store=self._store.address,
                tls=self._tls is not None,
                tokens=self.access.required,
            )
            await self._serve_store(where.http)
            self._looking = asyncio.create_task(self._look_after(self._health))
            self._retaining = asyncio.create_task(keep_retention(self._store))
        except BaseException:
            await self.stop()
            raise
        return where

    async def stop(self) -> bool:
        """Stop taking requests, commit and answer those that were taken, and let go of the ports.

        Returns False where the store did not take everything in time; what it did not take was not acknowledged.
        """
        for task in (self._looking, self._retaining):
            if task is not None:
                task.cancel()
        if self._health is not None:
            await self._health.enter_graceful_shutdown()
        # The pipeline first: what comes from now on is told to come again, and no listener has to wait for the store.
        drained = await self.pipeline.stop()
        if self._http is not None:
            self._http.should_exit = True
        if self._grpc is not None:
            await self._grpc.stop(_GRACE_SECONDS)
        if self._http_task is not None:
            await self._http_task
        self.access.close()
        self._readiness.close()
        if self._damage is not None and self._checking is not None:
            self._damage.stop()
            await self._checking
        if self._endpoint is not None:
            if (folder := self._store.embedded_path) is not None:
                withdraw(folder)
            await self._endpoint.stop()
        return drained

    async def _serve_store(self, otlp: str) -> None:
        folder = self._store.embedded_path
        if folder is None:
            return
        self._endpoint = ClickHouseEndpoint(self._store)
        await self._endpoint.start()
        if self._store.engine is not None:
            self._damage = DamageCheck(self._store.engine)
            self._checking = asyncio.create_task(asyncio.to_thread(self._damage.run))
        serving = Serving(pid=os.getpid(), port=self._endpoint.port, token=self._endpoint.token, otlp=otlp)
        advertise(folder, serving)

    async def _look_after(self, health: Health) -> None:
        """Learn of tokens that were removed, and tell who watches the health."""
        while True:
            await health.look()
            await asyncio.sleep(REFRESH_SECONDS)
            await self.access.refresh()


class _HttpServer(uvicorn.Server):
    """uvicorn in a loop that it shares: signals are not its business."""

    def __init__(self, app: ASGIApp, tls: Tls | None) -> None:
        config = uvicorn.Config(
            app,
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        super().__init__(config)
        self.ready = asyncio.Event()
        if tls is not None:
            config.ssl_certfile = tls.certificate
            config.ssl_keyfile = tls.key
            if tls.client_authority is not None:
                config.ssl_ca_certs = str(tls.client_authority)
                config.ssl_cert_reqs = ssl.CERT_REQUIRED

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
