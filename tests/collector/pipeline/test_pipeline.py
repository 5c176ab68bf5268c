import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import pytest

from spanproof_collector.errors import DecodeError, StoreError, StoreUnreachableError
from spanproof_collector.pipeline import Accepted, BusyError, Pipeline
from spanproof_collector.store import Store
from spanproof_collector.trials import read_trials
from tests.factories import chat, log_record, logs, said, span, trace_id, traces

Insert = Mapping[str, Sequence[object]]


@asynccontextmanager
async def running(store: Store, *, max_bytes: int = 10**8, max_requests: int = 10**4) -> AsyncIterator[Pipeline]:
    pipeline = Pipeline(store, max_bytes=max_bytes, max_requests=max_requests)
    pipeline.start()
    try:
        yield pipeline
    finally:
        await pipeline.stop()


def body(*names: str, trace: str = "a", text: str = "") -> bytes:
    return traces(
        *[span(name, chat([said("user", text or "hi")], []), trace=trace) for name in names]
    ).SerializeToString()


def stored(store: Store, trace: str = "a") -> list[str]:
    records = store.read_traces([("default", trace_id(trace).hex())])
    return sorted(each.name for found in records.values() for each in found.spans)


async def test_what_is_acknowledged_is_in_the_store(store: Store) -> None:
    async with running(store) as pipeline:
        assert await pipeline.accept("traces", body("a", "b")) == Accepted()
        assert stored(store) == ["a", "b"]


async def test_logs_are_acknowledged_alike(store: Store) -> None:
    async with running(store) as pipeline:
        await pipeline.accept("logs", logs(log_record("said", body="hi")).SerializeToString())
        (records,) = store.read_traces([("default", trace_id("a").hex())]).values()
        assert [record.event_name for record in records.logs] == ["said"]


async def test_a_batch_sent_twice_is_kept_once(store: Store) -> None:
    async with running(store) as pipeline:
        await pipeline.accept("traces", body("a", "b"))
        await pipeline.accept("traces", body("a", "b"))
        await asyncio.gather(*[pipeline.accept("traces", body("a", "b", "c")) for _ in range(3)])
    assert stored(store) == ["a", "b", "c"]


