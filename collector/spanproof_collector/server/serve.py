"""One process that takes OTLP over gRPC and HTTP, holds the store, and answers for it to the other commands."""

import asyncio
import contextlib
import ipaddress
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import grpc.aio
import uvicorn

from spanproof_collector.errors import ServeError
from spanproof_collector.pipeline import Pipeline, collect_rarely
from spanproof_collector.server.clickhouse import ClickHouseEndpoint
from spanproof_collector.server.grpc import build_server
from spanproof_collector.server.http import build_app
from spanproof_collector.store import Serving, Store, advertise, open_store, withdraw

_logger = logging.getLogger(__name__)

GRPC_PORT: Final = 4317
HTTP_PORT: Final = 4318
_GRACE_SECONDS: Final = 10
_PATIENCE_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where a server listens."""

    host: str
    grpc_port: int
    http_port: int
    store: str

    @property
    def grpc(self) -> str:
        """What ``OTEL_EXPORTER_OTLP_ENDPOINT`` takes for gRPC."""
        return f"http://{_bracketed(self.host)}:{self.grpc_port}"

    @property
    def http(self) -> str:
        """What ``OTEL_EXPORTER_OTLP_ENDPOINT`` takes for HTTP."""
        return f"http://{_bracketed(self.host)}:{self.http_port}"


class Collector:
    """The listeners and the pipeline over an open store, on the running event loop."""

    def __init__(
        self, store: Store, host: str, grpc_port: int, http_port: int, pipeline: Pipeline | None = None
    ) -> None:
        self._store = store
        self._host = host
        self._grpc_port = grpc_port
        self._http_port = http_port
        self.pipeline = pipeline or Pipeline(store)
        self._endpoint: ClickHouseEndpoint | None = None
        self._grpc: grpc.aio.Server | None = None
        self._http: _HttpServer | None = None
        self._http_task: asyncio.Task[None] | None = None

    async def start(self) -> Addresses:
        """Listen, and return where.

        Raises:
            ServeError: a port is taken.
        """
        try:
            self.pipeline.start()
            listener = _listen(self._host, self._http_port)
            self._http_port = listener.getsockname()[1]
            self._http = _HttpServer(self.pipeline)
            self._http_task = asyncio.create_task(self._http.serve(sockets=[listener]))
            self._grpc, self._grpc_port = build_server(self.pipeline, self._host, self._grpc_port)
            await self._grpc.start()
            await self._http.ready.wait()
            await self._serve_store()
        except BaseException:
            await self.stop()
            raise
        return Addresses(
            host=self._host, grpc_port=self._grpc_port, http_port=self._http_port, store=self._store.address
        )

    async def stop(self) -> None:
        """Stop taking requests, answer those that were taken, commit, and let go of the ports."""
        if self._http is not None:
            self._http.should_exit = True
        if self._grpc is not None:
            await self._grpc.stop(_GRACE_SECONDS)
        if self._http_task is not None:
            await self._http_task
        await self.pipeline.stop()
        if self._endpoint is not None:
            if (folder := self._store.embedded_path) is not None:
                withdraw(folder)
            await self._endpoint.stop()

    async def _serve_store(self) -> None:
        folder = self._store.embedded_path
        if folder is None:
            return
        self._endpoint = ClickHouseEndpoint(self._store)
        await self._endpoint.start()
        advertise(folder, Serving(pid=os.getpid(), port=self._endpoint.port, token=self._endpoint.token))


class _HttpServer(uvicorn.Server):
    """uvicorn in a loop that it shares: signals are not its business."""

    def __init__(self, pipeline: Pipeline) -> None:
        super().__init__(
            uvicorn.Config(
                build_app(pipeline),
                http="httptools",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_GRACE_SECONDS,
            )
        )
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(
    store_address: str,
    host: str = "127.0.0.1",
    grpc_port: int = GRPC_PORT,
    http_port: int = HTTP_PORT,
    *,
    on_ready: Callable[[Addresses], None],
    insecure: bool = False,
) -> None:
    """Serve until SIGTERM or SIGINT; then everything acknowledged is durable and the store is closed.

    Args:
        store_address: where to keep what arrives.
        host: the address to listen on.
        grpc_port: the port for OTLP over gRPC; 0 takes a free one.
        http_port: the port for OTLP over HTTP; 0 takes a free one.
        on_ready: called once with the addresses, when every port answers.
        insecure: allows a host that others can reach. There are no tokens and no TLS.

    Raises:
        ServeError: a port is taken, another server holds the store, or the host needs ``insecure``.
        StoreError: the store cannot be opened.
    """
    if not insecure and not _is_loopback(host):
        raise ServeError(
            f"{host} can be reached by others, and this server knows neither tokens nor TLS: anybody could write "
            "traces. Listen on 127.0.0.1, or say --insecure if the network is trusted"
        )
    collect_rarely()
    with _own_store(store_address) as store, asyncio.Runner(loop_factory=_new_loop) as runner:
        runner.run(_serve(store, host, grpc_port, http_port, on_ready))


async def _serve(
    store: Store, host: str, grpc_port: int, http_port: int, on_ready: Callable[[Addresses], None]
) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    collector = Collector(store, host, grpc_port, http_port)
    on_ready(await collector.start())
    try:
        await stopped.wait()
        _logger.info("stopping: taking nothing more, committing what was taken")
    finally:
        await collector.stop()


def _own_store(address: str) -> Store:
    """Open the store; wait a little for a server that is just stopping to let go of it.

    Raises:
        ServeError: another server holds the store.
    """
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        store = open_store(address)
        if store.embedded_path is not None or not address.startswith("chdb:"):
            return store
        store.close()
        if time.monotonic() >= deadline:
            raise ServeError(
                f"another server holds the store {address} and answers for it. Send traces to that one, stop it, or "
                "give this one a store of its own: --store"
            )
        time.sleep(_POLL_SECONDS)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise ServeError(
            f"cannot listen on {_bracketed(host)}:{port} for OTLP over HTTP: {error.strerror}. Is another collector "
            "running? Choose another port: --http-port"
        ) from error
    # asyncio sets this only on sockets that name their protocol; without it an answer waits for 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:  # not on Windows
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
