"""Opens a store by its address, whoever holds it."""

import contextlib
import logging
import time
from collections.abc import Callable
from pathlib import Path

import clickhouse_connect
from clickhouse_connect.driver import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from spanproof_collector.errors import StoreAddressError, StoreLockedError, StoreUnreachableError
from spanproof_collector.store.address import FolderAddress, ServerAddress, parse_address, without_password
from spanproof_collector.store.deleting import end_abandoned
from spanproof_collector.store.engine import DATABASE, Engine
from spanproof_collector.store.holding import FolderLock, Serving, find_serving, holder_pid, take_lock
from spanproof_collector.store.store import Store, unreachable

# Whoever sets no logging up would be shown the driver's traceback beside the error that says what to do.
logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())

_PATIENCE_S = 5.0
_POLL_S = 0.05
_UNKNOWN_DATABASE = 81


def open_store(address: str, *, patience_s: float = _PATIENCE_S) -> Store:
    """Open the store, migrated. An embedded store that another process holds is reached through that process.

    Raises:
        StoreAddressError: the address names no store.
        StoreLockedError: another process holds the embedded store and does not answer within ``patience_s``.
        StoreUnreachableError: nothing answers at the address.
        StoreTooNewError: a newer spanproof wrote this store.
    """
    match parse_address(address):
        case FolderAddress(path=path):
            store = _open_folder(address, path, patience_s)
        case ServerAddress() as server:
            _create_database(address, server)
            store = Store(address, lambda: _connect(server))
    try:
        store.migrate()
        if store.read_deletions().running and store.embedded_path is not None:
            # Who began has died: nobody else has this store.
            end_abandoned(store)
    except BaseException:
        store.close()
        raise
    return store


def _open_folder(address: str, folder: Path, patience_s: float) -> Store:
    try:
        # It holds transcripts: nobody else's business.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise StoreAddressError(address, f"its folder cannot be used ({error})") from error
    deadline = time.monotonic() + patience_s
    while True:
        try:
            lock = take_lock(folder)
            if lock is not None:
                return _own(address, folder, lock)
        except OSError as error:
            raise unreachable(address, error) from error
        serving = find_serving(folder)
        if serving is not None:
            # The holder may have been killed, or be stopping, since it said so.
            with contextlib.suppress(StoreUnreachableError):
                return Store(address, _client_of(serving))
        if time.monotonic() >= deadline:
            raise StoreLockedError(str(folder), holder_pid(folder))
        time.sleep(_POLL_S)


def _own(address: str, folder: Path, lock: FolderLock) -> Store:
    try:
        engine = Engine(folder)
        try:
            return Store(address, engine.connect, engine=engine, release=lock.release)
        except BaseException:
            engine.close()
            raise
    except BaseException:
        lock.release()
        raise


def _client_of(serving: Serving) -> Callable[[], Client]:
    server = ServerAddress(host=serving.host, port=serving.port, password=serving.token, database=DATABASE)
    # Compression between two processes of one machine costs more than it saves.
    return lambda: _connect(server, compress=False)


def _connect(server: ServerAddress, *, compress: bool = True) -> Client:
    return clickhouse_connect.get_client(
        interface="https" if server.secure else "http",
        host=server.host,
        port=server.port,
        username=server.user,
        password=server.password,
        database=server.database,
        secure=server.secure,
        connect_timeout=10,
        send_receive_timeout=300,
        compress=compress,
        # A session admits one statement at a time; nothing here needs one.
        autogenerate_session_id=False,
        show_clickhouse_errors="scrub",
    )


def _create_database(address: str, server: ServerAddress) -> None:
    """Create the address's database where the server does not have it."""
    try:
        _connect(server).close()
    except ClickHouseError as error:
        if getattr(error, "code", None) != _UNKNOWN_DATABASE:
            raise StoreUnreachableError(without_password(address), str(error)) from error
        client = _connect(
            ServerAddress(
                host=server.host, port=server.port, user=server.user, password=server.password, secure=server.secure
            )
        )
        try:
            client.command("CREATE DATABASE IF NOT EXISTS {name:Identifier}", parameters={"name": server.database})
        finally:
            client.close()
