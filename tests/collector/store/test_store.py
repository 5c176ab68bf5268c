"""One suite for both ways to a store: the embedded engine, and the driver's HTTP path against the same engine."""

import json
import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from spanproof_collector.errors import StoreError, StoreUnreachableError
from spanproof_collector.model.results import ResultRow
from spanproof_collector.model.spans import Resource, Scope, SpanEvent, SpanLink
from spanproof_collector.model.values import Value
from spanproof_collector.store import Query, Store
from spanproof_collector.store.values import encode
from tests.collector.store.rows import attributes, columns, log_row, put_content, put_spans, span_row

TRACE = "a" * 32
MESSAGES = json.dumps([{"role": "user", "content": f"{i}: it's 'quoted', \\ and é\n" * 20} for i in range(3)])
PAIRS: list[tuple[str, Value]] = [
    ("k", "first"),
    ("k", "second"),
    ("none", None),
    ("nested", {"a": [1, 2.5, {"b": b"\x00"}], "e": {}}),
    ("messages", MESSAGES),
    ("bytes", b"\xff" * 900),
    ("big", 2**63 - 1),
]


@pytest.fixture(params=["embedded", "http"])
def any_store(request: pytest.FixtureRequest) -> Store:
    name = {"embedded": "store", "http": "store_over_http"}[request.param]
    found = request.getfixturevalue(name)
    assert isinstance(found, Store)
    return found


def test_a_span_comes_back_as_it_was_sent(any_store: Store) -> None:
    facts, content = attributes(PAIRS)
    note = encode("a long note " * 100)
    put_content(any_store, TRACE, [*content, *note.content])
    put_spans(
        any_store,
        span_row(
            **facts,
            flags=257,
            status=2,
            status_message="it's",
            trace_state="a=b",
            parent_span_id="c" * 16,
            dropped_attributes=3,
            events=json.dumps(
                [{"time": "17", "name": "e", "attributes": [["n", note.type, note.text], ["n", 3, "7"]], "dropped": 2}]
            ),
            links=json.dumps(
                [{"trace_id": "d", "span_id": "e", "trace_state": "s", "attributes": [["l", 2, "true"]], "flags": 1}]
            ),
            resource=json.dumps({"attributes": [["service.name", 1, "shop"]], "dropped": 1, "schema_url": "u"}),
            scope=json.dumps({"name": "lib", "version": "1", "attributes": [], "dropped": 0, "schema_url": ""}),
        ),
    )

    records = any_store.read_traces([("default", TRACE)])[("default", TRACE)]

    (span,) = records.spans
    assert list(span.pairs) == PAIRS
    assert (span.trace_id, span.span_id, span.parent_span_id) == (TRACE, "b" * 16, "c" * 16)
    assert (span.start, span.end) == (1_700_000_000_000_000_001, 1_700_000_000_000_000_002)
    assert (span.kind, span.status, span.status_message) == ("CLIENT", "ERROR", "it's")
    assert (span.flags, span.trace_state, span.dropped_attributes) == (257, "a=b", 3)
    assert span.events == (
        SpanEvent(time=17, name="e", pairs=(("n", "a long note " * 100), ("n", 7)), dropped_attributes=2),
    )
    assert span.links == (SpanLink(trace_id="d", span_id="e", trace_state="s", pairs=(("l", True),), flags=1),)
    assert span.resource == Resource(attributes=(("service.name", "shop"),), dropped_attributes=1, schema_url="u")
    assert span.scope == Scope(name="lib", version="1")
    assert (records.source, records.path, records.lost) == ("otlp", None, ())


def test_a_log_record_comes_back_as_it_was_sent(any_store: Store) -> None:
    facts, content = attributes(PAIRS)
    body = encode({"text": MESSAGES})
    put_content(any_store, TRACE, [*content, *body.content])
    row = log_row(**facts, body_type=body.type, body=body.text, event_name="e", source="import:otlp", path="f.json")
    any_store.insert("log_records", columns([row]), "t")

    records = any_store.read_traces([("default", TRACE)])[("default", TRACE)]

    (log,) = records.logs
    assert list(log.pairs) == PAIRS
    assert log.body == {"text": MESSAGES}
    assert (log.time, log.event_name, log.severity, log.record_id) == (1_700_000_000_000_000_001, "e", 9, "r")
    assert (records.source, records.path) == ("import:otlp", "f.json")


