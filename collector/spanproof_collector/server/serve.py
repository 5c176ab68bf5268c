"""One process that takes OTLP over gRPC and HTTP, holds the store, and answers for it to the other commands."""

import asyncio
import faulthandler
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import Final

from spanproof_collector.errors import ServeError
from spanproof_collector.pipeline import collect_rarely, share_one_heap
from spanproof_collector.server.collector import Collector
from spanproof_collector.server.listening import Addresses, is_loopback
from spanproof_collector.server.tls import Tls
from spanproof_collector.store import Store, open_store
from spanproof_collector.store.address import FolderAddress, parse_address, without_password
from spanproof_collector.store.holding import holder_pid
from spanproof_collector.store.tokens import read_tokens

__all__ = ["GRPC_PORT", "HTTP_PORT", "Addresses", "Collector", "Tls", "serve"]

_logger = logging.getLogger(__name__)

GRPC_PORT: Final = 4317
HTTP_PORT: Final = 4318
_PATIENCE_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.1


def serve(
    store_address: str,
    host: str = "127.0.0.1",
    grpc_port: int = GRPC_PORT,
    http_port: int = HTTP_PORT,
    *,
    on_ready: Callable[[Addresses], None],
    insecure: bool = False,
    tls: Tls | None = None,
    http_prefixes: Sequence[str] = (),
) -> None:
    """Serve until SIGTERM or SIGINT; then everything acknowledged is durable and the store is closed.

    A second signal ends the process at once, without a word to who still waits. Where the store does not take what is
    left within ten seconds, the process ends too, and senders keep that.

    Tokens are demanded on a host that others can reach, and wherever the store holds one.

    Args:
        store_address: where to keep what arrives.
        host: the address to listen on.
        grpc_port: the port for OTLP over gRPC; 0 takes a free one.
        http_port: the port for OTLP over HTTP; 0 takes a free one.
        on_ready: called once with the addresses, when every port answers.
        insecure: allows a host that others can reach although the store holds no token.
        tls: what to encrypt with, on both ports.
        http_prefixes: paths below which OTLP over HTTP is taken too.

    Raises:
        ServeError: a port is taken, another server holds the store, a file for TLS cannot be used, or the host needs a
            token or ``insecure``.
        StoreError: the store cannot be opened.
    """
    for prefix in http_prefixes:
        if not prefix.startswith("/") or prefix.endswith("/") or "{" in prefix:
            raise ServeError(f"--http-prefix {prefix!r} is no path: give one as /api/public/otel")
    if tls is not None:
        tls.check()
    guarded = not insecure and not is_loopback(host)
    if guarded:
        _refuse_without_a_token(store_address, host)
    collect_rarely()
    share_one_heap()
    faulthandler.enable(2)  # a crash of the engine says where, and ends the process
    with _own_store(store_address) as store, asyncio.Runner(loop_factory=_new_loop) as runner:
        if guarded and not any("ingest" in token.scopes for token in read_tokens(store)):
            raise _unguarded(store_address, host)
        collector = Collector(
            store, host, grpc_port, http_port, tls=tls, demand_tokens=guarded, http_prefixes=http_prefixes
        )
        drained = runner.run(_serve(collector, on_ready))
        _logger.info("stopped: everything that was acknowledged is in the store")
        if not drained:
            _end(0)  # a thread still waits for the store, and could do so for minutes


async def _serve(collector: Collector, on_ready: Callable[[Addresses], None]) -> bool:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop(number: int) -> None:
        if stopped.is_set():
            _logger.warning("stopped at once: what was not acknowledged stays with its senders")
            _end(128 + number)
        stopped.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
    where = await collector.start()
    _logger.info(
        "listening: gRPC %s, HTTP %s, store %s, tokens %s",
        where.grpc,
        where.http,
        where.store,
        "demanded" if collector.access.required else "not demanded",
    )
    if collector.access.required and not where.tls and not is_loopback(where.host):
        _logger.warning(
            "tokens and traces travel in the clear: give --tls-cert and --tls-key, or a proxy that has them"
        )
    try:
        on_ready(where)
        await stopped.wait()
        _logger.info("stopping: taking nothing more, committing what was taken")
    finally:
        drained = await collector.stop()
    return drained


def _end(code: int) -> None:
    """End the process as a crash would, with all that was acknowledged in the store."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _refuse_without_a_token(store_address: str, host: str) -> None:
    """Refuse at once where there is no store yet, and so no token: none is made just to say so."""
    found = parse_address(store_address)
    if isinstance(found, FolderAddress) and not found.path.is_dir():
        raise _unguarded(store_address, host)


def _unguarded(store_address: str, host: str) -> ServeError:
    return ServeError(
        f"{host} can be reached by others, and the store holds no token for senders: anybody could write traces. Make "
        f"one with 'spanproof token add NAME --scope ingest --store {without_password(store_address)}', listen on "
        "127.0.0.1, or say --insecure if the network is trusted"
    )


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
            found = parse_address(address)
            pid = holder_pid(found.path) if isinstance(found, FolderAddress) else None
            holder = f"another server, process {pid}," if pid else "another server"
            raise ServeError(
                f"{holder} holds the store {address} and answers for it. Send traces to that one, stop it, or give "
                "this one a store of its own: --store"
            )
        time.sleep(_POLL_SECONDS)


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:  # not on Windows
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
