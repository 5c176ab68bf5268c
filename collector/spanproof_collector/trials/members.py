"""Trials with what they are made of, component by component: the traces that must be read together."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from spanproof_collector.model.filters import Filter
from spanproof_collector.model.spans import LogRecord, Span
from spanproof_collector.model.tool_catalogue import EMPTY, ToolCatalogue
from spanproof_collector.model.trials import Trial
from spanproof_collector.store import Records, Store, read_loose_logs
from spanproof_collector.trials.assemble import assemble
from spanproof_collector.trials.finding import find_components
from spanproof_collector.trials.grouping import Links, TraceInfo, TraceKey, TrialRecords, Unit, split
from spanproof_collector.trials.listing import list_components
from spanproof_collector.trials.matching import matches, may_match

_TRACES_AT_ONCE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A trial of a component, its spans and log records, and whether it is asked for."""

    trial: Trial
    records: TrialRecords
    wanted: bool

    @property
    def items(self) -> list[Span | LogRecord]:
        """Its spans, then its log records."""
        return [*self.records.spans, *self.records.logs]

    @property
    def traces(self) -> dict[TraceKey, None]:
        """The traces that it has a part in, in the order of its spans."""
        return {(self.trial.project, item.trace_id): None for item in self.items if item.trace_id}

    @property
    def loose(self) -> list[str]:
        """The ids of its log records that name no trace."""
        return [record.record_id for record in self.records.logs if not record.trace_id]


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """Traces that are read together, and the trials that they make up."""

    traces: list[TraceInfo]
    members: list[Member]

    @property
    def wanted(self) -> list[Member]:
        """The trials that are asked for."""
        return [member for member in self.members if member.wanted]


def _batches(groups: Iterator[list[TraceInfo]]) -> Iterator[list[list[TraceInfo]]]:
    batch: list[list[TraceInfo]] = []
    for group in groups:
        batch.append(group)
        if sum(map(len, batch)) >= _TRACES_AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


def _members(
    group: Sequence[TraceInfo],
    records: Mapping[TraceKey, Records],
    links: Links,
    unit: Unit,
    wanted: Filter,
    catalogue: ToolCatalogue,
) -> Iterator[Member]:
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
        assembled = assemble(
            part,
            whole_traces={key[1]: found for key, found in spans.items() if key in own},
            source=stored.source,
            path=stored.path,
            lost_values=sum(len(records[key].lost) for key in own),
            catalogue=catalogue,
        )
        received = max(records[key].received_at for key in own)
        trial = replace(assembled, received_at=received or None)
        yield Member(trial=trial, records=part, wanted=matches(trial, wanted))


def _time(item: Span | LogRecord) -> int:
    return item.start if isinstance(item, Span) else item.time or item.observed_time


def read_components(
    store: Store,
    wanted: Filter | None = None,
    *,
    unit: Unit = "session",
    progress: Callable[[int, int], None] = lambda done, of: None,
    traces: Collection[TraceKey] | None = None,
    choose: Callable[[list[TraceInfo]], bool] = lambda traces: True,
    catalogue: ToolCatalogue = EMPTY,
) -> Iterator[Component]:
    """Yield each component that may hold one that is asked for, in the order of their first starts.

    Every trial is read whole: a filter chooses trials, it never cuts one.

    Args:
        store: where the spans are.
        wanted: which trials; ``None`` for all.
        unit: ``trace`` splits sessions by trace.
        progress: told how many traces of how many have been read.
        traces: only components that hold one of these.
        choose: only components of which this is true.
        catalogue: what people say of tools.
    """
    asked = wanted or Filter()
    listing = find_components(store, asked, traces, unit=unit) or list_components(store, unit=unit)
    groups = [
        group
        for group in listing.components
        if may_match(group, asked) and (traces is None or any(trace.key in traces for trace in group)) and choose(group)
    ]
    total, done = sum(map(len, groups)), 0
    for batch in _batches(iter(groups)):
        stored = [trace for group in batch for trace in group if not trace.loose]
        logless = {trace.key for trace in stored if not trace.logged}
        records = store.read_traces([trace.key for trace in stored], logless=logless)
        names = {listing.loose[trace.key].key: trace.key for group in batch for trace in group if trace.loose}
        found = read_loose_logs(store, [listing.loose[key] for key in names.values()])
        records |= {names[key]: each for key, each in found.items()}
        for group in batch:
            yield Component(traces=group, members=list(_members(group, records, listing.links, unit, asked, catalogue)))
            done += len(group)
            progress(done, total)
