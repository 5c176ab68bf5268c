"""Deletes trials by a filter, by session or by user, and says how much went."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from spanproof_collector.model.filters import Filter
from spanproof_collector.retention.dead_letters import find_dead_letters
from spanproof_collector.retention.doomed import Doomed, loose_parts, names_session, of_members
from spanproof_collector.retention.users import Named, find_user
from spanproof_collector.store import Counted, Deletion, Part, Store, count, count_results, purge
from spanproof_collector.trials import Component, Member, TraceInfo, Unit, read_components

Reason = Literal["filter", "session", "user", "age"]
_TRACES_A_STEP: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """What went, or with ``dry_run`` would go."""

    trials: int
    counted: Counted
    dry_run: bool = False
    old_parts: int = 0
    """Files of the engine's that still hold what went, because somebody is reading them; they go when that is done."""


def delete(store: Store, wanted: Filter, *, unit: Unit = "session", dry_run: bool = False) -> Deleted:
    """Delete the trials that the filter chooses: spans, log records, content, projection, results, dead letters.

    It is on no disk of the store's any more when this returns, and what comes again is stored again.

    Raises:
        StoreError: the store failed. What went is gone; the same deletion again takes the rest.
    """
    components = read_components(store, wanted, unit=unit)
    return remove(store, _chosen(store, components, lambda member: member.wanted), "filter", dry_run=dry_run)


def delete_sessions(
    store: Store, sessions: Sequence[str], *, projects: Sequence[str] = (), dry_run: bool = False
) -> Deleted:
    """Delete the trials of which anything names one of these sessions, in every project or in those that are named.

    Raises:
        StoreError: as for ``delete``.
    """
    asked = frozenset(sessions)

    def holds(traces: list[TraceInfo]) -> bool:
        return any(asked & frozenset(trace.sessions) for trace in traces)

    components = read_components(store, Filter(projects=tuple(projects)), choose=holds)
    doomed = _chosen(store, components, lambda member: names_session(member, asked))
    return remove(store, doomed, "session", names=sessions, dry_run=dry_run)


def delete_user(store: Store, user: str, *, projects: Sequence[str] = (), dry_run: bool = False) -> Deleted:
    """Delete the trials of which anything names the user, whole, and log records of no trial that name the user.

    Raises:
        StoreError: as for ``delete``.
    """
    named = find_user(store, user)

    def holds(traces: list[TraceInfo]) -> bool:
        return any(trace.key in named.traces or (trace.loose and named.loose) for trace in traces)

    components = read_components(store, Filter(projects=tuple(projects)), choose=holds)
    doomed = _chosen(store, components, lambda member: _names(member, named))
    rest = [
        Doomed(project=project, parts=list(loose_parts(project, [record_id for _, record_id in records])))
        for project, records in itertools.groupby(sorted(named.loose), key=lambda each: each[0])
        if not projects or project in projects
    ]
    return remove(store, itertools.chain(doomed, rest), "user", names=[user], dry_run=dry_run)


def remove(
    store: Store, doomed: "Iterator[Doomed]", reason: Reason, *, names: Sequence[str] = (), dry_run: bool = False
) -> Deleted:
    """Delete what is doomed, or count it; ``names`` are looked for in dead letters, besides the ids of the traces.

    Everything is found before anything is deleted: what goes would change which trials the rest makes up.
    """
    by_project: dict[str, Doomed] = {}
    for each in doomed:
        by_project.setdefault(each.project, Doomed(project=each.project)).add(each)
    traces = {trace_id: None for each in by_project.values() for trace_id in each.trace_ids}
    letters = find_dead_letters(store, traces=traces, names=names)
    trials = sum(each.trials for each in by_project.values())
    total = Counted()
    if dry_run:
        for each in by_project.values():
            for part in _parts(each):
                total += count(store, part)
            total += count_results(store, each.project, list(each.keys))
        return Deleted(trials=trials, counted=total + Counted(dead_letters=len(letters)), dry_run=True)
    deletion = Deletion(store, reason)
    for each in by_project.values():
        for part in _parts(each):
            total += deletion.delete(part)
        total += deletion.delete_results(each.project, list(each.keys))
    total += deletion.delete_dead_letters(letters)
    left = purge(store) if total != Counted() else 0
    deletion.finish(trials, total)
    return Deleted(trials=trials, counted=total, old_parts=left)


def _parts(doomed: Doomed) -> Iterator[Part]:
    traces = list(doomed.traces)
    for first in range(0, len(traces), _TRACES_A_STEP):
        yield Part(project=doomed.project, traces=tuple(traces[first : first + _TRACES_A_STEP]))
    yield from doomed.parts


def _chosen(store: Store, components: Iterator[Component], choose: Callable[[Member], bool]) -> Iterator[Doomed]:
    for component in components:
        chosen = [member for member in component.members if choose(member)]
        if chosen:
            yield of_members(store, component, chosen)


def _names(member: Member, named: Named) -> bool:
    project = member.trial.project
    return any((project, span.trace_id, span.span_id) in named.spans for span in member.records.spans) or any(
        (project, record.record_id) in named.records for record in member.records.logs
    )
