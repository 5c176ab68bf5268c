"""One store class over clickhouse-connect, for the embedded engine and for a server alike.

The one boundary at which every failure of driver or engine becomes a StoreError is ``Store._failing``.
"""

import contextlib
import errno
import hashlib
import struct
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import cast

from clickhouse_connect.driver import Client
from clickhouse_connect.driver.exceptions import ClickHouseError, DataError, OperationalError
from clickhouse_connect.driver.insert import InsertContext

from spanproof_collector.errors import StoreDamagedError, StoreError, StoreFullError, StoreUnreachableError
from spanproof_collector.model.results import ResultRow
from spanproof_collector.store.address import without_password
from spanproof_collector.store.engine import Engine
from spanproof_collector.store.migrating import Migration, migrate
from spanproof_collector.store.queries import Query
from spanproof_collector.store.records import RecordReader, Records, Row, Shared

_TRACES_PER_READ = 500
"""How many traces one statement asks for: enough to make its cost small, few enough to hold their content."""

_RESULT_COLUMNS = tuple(field.name for field in fields(ResultRow))


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """What was rejected, why, and its bytes. ``received`` is in Unix nanoseconds, to the millisecond."""

    letter_id: str
    received: int
    signal: str
    origin: str
    reason: str
    bytes: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletions:
    """How many times something began or ceased to be deleted from a store, and whether something is just now."""

    count: int
    running: bool