def test_of_two_versions_of_a_span_the_richer_stands(any_store: Store) -> None:
    put_spans(any_store, span_row(version=7, name="rich"), token="1")
    put_spans(any_store, span_row(version=3, name="late and poor"), token="2")
    put_spans(any_store, span_row(version=5, name="moved", start_unix_nano=5), token="3")

    (span,) = any_store.read_traces([("default", TRACE)])[("default", TRACE)].spans

    assert span.name == "rich"


def test_a_token_stores_its_rows_once(any_store: Store) -> None:
    for _ in range(3):
        any_store.insert("results", columns([RESULT_COLUMNS]), "same token")
        any_store.insert("dead_letters", columns([LETTER]), "same token")

    assert _count(any_store, "results") == 1
    assert _count(any_store, "dead_letters") == 1


def test_spans_come_in_the_order_of_their_start(any_store: Store) -> None:
    put_spans(
        any_store,
        span_row(span_id="3", start_unix_nano=2),
        span_row(span_id="1", start_unix_nano=9),
        span_row(span_id="2", start_unix_nano=2),
    )

    records = any_store.read_traces([("default", TRACE)])[("default", TRACE)]

    assert [span.span_id for span in records.spans] == ["2", "3", "1"]


def test_traces_of_one_name_in_two_projects_stay_apart(any_store: Store) -> None:
    put_spans(any_store, span_row(project="one", name="1"), span_row(project="two", name="2"))

    found = any_store.read_traces([("one", TRACE), ("two", TRACE), ("three", TRACE)])

    assert {key: [span.name for span in records.spans] for key, records in found.items()} == {
        ("one", TRACE): ["1"],
        ("two", TRACE): ["2"],
    }


def test_a_lost_content_row_is_named_and_the_rest_is_read(any_store: Store) -> None:
    facts, content = attributes(PAIRS)
    put_content(any_store, TRACE, content[1:])
    put_spans(any_store, span_row(**facts))

    records = any_store.read_traces([("default", TRACE)])[("default", TRACE)]

    assert records.lost == (("b" * 16, "messages"),)
    assert records.spans[0].attributes["messages"] is None
    assert records.spans[0].attributes["bytes"] == b"\xff" * 900


def test_a_backfill_of_400_days_of_eleven_years_goes_into_one_batch(any_store: Store) -> None:
    first = datetime(2023, 1, 1, tzinfo=UTC)
    days = [int((first + timedelta(days=day)).timestamp()) * 10**9 for day in range(0, 4000, 10)]

    put_spans(any_store, *[span_row(trace_id=f"{day}", start_unix_nano=day) for day in days])

    assert len(any_store.read_traces([("default", str(day)) for day in days])) == 400


def test_times_out_of_all_range_are_kept(any_store: Store) -> None:
    starts = [0, 1, 2**63, 2**64 - 1]
    put_spans(any_store, *[span_row(span_id=str(start), start_unix_nano=start, end_unix_nano=0) for start in starts])

    spans = any_store.read_traces([("default", TRACE)])[("default", TRACE)].spans

    assert [(span.start, span.end) for span in spans] == [(start, 0) for start in starts]


def test_a_trace_of_ten_thousand_spans_is_read_whole(any_store: Store) -> None:
    put_spans(any_store, *[span_row(span_id=f"{index:016x}", start_unix_nano=index) for index in range(10_000)])

    records = any_store.read_traces([("default", TRACE)])[("default", TRACE)]

    assert [span.start for span in records.spans] == list(range(10_000))


def test_many_long_names_of_traces_can_be_asked_for_at_once(any_store: Store) -> None:
    put_spans(any_store, *[span_row(trace_id=f"{index:032x}") for index in range(0, 3000, 3)])

    found = any_store.read_traces([("default", f"{index:032x}") for index in range(3000)])

    assert len(found) == 1000


