"""Fixtures for every part.

An embedded engine has one path a process, and opens another once the first is closed: it takes a tenth of a second, so
each test has a fresh store in a folder of its own, and one store at a time.
"""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanproof_collector.server.clickhouse import ClickHouseEndpoint
from spanproof_collector.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Return a fresh embedded store of this process, closed afterwards."""
    with open_store(f"chdb://{tmp_path}/store") as opened:
        yield opened


@pytest.fixture
def endpoint(store: Store) -> Iterator[ClickHouseEndpoint]:
    """Return the ClickHouse HTTP protocol over ``store``, listening, in a loop on a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    serving = ClickHouseEndpoint(store)
    try:
        asyncio.run_coroutine_threadsafe(serving.start(), loop).result(10)
        yield serving
    finally:
        asyncio.run_coroutine_threadsafe(serving.stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


@pytest.fixture
def store_over_http(endpoint: ClickHouseEndpoint) -> Iterator[Store]:
    """Return a store on the far side of the ClickHouse HTTP protocol: what a command has while a server holds it."""
    with open_store(f"clickhouse://anybody:{endpoint.token}@127.0.0.1:{endpoint.port}/spanproof") as opened:
        yield opened
