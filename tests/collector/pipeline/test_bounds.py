"""What the pipeline holds when senders are many, greedy or gone, and the store is slow."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest

from spanproof_collector.pipeline import Accepted, BusyError, Pipeline
from spanproof_collector.pipeline.writing import BLOCK_ROWS
from spanproof_collector.store import Store
from tests.collector.pipeline.test_pipeline import body, running
from tests.factories import span, traces

Insert = Mapping[str, Sequence[object]]


class Gate:
    """A store that takes spans only while it is open, and counts the blocks that came."""

    def __init__(self, store: Store) -> None:
        self._insert = store.insert
        self.opened = threading.Event()
        self.blocks: list[list[object]] = []

    def insert(self, table: str, columns: Insert, token: str) -> None:
        """Insert as the store does, once it may."""
        if table == "spans":
            self.blocks.append(list(columns["name"]))
            assert self.opened.wait(30)
        self._insert(table, columns, token)


@pytest.fixture
def gate(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate(store)
    monkeypatch.setattr(store, "insert", gate.insert)
    yield gate
    gate.opened.set()


async def until(holds: Callable[[], bool]) -> None:
    """Let the others run until something holds."""
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.001)


def names_in(blocks: list[list[object]]) -> list[object]:
    return [name for block in blocks for name in block]


async def send_until_refused(
    pipeline: Pipeline, request: bytes, taken: list[asyncio.Task[Accepted]], *, give_up: bool = False
) -> None:
    """Send a request a hundred times; where ``give_up`` says so, go away once it was read."""
    for number in range(100):
        sending = asyncio.create_task(pipeline.accept("traces", request, peer="flood"))
        await asyncio.sleep(0)
        if sending.done():
            await sending
        if give_up:
            await until(lambda: pipeline.load.rows > number)  # noqa: B023  # it is called at once
            sending.cancel()
        taken.append(sending)


async def test_a_small_sender_is_served_soon_while_another_floods(store: Store, gate: Gate) -> None:
    flood = [
        traces(*[span(f"f{n}-{i}") for i in range(1024)]).SerializeToString() for n in range(7 * BLOCK_ROWS // 1024)
    ]
    async with running(store) as pipeline:
        flooding = [asyncio.create_task(pipeline.accept("traces", each, peer="flood")) for each in flood]
        await until(lambda: bool(gate.blocks))
        small = asyncio.create_task(pipeline.accept("traces", body("small"), peer="small"))
        await asyncio.sleep(0)
        gate.opened.set()
        assert await small == Accepted()
        # The block that was being written, two that had been read already, and its own.
        assert "small" in names_in(gate.blocks[:4])
        assert sum(task.done() for task in flooding) < len(flood) / 2
        await asyncio.gather(*flooding)


async def test_a_flood_leaves_room_for_others(store: Store, gate: Gate) -> None:
    async with running(store, max_bytes=400_000) as pipeline:
        flood = body("flood", text="word " * 2000)
        taken: list[asyncio.Task[Accepted]] = []
        with pytest.raises(BusyError) as refused:
            await send_until_refused(pipeline, flood, taken)
        assert refused.value.retry_seconds > 0
        assert len(taken) * len(flood) < 250_000
        small = asyncio.create_task(pipeline.accept("traces", body("small"), peer="small"))
        gate.opened.set()
        assert await small == Accepted()
        await asyncio.gather(*taken)


async def test_requests_whose_senders_gave_up_stay_counted_while_they_are_held(store: Store, gate: Gate) -> None:
    async with running(store, max_bytes=400_000) as pipeline:
        given_up: list[asyncio.Task[Accepted]] = []
        with pytest.raises(BusyError):
            await send_until_refused(pipeline, body("a", text="word " * 2000), given_up, give_up=True)
        assert len(given_up) < 50
        assert pipeline.load.bytes > 100_000
        gate.opened.set()
        await until(lambda: pipeline.load.requests == 0)
        assert (pipeline.load.bytes, pipeline.load.rows) == (0, 0)
        assert await pipeline.accept("traces", body("b")) == Accepted()


async def test_a_request_whose_sender_gave_up_before_it_was_read_is_let_go(store: Store, gate: Gate) -> None:
    async with running(store) as pipeline:
        requests = [traces(*[span(f"{n}-{i}") for i in range(1000)]).SerializeToString() for n in range(40)]
        sending = [asyncio.create_task(pipeline.accept("traces", each)) for each in requests]
        await until(lambda: pipeline.load.rows >= BLOCK_ROWS + 1000)
        sending[-1].cancel()
        gate.opened.set()
        await asyncio.gather(*sending[:-1])
        await until(lambda: pipeline.load.requests == 0)
    assert "39-0" not in names_in(gate.blocks)


async def test_no_more_is_read_ahead_than_the_store_takes_soon(store: Store, gate: Gate) -> None:
    requests = [traces(*[span(f"{n}-{i}") for i in range(1000)]).SerializeToString() for n in range(40)]
    async with running(store) as pipeline:
        sending = [asyncio.create_task(pipeline.accept("traces", each)) for each in requests]
        await until(lambda: pipeline.load.rows >= BLOCK_ROWS + 1000)
        for _ in range(50):
            await asyncio.sleep(0.001)
        # What is being written, and a block; the requests that were read together may go beyond.
        assert pipeline.load.rows < 4 * BLOCK_ROWS
        gate.opened.set()
        await asyncio.gather(*sending)


async def test_stopping_ends_in_time_when_the_store_does_not(store: Store, gate: Gate) -> None:
    pipeline = Pipeline(store)
    pipeline.start()
    stuck = asyncio.create_task(pipeline.accept("traces", body("stuck")))
    await until(lambda: bool(gate.blocks))
    behind = asyncio.create_task(pipeline.accept("traces", body("behind")))
    await asyncio.sleep(0)
    assert not await pipeline.stop(0.1)
    for task in (stuck, behind):
        with pytest.raises(BusyError, match="stopping"):
            await task


async def test_nobody_waits_for_a_pipeline_that_failed(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = Pipeline(store)

    def broken() -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(pipeline._waiting, "take", broken)
    pipeline.start()
    with pytest.raises(BusyError, match="failed"):
        await pipeline.accept("traces", body("a"))
    with pytest.raises(BusyError):
        await pipeline.accept("traces", body("b"))
    assert not pipeline.ready
    assert "restart the server" in caplog.text
    await pipeline.stop(1)


@pytest.mark.parametrize("clients", [1, 3, 64])
async def test_no_request_is_left_waiting(store: Store, clients: int) -> None:
    """Requests in every order of arrival, commit and pause: each has its answer."""

    async def send(client: int) -> None:
        for turn in range(2000 // clients):
            assert await pipeline.accept("traces", request, peer=f"{client}") == Accepted()
            for _ in range((client * 7 + turn * 3) % 5):
                await asyncio.sleep(0)

    request = traces().SerializeToString() or traces(span("a")).SerializeToString()
    async with asyncio.timeout(60), running(store) as pipeline:
        await asyncio.gather(*[send(client) for client in range(clients)])
