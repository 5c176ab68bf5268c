"""Stored spans replayed into trials."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from spanproof_collector.model.filters import Filter
from spanproof_collector.model.spans import LogRecord, Span
from spanproof_collector.model.trials import Trial
from spanproof_collector.store import LooseLogs, Query, Records, Store, list_loose_logs, read_loose_logs
from spanproof_collector.trials.assemble import assemble
from spanproof_collector.trials.claims import of_text
from spanproof_collector.trials.effects import infer_class
from spanproof_collector.trials.grouping import Links, TraceInfo, TraceKey, Unit, components, split
from spanproof_collector.trials.linking import history_links, protocol_links
from spanproof_collector.trials.matching import matches, may_match
from spanproof_collector.trials.reindexing import Reindexed, reindex

__all__ = ["Reindexed", "Unit", "infer_class", "of_text", "read_trials", "reindex"]

_TRACES_AT_ONCE = 200
_NAMES = ("tasks", "suites", "variants")


def _traces(store: Store) -> list[TraceInfo]:
    found = []
    for block in store.blocks(Query.LIST_TRACES):
        for project, trace_id, start, end, sessions, labels, protocol, *names in block:
            found.append(
                TraceInfo(
                    project=cast(str, project),
                    trace_id=cast(str, trace_id),
                    start=cast(int, start),
                    end=cast(int, end),
                    sessions=tuple(cast("list[str]", sessions)),
                    labels=tuple(cast("list[str]", labels)),
                    protocol=bool(protocol),
                    names={
                        field: frozenset(cast("list[str]", values)) for field, values in zip(_NAMES, names, strict=True)
                    },
                )
            )
    return found


def _loose(known: LooseLogs) -> TraceInfo:
    """Log records without a trace, beside the traces: they belong where their session or trial is."""
    project, session_id, trial_id = known.key
    return TraceInfo(
        project=project,
        trace_id=f"\0{session_id}\0{trial_id}",
        start=known.first,
        end=known.last,
        sessions=(session_id,) if session_id else (),
        labels=(trial_id,) if trial_id else (),
        loose=True,
    )


def _links(store: Store, traces: Sequence[TraceInfo], unit: Unit) -> Links:
    """Which trace goes on where another stopped; only asked where some trace carries no session."""
    if unit == "trace" or not any(trace.bare for trace in traces):
        return Links()
    keys: dict[TraceKey, frozenset[str]] = {}
    for block in store.blocks(Query.LIST_JOIN_KEYS):
        for project, trace_id, found in block:
            keys[(cast(str, project), cast(str, trace_id))] = frozenset(cast("list[str]", found))
    return Links(history=history_links(traces, keys), protocol=protocol_links(traces))


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
    links: Links,
    unit: Unit,
) -> Iterator[Trial]:
    spans: dict[TraceKey, Sequence[Span]] = {}
    logs: dict[TraceKey, Sequence[LogRecord]] = {}
    loose: dict[int, TraceKey] = {}
    for trace in group:
        stored = records.get(trace.key)
        if stored is not None:
            spans[trace.key], logs[trace.key] = stored.spans, stored.logs
            loose |= {id(record): trace.key for record in (stored.logs if trace.loose else ())}
    for part in split(group, spans, logs, links, unit=unit):
        items: list[Span | LogRecord] = [*part.spans, *part.logs]
        held = [loose.get(id(item), (item.project, item.trace_id)) for item in items]
        _, first = min((_time(item), key) for item, key in zip(items, held, strict=True))
        stored, own = records[first], set(held)
        yield assemble(
            part,
            whole_traces={key[1]: found for key, found in spans.items() if key in own},
            source=stored.source,
            path=stored.path,
            lost_values=sum(len(records[key].lost) for key in own),
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
    known = {trace.key: logs for logs in list_loose_logs(store) if (trace := _loose(logs))}
    traces += map(_loose, known.values())
    links = _links(store, traces, unit)
    groups = (group for group in components(traces, links, unit=unit) if may_match(group, asked))
    for batch in _batches(groups):
        records = store.read_traces([trace.key for group in batch for trace in group if not trace.loose])
        wanted_logs = {known[trace.key].key: trace.key for group in batch for trace in group if trace.loose}
        found_logs = read_loose_logs(store, [known[key] for key in wanted_logs.values()])
        records |= {wanted_logs[key]: found for key, found in found_logs.items()}
        for group in batch:
            for trial in _trials(group, records, links, unit):
                if matches(trial, asked):
                    yield trial
