"""A collector's listeners in this process, over a store of the test's choice."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from spanproof_collector.pipeline import Pipeline
from spanproof_collector.server.serve import Addresses, Collector
from spanproof_collector.store import Store


@dataclass(frozen=True, kw_only=True)
class Listening:
    """A collector that listens, and what it stores into."""

    store: Store
    collector: Collector
    addresses: Addresses


Listen = Callable[..., Listening]


@pytest.fixture
def listen() -> Iterator[Listen]:
    """Return a function that starts a collector over a store; it is stopped after the test."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    running: list[Collector] = []

    async def start(store: Store, limits: dict[str, int]) -> tuple[Collector, Addresses]:
        collector = Collector(store, "127.0.0.1", 0, 0, Pipeline(store, **limits))
        running.append(collector)
        return collector, await collector.start()

    def listening(store: Store, **limits: int) -> Listening:
        collector, addresses = asyncio.run_coroutine_threadsafe(start(store, limits), loop).result(20)
        return Listening(store=store, collector=collector, addresses=addresses)

    try:
        yield listening
    finally:
        for collector in running:
            asyncio.run_coroutine_threadsafe(collector.stop(), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)
        loop.close()


@pytest.fixture
def listening(listen: Listen, store: Store) -> Listening:
    """Return a collector over ``store``."""
    return listen(store)
