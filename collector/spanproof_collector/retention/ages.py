"""Deletes what is older than its project is kept for, trial by trial: a trial goes when its newest span is too old."""

import time
from collections.abc import Iterable, Iterator
from typing import Final

from spanproof_collector.retention.deleting import Deleted, remove
from spanproof_collector.retention.doomed import Doomed, of_members, of_traces
from spanproof_collector.retention.policies import Policies, read_policies
from spanproof_collector.store import Store
from spanproof_collector.trials import Member, TraceInfo, list_components, read_components

_DAY: Final = 86_400 * 1_000_000_000
_NO_TIME: Final = (946_684_800 * 1_000_000_000, 4_102_444_800 * 1_000_000_000)
"""A clock that shows a time before the year 2000 or after 2099 is wrong: the time of arrival counts then."""


def apply_retention(store: Store, *, now: int | None = None, dry_run: bool = False) -> Deleted:
    """Delete what the stored policies give up. ``now`` is in Unix nanoseconds.

    Raises:
        StoreError: the store failed. What went is gone; applied again it takes the rest.
    """
    policies = read_policies(store)
    moment = time.time_ns() if now is None else now
    doomed = _doomed(store, policies, moment) if policies.limited else iter(())
    return remove(store, doomed, "age", dry_run=dry_run)


def _doomed(store: Store, policies: Policies, now: int) -> Iterator[Doomed]:
    mixed: set[tuple[str, str]] = set()
    for traces in list_components(store).components:
        days = policies.days(traces[0].project)
        if days is None:
            continue
        limit = now - days * _DAY
        if max(map(_age_of_trace, traces)) < limit:
            yield of_traces(store, traces)
        elif min(trace.start for trace in traces) < limit and any(trace.labels for trace in traces):
            # Several trials, some of which may be old, in traces that they may share.
            mixed.update(trace.key for trace in traces)
    if not mixed:
        return
    for component in read_components(store, choose=lambda traces: any(trace.key in mixed for trace in traces)):
        received = max(trace.received for trace in component.traces)
        days = policies.days(component.traces[0].project)
        old = [
            member
            for member in component.members
            if days is not None and _age_of_member(member, received) < now - days * _DAY
        ]
        if old:
            yield of_members(store, component, old)


def _age_of_trace(trace: TraceInfo) -> int:
    return _newest([trace.start, trace.end], trace.received)


def _age_of_member(member: Member, received: int) -> int:
    times = [time for span in member.records.spans for time in (span.start, span.end)]
    return _newest([*times, *(log.time or log.observed_time for log in member.records.logs)], received)


def _newest(times: Iterable[int], received: int) -> int:
    newest = max(times)
    return newest if _NO_TIME[0] <= newest < _NO_TIME[1] else received
