"""Of rows that tell of one span or log record, which one stands, in whatever order the store gives them."""

from itertools import permutations

from spanproof_collector.store.records import Row, each_once, richest


def _span(version: int, *, start: int = 5, path: str = "", span_id: str = "s") -> Row:
    row: list[object] = [""] * 25
    row[1], row[3], row[22], row[23] = span_id, start, path, version
    return tuple(row)


def _record(record_id: str, *, time: int = 5, path: str = "") -> Row:
    row: list[object] = [""] * 20
    row[2], row[3], row[18] = record_id, time, path
    return tuple(row)


def test_the_richest_row_of_a_span_stands_then_the_earliest_start_then_the_last_path() -> None:
    best = _span(9, start=4, path="b")
    rows = [best, _span(9, start=4, path="a"), _span(9, start=6, path="c"), _span(8, start=1, path="d")]

    assert {tuple(richest(order)) for order in permutations(rows)} == {(best,)}


def test_every_span_id_keeps_a_row() -> None:
    assert len(list(richest([_span(1), _span(1), _span(1, span_id="other")]))) == 2


def test_a_log_record_is_there_once_that_of_the_last_path_and_records_are_in_order_of_time_then_ids() -> None:
    kept = [_record("b", time=1), _record("a", path="2.jsonl"), _record("b")]
    rows = [*kept, _record("a", path="1.jsonl")]

    assert {tuple(each_once(order)) for order in permutations(rows)} == {tuple(kept)}