class _Connection:
    """A client and the inserts that it has prepared. One thread at a time."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._inserts: dict[tuple[str, ...], InsertContext] = {}

    def prepared(self, table: str, columns: Sequence[str]) -> InsertContext:
        """Return the insert into these columns. Asking the store for their types once halves the cost of an insert."""
        key = (table, *columns)
        context = self._inserts.get(key)
        if context is None:
            context = self._inserts[key] = self.client.create_insert_context(table, columns, column_oriented=True)
        return context


class Store:
    """Spans, logs, their projection and results. Safe to use from several threads; ``open_store`` opens one."""

    def __init__(
        self,
        address: str,
        connect: Callable[[], Client],
        *,
        engine: Engine | None = None,
        release: Callable[[], None] = lambda: None,
    ) -> None:
        self.address = without_password(address)
        self.engine = engine
        self._connect = connect
        self._release = release
        self._guard = threading.Lock()
        self._idle: list[_Connection] = []
        self._closed = False
        self._deletions = 0
        self._deleting = False
        with self._failing("connect"):
            # The engine lives as long as one of its clients does.
            self._idle.append(_Connection(connect()))

    @property
    def embedded_path(self) -> Path | None:
        """The store's folder where this process runs the engine, else ``None``."""
        return self.engine.path.parent if self.engine else None

    @property
    def deletions(self) -> int:
        """The count that ``read_deletions`` last found."""
        return self._deletions

    def read_deletions(self) -> Deletions:
        """Return what is deleted. From then on a token of an insert from before a deletion is another token after it.

        So what was deleted can be stored again, and its bytes are not taken for those that the store has seen.
        """
        # Asked with every block that is written, and nearly always nothing has happened since.
        ((count,),) = cast("list[tuple[int]]", self.rows(Query.COUNT_DELETIONS))
        if count != self._deletions or self._deleting:
            ((count, running),) = cast("list[tuple[int, int]]", self.rows(Query.READ_DELETIONS))
            self._deletions, self._deleting = count, bool(running)
        return Deletions(count=self._deletions, running=self._deleting)

    def migrate(self, migrations: Sequence[Migration] | None = None) -> None:
        """Bring the store to this spanproof's schema. Harmless when run again, and after a kill.

        Raises:
            StoreTooNewError: a newer spanproof wrote this store.
        """
        self.command(Query.CREATE_SCHEMA_VERSION)
        applied = [cast(int, version) for (version,) in self.rows(Query.READ_SCHEMA_VERSION)]
        migrate(applied, self._run, self._record_migration, migrations)

    def insert(self, table: str, columns: Mapping[str, Sequence[object]], token: str) -> None:
        """Store the columns; durable on return. A token that the store has seen lately stores nothing again.

        Raises:
            StoreUnreachableError: the store failed; the same insert with the same token may be tried again.
            StoreError: the data does not fit the table; trying again will not help.
        """
        names = tuple(columns)
        if not names or not len(columns[names[0]]):
            return
        with self._failing(f"insert into {table}"), self._connection() as connection:
            context = connection.prepared(table, names)
            context.settings = {
                # Also because the driver repeats an insert by itself when a connection breaks.
                "insert_deduplication_token": f"{token}~{self._deletions}" if self._deletions else token,
                # Servers batch small inserts by default and answer before they are durable.
                "async_insert": 0,
                # Rows that replace each other meet in merges and reads anyway; looking for them here costs a third.
                "optimize_on_insert": 0,
                # A backfill of a year touches more months than the default of 100 partitions allows for days.
                "max_partitions_per_insert_block": 0,
            }
            try:
                connection.client.insert(context=context, data=list(columns.values()))
            except (TypeError, ValueError, AttributeError, ArithmeticError, struct.error) as error:
                # The driver builds its blocks from whatever it is given, and says so with what Python says.
                raise StoreError(f"cannot insert into {table}: {error}") from error

    def rows(self, query: Query, parameters: Mapping[str, object] | None = None) -> list[Row]:
        """Return every row of the answer."""
        with self._failing(f"run {query.value}"), self._connection() as connection:
            result = connection.client.query(
                query.sql, parameters=dict(parameters or {}), column_formats=_BYTES.get(query)
            )
            return cast("list[Row]", result.result_rows)

    def select(self, name: str, sql: str, parameters: Mapping[str, object] | None = None) -> list[Row]:
        """Return every row of a reading statement that somebody else wrote; ``name`` is what errors call it."""
        with self._failing(f"run {name}"), self._connection() as connection:
            return cast("list[Row]", connection.client.query(sql, parameters=dict(parameters or {})).result_rows)

    def blocks(self, query: Query, parameters: Mapping[str, object] | None = None) -> Iterator[list[Row]]:
        """Yield the answer block by block, so that it never lies in memory whole. Other calls may go on meanwhile."""
        with self._failing(f"run {query.value}"), self._connection() as connection:
            stream = connection.client.query_row_block_stream(
                query.sql, parameters=dict(parameters or {}), settings={"max_block_size": 8192}
            )
            with stream:
                for block in stream:
                    yield cast("list[Row]", block)

    def command(self, query: Query, parameters: Mapping[str, object] | None = None) -> None:
        """Run a statement that answers nothing."""
        with self._failing(f"run {query.value}"), self._connection() as connection:
            connection.client.command(query.sql, parameters=dict(parameters or {}))

    def read_traces(
        self, traces: Sequence[tuple[str, str]], *, logless: Collection[tuple[str, str]] = ()
    ) -> dict[tuple[str, str], Records]:
        """Return what is stored of these traces, each (project, trace id); a trace that is not here is left out.

        Of several versions of a span the richest stands. Content is joined back byte for byte; a value whose content
        row is missing reads as ``None`` and is named in ``Records.lost``.

        Args:
            traces: which.
            logless: those of them that are known to have no log records: none are looked for.
        """
        by_project: dict[str, dict[str, None]] = defaultdict(dict)
        for project, trace_id in traces:
            by_project[project][trace_id] = None
        shared = Shared()
        found: dict[tuple[str, str], Records] = {}
        for project, trace_ids in by_project.items():
            asked = list(trace_ids)
            for first in range(0, len(asked), _TRACES_PER_READ):
                some = asked[first : first + _TRACES_PER_READ]
                logged = [trace_id for trace_id in some if (project, trace_id) not in logless]
                for trace_id, records in self._read_some(project, some, logged, shared):
                    found[project, trace_id] = records
        return found

    def write_results(self, rows: Sequence[ResultRow]) -> None:
        """Keep what evaluators said. The same rows again change nothing; a later word replaces an earlier one."""
        if not rows:
            return
        columns = dict(zip(_RESULT_COLUMNS, zip(*map(astuple, rows), strict=True), strict=True))
        self.insert("results", columns, hashlib.sha256(repr(rows).encode("utf-8", "surrogatepass")).hexdigest())

    def read_results(self, trial_ids: Sequence[str] | None = None) -> list[ResultRow]:
        """Return the latest word of each evaluator on these trials, or on all, by project, trial and evaluator."""
        rows = (
            self.rows(Query.READ_RESULTS)
            if trial_ids is None
            else self.rows(Query.READ_RESULTS_OF, {"trials": list(trial_ids)})
        )
        found = []
        for row in rows:
            values = dict(zip(_RESULT_COLUMNS, row, strict=True))
            values["span_ids"] = tuple(cast("list[str]", values["span_ids"]))
            found.append(ResultRow(**values))  # type: ignore[arg-type]  # the columns are the fields
        return found

    def dead_letters(self, limit: int = 100) -> list[DeadLetter]:
        """Return what was rejected last, newest first."""
        return [
            DeadLetter(
                letter_id=cast(str, letter_id),
                received=cast(int, milli) * 1_000_000,
                signal=cast(str, signal),
                origin=cast(str, origin),
                reason=cast(str, reason),
                bytes=cast(bytes, content),
            )
            for letter_id, milli, signal, origin, reason, content in self.rows(Query.DEAD_LETTERS, {"limit": limit})
        ]

    def close(self) -> None:
        """Let go of the store; of an embedded one also the lock. May be called again."""
        with self._guard:
            if self._closed:
                return
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.client.close()
        if self.engine:
            self.engine.close()
        self._release()

    def __enter__(self) -> "Store":
        """Return the store itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def _read_some(
        self, project: str, traces: list[str], logged: list[str], shared: Shared
    ) -> Iterator[tuple[str, Records]]:
        parameters = {"project": project, "traces": traces}
        spans: dict[str, list[Row]] = defaultdict(list)
        logs: dict[str, list[Row]] = defaultdict(list)
        content: dict[str, dict[str, str]] = defaultdict(dict)
        for row in self.rows(Query.READ_SPANS, parameters):
            spans[cast(str, row[0])].append(row)
        if logged:
            for row in self.rows(Query.READ_LOG_RECORDS, {"project": project, "traces": logged}):
                logs[cast(str, row[0])].append(row)
        for trace_id, digest, body in cast("list[tuple[str, str, str]]", self.rows(Query.READ_CONTENT, parameters)):
            content[trace_id][digest] = body
        for trace_id in traces:
            if trace_id in spans or trace_id in logs:
                reader = RecordReader(project, content.get(trace_id, {}), shared)
                yield trace_id, reader.read(spans.get(trace_id, ()), logs.get(trace_id, ()))

    def _run(self, statement: str) -> None:
        with self._failing("migrate"), self._connection() as connection:
            connection.client.command(statement)

    def _record_migration(self, migration: Migration) -> None:
        self.insert(
            "schema_version",
            {"version": [migration.version], "name": [migration.name]},
            f"migration {migration.version}",
        )

    @contextlib.contextmanager
    def _connection(self) -> Iterator[_Connection]:
        """Lend a connection that nobody else uses meanwhile."""
        with self._guard:
            if self._closed:
                raise StoreError(f"the store {self.address} is closed")
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = _Connection(self._connect())
        try:
            yield connection
        finally:
            with self._guard:
                keep = not self._closed
                if keep:
                    self._idle.append(connection)
            if not keep:
                connection.client.close()

    @contextlib.contextmanager
    def _failing(self, what: str) -> Iterator[None]:
        try:
            yield
        except DataError as error:
            raise StoreError(f"cannot {what}: {error}") from error
        except (OperationalError, OSError, ClickHouseError) as error:
            if getattr(error, "code", None) in _FAULTS:
                raise StoreError(f"the store {self.address} refuses to {what}: {error}") from error
            raise unreachable(self.address, error) from error


_FAULTS = frozenset(
    (6, 8, 10, 16, 20, 26, 27, 33, 36, 38, 41, 42, 43, 44, 46, 47, 48, 50, 53, 60, 62, 69, 70, 72, 115, 349, 456, 457)
)
"""ClickHouse's error codes for statements and data that will fail again as they are."""

_FULL = frozenset((243,))
_DAMAGED = frozenset((40, 228, 246, 271, 432))
"""ClickHouse's error codes for a disk without space, and for files that are not as they were written."""


def unreachable(address: str, error: Exception) -> StoreUnreachableError:
    """Return what a failure of the store is called: one that may be over when the same is tried again."""
    code = getattr(error, "code", None)
    why = str(error)
    if code in _FULL or getattr(error, "errno", None) == errno.ENOSPC or "No space left on device" in why:
        return StoreFullError(address, why)
    if code in _DAMAGED:
        return StoreDamagedError(address, why)
    return StoreUnreachableError(address, why)


_BYTES: Mapping[Query, dict[str, str | dict[str, str]]] = {
    query: {"bytes": "bytes"} for query in (Query.DEAD_LETTERS, Query.FIND_DEAD_LETTERS, Query.READ_DEAD_LETTERS)
}