def test_an_answer_can_be_read_in_blocks_while_others_ask(any_store: Store) -> None:
    put_spans(any_store, *[span_row(trace_id=f"{index:032x}") for index in range(20_000)])

    sizes = []
    for block in any_store.blocks(Query.LIST_STORED_TRACES):
        sizes.append(len(block))
        assert any_store.rows(Query.READ_SCHEMA_VERSION)

    assert sum(sizes) == 20_000
    assert len(sizes) > 1


def test_several_threads_insert_and_read_at_once(any_store: Store) -> None:
    failures: list[Exception] = []

    def work(worker: int) -> None:
        try:
            for turn in range(5):
                put_spans(any_store, span_row(trace_id=f"{worker}-{turn}"), token=f"{worker}-{turn}")
                assert any_store.read_traces([("default", f"{worker}-{turn}")])
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []


RESULT_COLUMNS: Mapping[str, object] = {
    "project": "default",
    "trial_id": "t",
    "evaluator": "e",
    "version": "1",
    "kind": "rule",
    "state": "pass",
    "score": None,
    "label": "",
    "reason": "",
    "explanation": "",
    "span_ids": ["s"],
    "details": "",
    "evaluated_at": 1_700_000_000_123_456_789,
}
LETTER: Mapping[str, object] = {
    "letter_id": "x",
    "received_at": 1_700_000_000_123,
    "signal": "traces",
    "origin": "grpc",
    "reason": "no trace id",
    "bytes": b"\x00\xff'",
}


def result(**facts: object) -> ResultRow:
    return ResultRow(**{**RESULT_COLUMNS, "span_ids": ("s",), **facts})  # type: ignore[arg-type]  # of a test's table


def test_results_come_back_as_they_were_written(any_store: Store) -> None:
    rows = [result(score=0.5, details='{"a": 1}'), result(trial_id="u", score=None, span_ids=())]

    any_store.write_results(rows)

    assert any_store.read_results() == rows
    assert any_store.read_results(["u", "nobody's"]) == rows[1:]
    assert any_store.read_results([]) == []


def test_the_latest_word_of_an_evaluator_stands(any_store: Store) -> None:
    any_store.write_results([result(state="fail", evaluated_at=2), result(evaluator="f", evaluated_at=1)])
    any_store.write_results([result(state="pass", evaluated_at=1)])

    assert [(row.evaluator, row.state) for row in any_store.read_results()] == [("e", "fail"), ("f", "pass")]


def test_dead_letters_come_newest_first_with_their_bytes(any_store: Store) -> None:
    any_store.insert("dead_letters", columns([LETTER, {**LETTER, "letter_id": "y", "received_at": 0}]), "t")

    first, second = any_store.dead_letters()

    assert (first.letter_id, first.received, first.bytes) == ("x", 1_700_000_000_123_000_000, b"\x00\xff'")
    assert second.letter_id == "y"
    assert any_store.dead_letters(1) == [first]


def test_data_that_does_not_fit_is_refused_for_good(any_store: Store) -> None:
    with pytest.raises(StoreError) as refusal:
        put_spans(any_store, span_row(start_unix_nano="yesterday"))

    assert not isinstance(refusal.value, StoreUnreachableError)
    put_spans(any_store, span_row(), token="next")
    assert any_store.read_traces([("default", TRACE)])


def test_an_empty_insert_stores_nothing(any_store: Store) -> None:
    any_store.insert("spans", {name: [] for name in span_row()}, "t")

    assert _count(any_store, "spans") == 0


def test_a_closed_store_says_so(any_store: Store) -> None:
    any_store.close()

    with pytest.raises(StoreError, match="closed"):
        any_store.rows(Query.READ_RESULTS)


def _count(store: Store, table: str) -> int:
    with store._connection() as connection:
        (count,) = connection.client.query(f"SELECT count() FROM {table}").result_rows[0]
    assert isinstance(count, int)
    return count
