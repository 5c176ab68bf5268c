"""Log records that name no trace: read by the session or the trial that they name.

They share one trace id, the empty one, so they are never read by it: what is read is bounded by session and by number,
and of their long texts only those that the records refer to.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, cast

from spanproof_collector.store.queries import Query
from spanproof_collector.store.records import RecordReader, Records, Row, Shared
from spanproof_collector.store.store import Store
from spanproof_collector.store.values import LIST, WHOLE

MOST: Final = 50_000
"""How many records of one session are read, the first ones; that there are more is told in ``Records.lost``."""

_SESSIONS_PER_READ: Final = 100
_HASHES_PER_READ: Final = 1_000
_OUT_OF_LINE: Final = WHOLE | LIST


class LooseKey(NamedTuple):
    """What log records without a trace have in common. Session and trial are ``""`` where they name none."""

    project: str
    session_id: str
    trial_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LooseLogs:
    """That there are such records, from when to when, and when the last one came, in Unix nanoseconds."""

    key: LooseKey
    first: int
    last: int
    received: int = 0


def list_loose_logs(store: Store) -> list[LooseLogs]:
    """Return which sessions and trials have log records without a trace."""
    return [_loose_logs(row) for block in store.blocks(Query.LIST_LOOSE_LOGS) for row in block]


def find_loose_logs(store: Store, trials: Sequence[str], sessions: Sequence[str], most: int) -> list[LooseLogs]:
    """Return those of ``list_loose_logs`` that name one of these trials or sessions, no more than ``most``."""
    asked = {"trials": list(trials), "sessions": list(sessions), "limit": most}
    return [_loose_logs(row) for row in store.rows(Query.FIND_LOOSE_LOGS, asked)]


def _loose_logs(row: Row) -> LooseLogs:
    return LooseLogs(
        key=LooseKey(*cast("tuple[str, str, str]", row[:3])),
        first=cast(int, row[3]),
        last=cast(int, row[4]),
        received=cast(int, row[5]) * 1_000_000,
    )


def read_loose_logs(store: Store, asked: Sequence[LooseLogs], *, most: int = MOST) -> dict[LooseKey, Records]:
    """Return the records of these sessions and trials, in order of time.

    Args:
        store: where they are.
        asked: which.
        most: how many of each are read.
    """
    by_project: dict[str, list[LooseLogs]] = defaultdict(list)
    for one in asked:
        by_project[one.key.project].append(one)
    found: dict[LooseKey, Records] = {}
    shared = Shared()
    for project, wanted in by_project.items():
        for first in range(0, len(wanted), _SESSIONS_PER_READ):
            found.update(_read_some(store, project, wanted[first : first + _SESSIONS_PER_READ], shared, most))
    return found


def _read_some(
    store: Store, project: str, wanted: Sequence[LooseLogs], shared: Shared, most: int
) -> Iterator[tuple[LooseKey, Records]]:
    rows: dict[LooseKey, dict[str, Row]] = defaultdict(dict)
    found: list[Row] = []
    for row in store.rows(
        Query.READ_LOOSE_LOG_RECORDS,
        {
            "project": project,
            "sessions": [one.key.session_id for one in wanted],
            "trials": [one.key.trial_id for one in wanted],
            "first": min(one.first for one in wanted),
            "last": max(one.last for one in wanted),
            "limit": most + 1,
        },
    ):
        *columns, session_id, trial_id = row
        rows[LooseKey(project, cast(str, session_id), cast(str, trial_id))][cast(str, row[2])] = tuple(columns)
        found.append(row)
    content = read_loose_content(store, project, found)
    for key, known in rows.items():
        read = RecordReader(project, content, shared).read((), list(known.values())[:most])
        cut = (("", "log records"),) if len(known) > most else ()
        yield key, replace(read, lost=(*read.lost, *cut))


def read_loose_content(store: Store, project: str, rows: Iterable[Row]) -> dict[str, str]:
    """Return the long texts, by hash, that these log records without a trace refer to."""
    asked = list(dict.fromkeys(digest for row in rows for digest in _hashes(row)))
    content: dict[str, str] = {}
    for first in range(0, len(asked), _HASHES_PER_READ):
        some = {"project": project, "hashes": asked[first : first + _HASHES_PER_READ]}
        content.update(cast("list[tuple[str, str]]", store.rows(Query.READ_LOOSE_CONTENT, some)))
    return content


def _hashes(row: Row) -> Iterator[str]:
    """The content rows that a record refers to, in its body and its attributes."""
    kinds = (cast(int, row[8]), *cast("list[int]", row[11]))
    texts = (cast(str, row[9]), *cast("list[str]", row[12]))
    for kind, text in zip(kinds, texts, strict=True):
        if kind & _OUT_OF_LINE:
            yield from text.split(" ")
