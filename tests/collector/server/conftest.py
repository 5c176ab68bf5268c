"""A collector's listeners in this process, over a store of the test's choice."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypedDict, Unpack

import pytest

from spanproof_collector.pipeline import Pipeline
from spanproof_collector.server.serve import Addresses, Collector, Tls
from spanproof_collector.store import Store, open_store


@dataclass(frozen=True, kw_only=True)
class Listening:
    """A collector that listens, and what it stores into."""

    store: Store
    collector: Collector
    addresses: Addresses


class Asked(TypedDict, total=False):
    """What a test asks of a collector; the first two are limits of its pipeline."""

    max_requests: int
    max_bytes: int
    tls: Tls
    demand_tokens: bool
    http_prefixes: tuple[str, ...]


Listen = Callable[..., Listening]


@contextmanager
def listeners() -> Iterator[Listen]:
    """Yield a function that starts a collector over a store; it is stopped at the end of the block."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    running: list[Collector] = []

    async def start(store: Store, asked: Asked) -> tuple[Collector, Addresses]:
        limits = {name: value for name, value in asked.items() if name.startswith("max_")}
        others = {name: value for name, value in asked.items() if name not in limits}
        pipeline = Pipeline(store, **limits)  # type: ignore[arg-type]
        collector = Collector(store, "127.0.0.1", 0, 0, pipeline, **others)  # type: ignore[arg-type]
        running.append(collector)
        return collector, await collector.start()

    def listening(store: Store, **asked: Unpack[Asked]) -> Listening:
        collector, addresses = asyncio.run_coroutine_threadsafe(start(store, asked), loop).result(20)
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
def listen() -> Iterator[Listen]:
    """Return a function that starts a collector over a store; it is stopped after the test."""
    with listeners() as listen:
        yield listen


@pytest.fixture
def listening(listen: Listen, store: Store) -> Listening:
    """Return a collector over ``store``."""
    return listen(store)


@pytest.fixture(scope="module")
def answering(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    """Return one collector for a module whose tests look at answers, and at nothing stored."""
    with open_store(f"chdb://{tmp_path_factory.mktemp('answering')}/store") as store, listeners() as listen:
        yield listen(store)
