"""What the projection knows of every trace, the traces of a component together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

from spanproof_collector.store import LooseLogs, Query, Store, list_loose_logs
from spanproof_collector.trials.grouping import Links, TraceInfo, TraceKey, Unit, components
from spanproof_collector.trials.linking import history_links, protocol_links

_NAMES: Final = ("tasks", "suites", "variants")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What the projection knows of traces, those of a component together. No span was read for it."""

    components: list[list[TraceInfo]]
    links: Links
    loose: dict[TraceKey, LooseLogs]
    """The log records that name no trace, by what stands for a trace of theirs."""


def list_components(store: Store, *, unit: Unit = "session") -> Listing:
    """Return every trace, those of a component together, components in the order of their first starts."""
    traces = [trace_info(row) for block in store.blocks(Query.LIST_TRACES) for row in block]
    loose = {(info := loose_info(logs)).key: (info, logs) for logs in list_loose_logs(store)}
    traces += [info for info, _ in loose.values()]
    links = _links(store, traces, unit)
    return Listing(
        components=list(components(traces, links, unit=unit)),
        links=links,
        loose={key: logs for key, (_, logs) in loose.items()},
    )


def trace_info(row: Sequence[object]) -> TraceInfo:
    """Return what a row of LIST_TRACES says."""
    project, trace_id, start, end, sessions, labels, protocol, received, logged, *names = row
    return TraceInfo(
        project=cast(str, project),
        trace_id=cast(str, trace_id),
        start=cast(int, start),
        end=cast(int, end),
        sessions=tuple(cast("list[str]", sessions)),
        labels=tuple(cast("list[str]", labels)),
        protocol=bool(protocol),
        received=cast(int, received) * 1_000_000,
        logged=bool(logged),
        names={field: frozenset(cast("list[str]", values)) for field, values in zip(_NAMES, names, strict=True)},
    )


def loose_info(known: LooseLogs) -> TraceInfo:
    """Return what stands beside the traces for log records without one: they belong where their session or trial is."""
    project, session_id, trial_id = known.key
    return TraceInfo(
        project=project,
        trace_id=f"\0{session_id}\0{trial_id}",
        start=known.first,
        end=known.last,
        sessions=(session_id,) if session_id else (),
        labels=(trial_id,) if trial_id else (),
        received=known.received,
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
