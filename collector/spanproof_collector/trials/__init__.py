"""Stored spans replayed into trials."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from spanproof_collector.model.filters import Filter
from spanproof_collector.model.spans import LogRecord, Span
from spanproof_collector.model.trials import Trial
from spanproof_collector.store import Query, Records, Store
from spanproof_collector.trials.assemble import assemble
from spanproof_collector.trials.claims import of_text
from spanproof_collector.trials.effects import infer_class
from spanproof_collector.trials.grouping import TraceInfo, TraceKey, Unit, components, history_links, split
from spanproof_collector.trials.matching import matches, may_match
from spanproof_collector.trials.reindexing import Reindexed, reindex

__all__ = ["Reindexed", "Unit", "infer_class", "of_text", "read_trials", "reindex"]

_TRACES_AT_ONCE = 200
_NAMES = ("tasks", "suites", "variants")


def _traces(store: Store) -> list[TraceInfo]:
    found = []
    for block in store.blocks(Query.LIST_TRACES):
        for project, trace_id, start, end, sessions, labels, *names in block:
            found.append(
                TraceInfo(
                    project=cast(str, project),
                    trace_id=cast(str, trace_id),
                    start=cast(int, start),
                    end=cast(int, end),
                    sessions=tuple(cast("list[str]", sessions)),
                    labels=tuple(cast("list[str]", labels)),
                    names={
                        field: frozenset(cast("list[str]", values)) for field, values in zip(_NAMES, names, strict=True)
                    },
                )
            )
    return found


def _links(store: Store, traces: Sequence[TraceInfo], unit: Unit) -> dict[TraceKey, TraceKey]:
    """Which trace goes on where another stopped; only asked where some trace carries no session."""
    if unit == "trace" or not any(trace.bare for trace in traces):
        return {}
    keys: dict[TraceKey, frozenset[str]] = {}
    for block in store.blocks(Query.LIST_JOIN_KEYS):
        for project, trace_id, found in block:
            keys[(cast(str, project), cast(str, trace_id))] = frozenset(cast("list[str]", found))
    return history_links(traces, keys)


def _batches(groups: Iterator[list[TraceInfo]]) -> Iterator[list[list[TraceInfo]]]:
    batch: list[list[TraceInfo]] = []
    for group in groups:
        batch.append(group)
        if sum(map(len, batch)) >= _TRACES_AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


def _trials(
    group: Sequence[TraceInfo],
    records: Mapping[TraceKey, Records],
    links: Mapping[TraceKey, TraceKey],
    unit: Unit,
) -> Iterator[Trial]:
    spans: dict[TraceKey, Sequence[Span]] = {}
    logs: dict[TraceKey, Sequence[LogRecord]] = {}
    for trace in group:
        stored = records.get(trace.key)
        if stored is not None:
            spans[trace.key], logs[trace.key] = stored.spans, stored.logs
    for part in split(group, spans, logs, links, unit=unit):
        items: list[Span | LogRecord] = [*part.spans, *part.logs]
        first = min(items, key=lambda item: (_time(item), item.trace_id))
        stored = records[(first.project, first.trace_id)]
        own = {item.trace_id for item in items}
        yield assemble(
            part,
            whole_traces={key[1]: found for key, found in spans.items() if key[1] in own},
            source=stored.source,
            path=stored.path,
            lost_values=sum(len(records[(first.project, trace_id)].lost) for trace_id in own),
        )


def _time(item: Span | LogRecord) -> int:
    return item.start if isinstance(item, Span) else item.time or item.observed_time


def read_trials(store: Store, wanted: Filter | None = None, *, unit: Unit = "session") -> Iterator[Trial]:
    """Return the trials that are asked for, in the order in which their components began.

    Every trial is read whole: a filter chooses trials, it never cuts one.

    Args:
        store: where the spans are.
        wanted: which trials; ``None`` for all.
        unit: ``trace`` splits sessions by trace.
    """
    asked = wanted or Filter()
    traces = _traces(store)
    links = _links(store, traces, unit)
    groups = (group for group in components(traces, links, unit=unit) if may_match(group, asked))
    for batch in _batches(groups):
        records = store.read_traces([trace.key for group in batch for trace in group])
        for group in batch:
            for trial in _trials(group, records, links, unit):
                if matches(trial, asked):
                    yield trial
