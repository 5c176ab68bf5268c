"""Deletes rows so that nothing of them stays on the disk, and so that writers learn of it.

Each step is a row in ``deletions`` before and one after: what writers remember of the store is void then, and what they
write meanwhile they write again (``pipeline.committing``). Rows go by a lightweight delete first, which hides them at
once. ``purge`` then writes the parts anew that held them, and removes the old ones.
"""

import hashlib
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import Final, cast

from spanproof_collector.store.queries import Query
from spanproof_collector.store.store import Store

TABLES: Final = (
    *("spans", "log_records", "steps", "log_steps", "content"),
    *("trials", "trial_traces", "results", "dead_letters"),
)
"""Every table that holds anything of what was sent."""

_KEYS_AT_ONCE: Final = 2_000
_PATIENCE_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """How much went, or would go. ``bytes`` is the size of spans, log records and their content before compression."""

    spans: int = 0
    log_records: int = 0
    content_rows: int = 0
    results: int = 0
    dead_letters: int = 0
    bytes: int = 0

    def __add__(self, other: "Counted") -> "Counted":
        """Return the sum of both."""
        return Counted(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Spans and log records of traces of one project: those named, or all where none is named.

    Log records that name no trace are those of the trace ``""``; of that one they are always named.
    """

    project: str
    traces: tuple[str, ...]
    spans: tuple[str, ...] = ()
    records: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """True where the traces go with everything in them."""
        return not self.spans and not self.records


class Deletion:
    """One deletion, in steps. Every step may be repeated; what is gone is gone."""

    def __init__(self, store: Store, reason: str) -> None:
        self._store = store
        self._reason = reason
        self._id = uuid.uuid4().hex
        self._events = 0

    def delete(self, part: Part) -> Counted:
        """Delete a part, and the long texts that nothing refers to any more."""
        if not part.traces:
            return Counted()
        asked = _parameters(part)
        with self._step():
            found = count(self._store, part)
            if part.whole:
                self._store.command(Query.DELETE_CONTENT, {**asked, "hashes": []})
            for query in (Query.DELETE_SPANS, Query.DELETE_LOG_RECORDS):
                self._store.command(query, asked)
            for trace_id in () if part.whole else part.traces:
                found += self._delete_unreferenced(part.project, trace_id)
            # Last, because it is what finds the rest again where a deletion was killed.
            for query in (Query.DELETE_STEPS, Query.DELETE_LOG_STEPS):
                self._store.command(query, asked)
        return found

    def delete_results(self, project: str, keys: Sequence[str]) -> Counted:
        """Delete what evaluators said of trials, and the rows they were read into, by the keys of their results."""
        found = Counted()
        for first in range(0, len(keys), _KEYS_AT_ONCE):
            some = keys[first : first + _KEYS_AT_ONCE]
            results = count_results(self._store, project, some)
            ((rows,),) = self._store.rows(Query.COUNT_TRIAL_ROWS, {"project": project, "trials": list(some)})
            if not results.results and not rows:
                continue
            hashes = [hashlib.sha256(key.encode("utf-8", "replace")).hexdigest() for key in some]
            with self._step():
                for query in (Query.DELETE_RESULTS, Query.DELETE_TRIALS, Query.DELETE_TRIAL_TRACES):
                    self._store.command(query, {"project": project, "trials": hashes})
            found += results
        return found

    def delete_dead_letters(self, letter_ids: Sequence[str]) -> Counted:
        """Delete letters."""
        if letter_ids:
            with self._step():
                self._store.command(Query.DELETE_DEAD_LETTERS, {"letters": list(letter_ids)})
        return Counted(dead_letters=len(letter_ids))

    def finish(self, trials: int, counted: Counted) -> None:
        """Keep how much went. Where nothing did, nothing is kept."""
        if self._events:
            self._record("done", {"trials": trials, **asdict(counted)})

    def _delete_unreferenced(self, project: str, trace_id: str) -> Counted:
        asked: dict[str, object] = {"project": project, "trace": trace_id}
        known = {cast(str, row[0]) for row in self._store.rows(Query.LIST_CONTENT, asked)}
        left = {cast(str, row[0]) for row in self._store.rows(Query.LIST_REFERENCES, asked)}
        if not known - left:
            return Counted()
        gone: dict[str, object] = {"project": project, "traces": [trace_id], "hashes": sorted(known - left)}
        found = _count_content(self._store, gone)
        self._store.command(Query.DELETE_CONTENT, gone)
        return found

    @contextmanager
    def _step(self) -> Iterator[None]:
        self._record("begun", {})
        try:
            yield
        finally:
            self._record("ended", {})

    def _record(self, event: str, counts: Mapping[str, int]) -> None:
        self._events += 1
        row = {"deletion_id": self._id, "event": event, "reason": self._reason, **counts}
        self._store.insert("deletions", {name: [value] for name, value in row.items()}, f"{self._id}-{self._events}")


def end_abandoned(store: Store) -> None:
    """Say of each deletion that stopped in a step that the step is over. Only who has the store alone may say so."""
    for (deletion_id,) in store.rows(Query.LIST_OPEN_DELETIONS):
        store.insert(
            "deletions", {"deletion_id": [deletion_id], "event": ["ended"], "reason": ["abandoned"]}, uuid.uuid4().hex
        )
    store.read_deletions()


def count(store: Store, part: Part) -> Counted:
    """Return how much a part is. Of one that is not whole, long texts are counted when they are deleted."""
    if not part.traces:
        return Counted()
    asked = _parameters(part)
    rows = {row[0]: cast("tuple[int, int]", row[1:3]) for row in store.rows(Query.COUNT_ROWS, asked)}
    (spans, span_bytes), (logs, log_bytes) = rows["spans"], rows["log_records"]
    found = Counted(spans=spans, log_records=logs, bytes=span_bytes + log_bytes)
    return found + _count_content(store, {**asked, "hashes": []}) if part.whole else found


def count_results(store: Store, project: str, keys: Sequence[str]) -> Counted:
    """Return how many words of evaluators there are under these keys."""
    found = 0
    for first in range(0, len(keys), _KEYS_AT_ONCE):
        some = list(keys[first : first + _KEYS_AT_ONCE])
        found += cast(int, store.rows(Query.COUNT_RESULTS, {"project": project, "trials": some})[0][0])
    return Counted(results=found)


def purge(store: Store) -> int:
    """Remove deleted rows from the disk; return how many old parts still lie there, because somebody reads them.

    Those go when the last who reads them is done.
    """
    waits = cast(int, store.rows(Query.READ_PARTS_LIFETIME)[0][0]) > 0
    for table in TABLES:
        store.command(Query.PURGE_TABLE, {"table": table})
    old = _inactive(store)
    try:
        for table in TABLES if waits else ():
            store.command(Query.KEEP_NO_PARTS, {"table": table})
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            for table in sorted({name.split(" ")[0] for name in old}):
                store.command(Query.DROP_INACTIVE_PARTS, {"table": table})
            old &= _inactive(store)
            if not old or time.monotonic() >= deadline:
                return len(old)
            time.sleep(_POLL_SECONDS)
    finally:
        for table in TABLES if waits else ():
            store.command(Query.KEEP_PARTS, {"table": table})


def _parameters(part: Part) -> dict[str, object]:
    # No name stands for everything, so where only the others are named there is one that nothing has.
    nothing = [] if part.whole else ["-"]
    return {
        "project": part.project,
        "traces": list(part.traces),
        "spans": list(part.spans) or nothing,
        "records": list(part.records) or nothing,
    }


def _count_content(store: Store, asked: Mapping[str, object]) -> Counted:
    ((rows, size),) = cast("list[tuple[int, int]]", store.rows(Query.COUNT_CONTENT, asked))
    return Counted(content_rows=rows, bytes=size)


def _inactive(store: Store) -> set[str]:
    return {cast(str, row[0]) for row in store.rows(Query.LIST_INACTIVE_PARTS, {"tables": list(TABLES)})}
