"""The canonical projection, made again from what is stored: a better dialect reads old spans better."""

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar, cast

from spanproof_collector.dialects import LogProjection, Projection, SpanView, project, project_log
from spanproof_collector.model.spans import LogRecord, Span
from spanproof_collector.store import Query, Store, insert_derived

_TRACES_AT_ONCE = 200
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindexed:
    """How much was read anew."""

    spans: int
    log_records: int


def _chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk


def _span_columns(spans: Sequence[Span]) -> dict[str, Sequence[object]]:
    found = project(
        [SpanView(attributes=span.labeled, scope=span.scope.name, name=span.name, events=span.events) for span in spans]
    )
    columns: dict[str, Sequence[object]] = {
        "project": [span.project for span in spans],
        "trace_id": [span.trace_id for span in spans],
        "span_id": [span.span_id for span in spans],
        "parent_span_id": [span.parent_span_id for span in spans],
        "start_unix_nano": [span.start for span in spans],
        "end_unix_nano": [span.end for span in spans],
        "name": [span.name for span in spans],
        "failed": [span.status == "ERROR" for span in spans],
        "version": [span.version for span in spans],
    }
    return columns | dict(zip(Projection._fields, zip(*found, strict=True), strict=True))


def _log_columns(records: Sequence[LogRecord]) -> dict[str, Sequence[object]]:
    found = [project_log(r.labeled, event_name=r.event_name, body=r.body, scope_name=r.scope.name) for r in records]
    columns: dict[str, Sequence[object]] = {
        "project": [record.project for record in records],
        "trace_id": [record.trace_id for record in records],
        "span_id": [record.span_id for record in records],
        "record_id": [record.record_id for record in records],
        "time_unix_nano": [record.time for record in records],
        "event_name": [record.event_name for record in records],
    }
    return columns | dict(zip(LogProjection._fields, zip(*found, strict=True), strict=True))


def _write(store: Store, table: str, columns: dict[str, Sequence[object]], count: int) -> None:
    now = time.time_ns() // 1_000_000
    rows = {**columns, "ingested_at": [now] * count}
    # the time is in the token too: an equal block written before has been replaced since, and must not hide this one
    insert_derived(store, table, rows, hashlib.sha256(repr(rows).encode("utf-8", "surrogatepass")).hexdigest())


def reindex(store: Store) -> Reindexed:
    """Make the projection of everything stored again.

    New rows take the place of old ones with the same key; nothing is emptied first, so that a server may go on
    receiving and an interrupted run leaves a projection that is whole.
    """
    spans = records = 0
    traces = (
        (cast(str, name), cast(str, trace_id))
        for block in store.blocks(Query.LIST_STORED_TRACES)
        for name, trace_id in block
    )
    for chunk in _chunks(traces, _TRACES_AT_ONCE):
        found = store.read_traces(chunk).values()
        some_spans = [span for one in found for span in one.spans]
        some_records = [record for one in found for record in one.logs]
        if some_spans:
            _write(store, "steps", _span_columns(some_spans), len(some_spans))
        if some_records:
            _write(store, "log_steps", _log_columns(some_records), len(some_records))
        spans += len(some_spans)
        records += len(some_records)
    store.command(Query.SETTLE_STEPS)
    store.command(Query.SETTLE_LOG_STEPS)
    return Reindexed(spans=spans, log_records=records)
