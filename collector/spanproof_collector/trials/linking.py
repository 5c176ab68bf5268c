"""Which traces without a session belong together all the same: by history, or as protocol work beside a run."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from spanproof_collector.trials.grouping import TraceInfo, TraceKey

CONTINUED_BY: Final = (("ends", "extends"), ("asked", "holds"), ("asked", "answered"))
"""Kinds of join keys: where a trace stopped, and how one that goes on from there says so."""

_STOPPED: Final = {continuing: stopped for stopped, continuing in CONTINUED_BY}


def history_links(traces: Sequence[TraceInfo], keys: Mapping[TraceKey, frozenset[str]]) -> dict[TraceKey, TraceKey]:
    """Return, for each trace that goes on where another stopped, that other trace.

    A trace goes on where the latest earlier trace stopped whose conversation it extends, or one of whose calls it holds
    or answers. Only a bare trace goes on: sessions that are named are never joined to each other. Each trace is gone on
    from once, where there is a choice: equal conversations run many times stay apart.
    """
    ends: dict[tuple[str, str], list[TraceInfo]] = defaultdict(list)
    for trace in traces:
        for key in keys.get(trace.key, frozenset()):
            kind, _, value = key.partition(":")
            if kind in _STOPPED.values():
                ends[(trace.project, f"{kind}:{value}")].append(trace)
    links: dict[TraceKey, TraceKey] = {}
    taken: set[TraceKey] = set()
    for trace in sorted((t for t in traces if t.bare), key=lambda t: (t.start, t.trace_id)):
        found: dict[TraceKey, TraceInfo] = {}
        for key in keys.get(trace.key, frozenset()):
            kind, _, value = key.partition(":")
            wanted = _STOPPED.get(kind)
            for other in ends.get((trace.project, f"{wanted}:{value}"), ()) if wanted else ():
                if (other.start, other.trace_id) < (trace.start, trace.trace_id):
                    found[other.key] = other
        if found:
            latest = max(found.values(), key=lambda t: (t.key not in taken, t.start, t.trace_id))
            links[trace.key] = latest.key
            taken.add(latest.key)
    return links


def protocol_links(traces: Sequence[TraceInfo]) -> dict[TraceKey, TraceKey]:
    """Return, for each trace of nothing but a protocol's own work, the trace of the run during which it happened.

    A server writes such traces for messages that carry no context (MCP: ``notifications/initialized``). Where several
    runs went on at that time, nobody knows whose it was, and it stands alone.
    """
    links: dict[TraceKey, TraceKey] = {}
    open_now: dict[str, list[TraceInfo]] = defaultdict(list)
    if not any(trace.protocol for trace in traces):
        return links
    for trace in sorted(traces, key=lambda t: (t.start, t.protocol, t.trace_id)):
        around = open_now[trace.project] = [other for other in open_now[trace.project] if other.end >= trace.start]
        if not trace.protocol:
            if not trace.loose:
                around.append(trace)
        elif trace.bare:
            whole = [other for other in around if other.end >= trace.end]
            if len(whole) == 1:
                links[trace.key] = whole[0].key
    return links