async def test_requests_that_wait_together_are_one_block(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    inserts: Counter[str] = Counter()
    insert = store.insert

    def counting(table: str, columns: Insert, token: str) -> None:
        inserts[table] += 1
        insert(table, columns, token)

    monkeypatch.setattr(store, "insert", counting)
    async with running(store) as pipeline:
        await asyncio.gather(*[pipeline.accept("traces", body(f"{n}", trace=f"{n}")) for n in range(50)])
    assert inserts["spans"] <= 10
    assert all(stored(store, f"{n}") == [f"{n}"] for n in range(50))


async def test_bytes_that_are_no_request_are_refused_and_the_next_request_is_taken(store: Store) -> None:
    async with running(store) as pipeline:
        with pytest.raises(DecodeError):
            await pipeline.accept("traces", b"\xff\xff")
        await pipeline.accept("traces", body("a"))
    assert stored(store) == ["a"]


async def test_rejected_spans_are_counted_said_and_kept_as_dead_letters(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    broken = span("broken")
    broken.span_id = b"short"
    async with running(store) as pipeline:
        accepted = await pipeline.accept("traces", traces(span("a"), broken, broken).SerializeToString())
        only = await pipeline.accept("traces", traces(broken).SerializeToString())
        assert pipeline.counts["rejected"] == 3
    assert accepted == Accepted(rejected=2, message="span id has 5 bytes, not 8 (2)")
    assert only.rejected == 1
    assert stored(store) == ["a"]
    assert "rejected 2 of 3 spans" in caplog.text
    assert [(letter.reason, letter.bytes) for letter in store.dead_letters()] == [
        ("span id has 5 bytes, not 8", broken.SerializeToString())
    ]


async def test_an_unreadable_span_in_json_is_rejected_alone_and_kept_as_a_dead_letter(store: Store) -> None:
    odd = b'{"name": "odd", "kind": NaN}'
    good = {"traceId": trace_id("a").hex(), "spanId": "b7ad6b7169203331", "name": "a"}
    request = b'{"resourceSpans":[{"scopeSpans":[{"spans":[%b,%b]}]}]}' % (odd, json.dumps(good).encode())
    async with running(store) as pipeline:
        accepted = await pipeline.accept("traces", request, "json")
    assert accepted.rejected == 1
    assert "malformed" in accepted.message
    assert stored(store) == ["a"]
    assert [(letter.signal, letter.bytes) for letter in store.dead_letters()] == [("traces", odd)]


async def test_a_log_record_that_is_not_utf8_is_rejected_alone_and_kept_as_a_dead_letter(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    request = logs(log_record("said"), log_record("odd")).SerializeToString().replace(b"odd", b"o\xff\xfe")
    async with running(store) as pipeline:
        accepted = await pipeline.accept("logs", request)
    assert (accepted.rejected, accepted.message) == (1, "a text in it is not UTF-8 (1)")
    assert "rejected 1 of 2 log records" in caplog.text
    (records,) = store.read_traces([("default", trace_id("a").hex())]).values()
    assert [record.event_name for record in records.logs] == ["said"]
    assert [(letter.signal, b"\xff\xfe" in letter.bytes) for letter in store.dead_letters()] == [("logs", True)]


async def test_a_full_queue_refuses_and_takes_again_when_it_is_empty(store: Store) -> None:
    async with running(store, max_bytes=1) as pipeline:
        first = asyncio.create_task(pipeline.accept("traces", body("a")))
        await asyncio.sleep(0)
        with pytest.raises(BusyError) as refused:
            await pipeline.accept("traces", body("b"))
        assert refused.value.retry_seconds > 0
        await first
        await pipeline.accept("traces", body("c"))
    assert stored(store) == ["a", "c"]


async def test_a_request_larger_than_the_queue_is_taken_when_nothing_else_waits(store: Store) -> None:
    async with running(store, max_bytes=10) as pipeline:
        await pipeline.accept("traces", body("a"))
    assert stored(store) == ["a"]


async def test_nothing_is_acknowledged_when_the_store_fails_and_all_of_it_is_stored_on_the_next_attempt(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert = store.insert
    long = "a long word " * 100

    def failing(table: str, columns: Insert, token: str) -> None:
        if table == "spans":
            raise StoreUnreachableError(store.address, "gone")
        insert(table, columns, token)

    async with running(store) as pipeline:
        monkeypatch.setattr(store, "insert", failing)
        with pytest.raises(StoreUnreachableError):
            await pipeline.accept("traces", body("a", text=long))
        ready = [pipeline.ready]
        assert stored(store) == []
        monkeypatch.setattr(store, "insert", insert)
        await pipeline.accept("traces", body("a", text=long))
        assert [*ready, pipeline.ready] == [False, True]
    (records,) = store.read_traces([("default", trace_id("a").hex())]).values()
    assert long in str(records.spans[0].attributes["gen_ai.input.messages"])


async def test_content_that_failed_to_be_stored_is_sent_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    insert = store.insert
    long = "a long word " * 100

    def failing(table: str, columns: Insert, token: str) -> None:
        raise StoreUnreachableError(store.address, "gone")

    async with running(store) as pipeline:
        monkeypatch.setattr(store, "insert", failing)
        with pytest.raises(StoreUnreachableError):
            await pipeline.accept("traces", body("a", text=long))
        monkeypatch.setattr(store, "insert", insert)
        await pipeline.accept("traces", body("b", text=long))
    (records,) = store.read_traces([("default", trace_id("a").hex())]).values()
    assert long in str(records.spans[0].attributes["gen_ai.input.messages"])


async def test_a_request_that_does_not_fit_harms_no_other_of_its_block(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert = store.insert

    def refusing(table: str, columns: Insert, token: str) -> None:
        if "poison" in columns.get("name", ()):
            raise StoreError("it does not fit")
        insert(table, columns, token)

    monkeypatch.setattr(store, "insert", refusing)
    async with running(store) as pipeline:
        outcomes = await asyncio.gather(
            *[pipeline.accept("traces", body(name)) for name in ("a", "b", "poison", "c")], return_exceptions=True
        )
    assert [isinstance(outcome, StoreError) for outcome in outcomes] == [False, False, True, False]
    assert stored(store) == ["a", "b", "c"]


async def test_a_step_that_does_not_fit_fails_no_request_and_hides_no_span(store: Store) -> None:
    odd = span("odd", chat([said("user", "hi")], []) | {"gen_ai.usage.input_tokens": -1}, trace="b")
    async with running(store) as pipeline:
        accepted = await asyncio.gather(
            pipeline.accept("traces", traces(span("a", trace="a"), odd).SerializeToString()),
            pipeline.accept("traces", body("c", trace="c")),
        )
    assert list(accepted) == [Accepted()] * 2
    assert sorted(step.name for trial in read_trials(store) for step in trial.steps) == ["a", "c", "odd"]


async def test_steps_that_the_store_refuses_fail_no_request_whose_spans_are_durable(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    insert = store.insert

    def refusing(table: str, columns: Insert, token: str) -> None:
        if table == "steps" and "poison" in columns["name"]:
            raise StoreError("it does not fit")
        insert(table, columns, token)

    monkeypatch.setattr(store, "insert", refusing)
    async with running(store) as pipeline:
        assert await pipeline.accept("traces", body("a", "poison", "c")) == Accepted()
    assert stored(store) == ["a", "c", "poison"]
    assert "left out" in caplog.text


async def test_stopping_commits_what_was_taken_and_takes_nothing_more(store: Store) -> None:
    pipeline = Pipeline(store)
    pipeline.start()
    taken = [asyncio.create_task(pipeline.accept("traces", body(f"{n}"))) for n in range(5)]
    await asyncio.sleep(0)
    await pipeline.stop()
    assert await asyncio.gather(*taken) == [Accepted()] * 5
    with pytest.raises(BusyError, match="stopping"):
        await pipeline.accept("traces", body("late"))
    assert stored(store) == ["0", "1", "2", "3", "4"]


async def test_a_sender_that_goes_away_disturbs_nobody(store: Store) -> None:
    async with running(store) as pipeline:
        gone = asyncio.create_task(pipeline.accept("traces", body("gone")))
        stays = asyncio.create_task(pipeline.accept("traces", body("stays")))
        await asyncio.sleep(0)
        gone.cancel()
        assert await stays == Accepted()
    assert "stays" in stored(store)


async def test_a_request_of_many_blocks_is_stored_whole(store: Store) -> None:
    names = [f"{number:05}" for number in range(9000)]
    async with running(store) as pipeline:
        await pipeline.accept("traces", traces(*[span(name) for name in names]).SerializeToString())
    assert stored(store) == names
