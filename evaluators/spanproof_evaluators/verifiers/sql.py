"""What a query returns: on any database that SQLAlchemy reaches, read-only as far as the database allows it.

SQLite files are opened read-only. Elsewhere the transaction is declared read-only where the database knows that, and
rolled back always. A query that fails, a missing table and a refused connection say that nobody could look.
"""

import math
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from datetime import time as time_of_day
from decimal import Decimal
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.checks import SqlCheck
from spanproof_evaluators.model.end_states import EndState
from spanproof_evaluators.model.verifications import Check
from spanproof_evaluators.verifiers._kind import GapError, gap, place
from spanproof_evaluators.verifiers._secrets import MissingVariableError, Secrets
from spanproof_evaluators.verifiers._show import same, shown

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine
    from sqlalchemy.engine import URL

INSTALL: Final = "pip install 'spanproof[sql]'"
_CONNECT_SECONDS: Final = 10
_READ_ONLY: Final[Mapping[str, Sequence[str]]] = {
    "postgresql": ("SET TRANSACTION READ ONLY", "SET LOCAL statement_timeout = {milliseconds}"),
    "mysql": ("SET SESSION max_execution_time = {milliseconds}", "START TRANSACTION READ ONLY"),
    "mariadb": ("SET SESSION max_statement_time = {seconds}", "START TRANSACTION READ ONLY"),
    "oracle": ("SET TRANSACTION READ ONLY",),
}

_TOO_SLOW: Final = ("interrupted", "statement timeout", "maximum statement execution time", "max_statement_time")
"""What SQLite, PostgreSQL, MySQL and MariaDB say of a query that they stopped."""

Rows = list[dict[str, Plain]]


class _NotConnectedError(Exception):
    pass


def check_sql(spec: SqlCheck, after: EndState) -> list[Check]:
    """Run the query on the database as it is after."""
    name = _name(spec)
    secrets = Secrets()
    started = time.time_ns()
    try:
        location = place(after, spec.destination, "sql").location
        found = _judged(spec, name, *_rows(spec, secrets.filled(location), secrets))
    except GapError as error:
        found = gap(name, error, secrets)
    except MissingVariableError as error:
        found = gap(name, GapError("variable_not_set", str(error)), secrets)
    return [replace(found, seen=secrets.masked(found.seen), destination=spec.destination, time=started)]


def _name(spec: SqlCheck) -> str:
    query = " ".join(spec.query.split())
    params = f" with {shown(dict(spec.params))}" if spec.params else ""
    if spec.rows is not None:
        wanted = f"returns {shown([dict(row) for row in spec.rows])}"
    elif spec.scalar is not None:
        wanted = f"returns {shown(spec.scalar)}"
    else:
        wanted = f"returns {spec.described} row(s)"
    return f"{query}{params} {wanted}"


def _rows(spec: SqlCheck, location: str, secrets: Secrets) -> tuple[Rows, bool]:
    """Return the rows, and whether they are all; in a thread of its own, which is left alone when it is too slow.

    Raises:
        GapError: nobody could look.
    """
    try:
        import sqlalchemy
    except ImportError as error:
        raise GapError("sqlalchemy_not_installed", f"SQLAlchemy is missing: {INSTALL}") from error
    try:
        url = sqlalchemy.make_url(location)
    except sqlalchemy.exc.ArgumentError as error:
        raise GapError("address_unreadable", "SQLAlchemy cannot read the address") from error
    if url.password:
        secrets.remember("PASSWORD", url.password)
    done: list[tuple[Rows, bool] | BaseException] = []

    def work() -> None:
        try:
            done.append(_queried(spec, url))
        except BaseException as error:  # carried over to the thread that waits
            done.append(error)

    thread = threading.Thread(target=work, name="spanproof-sql", daemon=True)
    thread.start()
    thread.join(spec.timeout + _CONNECT_SECONDS)
    if not done:
        raise GapError("timeout", f"no answer after {spec.timeout + _CONNECT_SECONDS:g} s")
    found = done[0]
    if isinstance(found, tuple):
        return found
    if isinstance(found, GapError):
        raise found
    if isinstance(found, ImportError):
        raise GapError("driver_not_installed", f"the driver of {url.drivername} is missing: {found}") from found
    if isinstance(found, sqlalchemy.exc.NoSuchModuleError):
        raise GapError("driver_not_installed", f"SQLAlchemy knows no {url.drivername}") from found
    if any(words in str(found) for words in _TOO_SLOW):
        raise GapError("timeout", f"no answer after {spec.timeout:g} s") from found
    reason = "connection_failed" if isinstance(found, _NotConnectedError) else "query_failed"
    cause = found.__cause__ if isinstance(found, _NotConnectedError) else found
    if isinstance(cause, sqlalchemy.exc.DBAPIError) and cause.orig is not None:
        cause = cause.orig
    raise GapError(reason, f"{type(cause).__name__}: {cause}") from found


def _queried(spec: SqlCheck, url: "URL") -> tuple[Rows, bool]:
    from sqlalchemy import text
    from sqlalchemy.exc import DBAPIError

    engine = _engine(url)
    try:
        try:
            connected = engine.connect()
        except DBAPIError as error:
            raise _NotConnectedError from error
        with connected as connection:
            try:
                _limit(connection, url, spec.timeout)
                result = connection.execute(text(spec.query), dict(spec.params))
                columns = list(result.keys())
                if len(set(columns)) != len(columns):
                    raise GapError("columns_ambiguous", f"two columns have one name: {shown(columns)}")
                rows = result.fetchmany(spec.max_rows + 1)
                found = [dict(zip(columns, map(_value, row), strict=True)) for row in rows[: spec.max_rows]]
                return found, len(rows) <= spec.max_rows
            finally:
                connection.rollback()
    finally:
        engine.dispose()


def _engine(url: "URL") -> "Engine":
    """Return an engine that keeps no connection; a SQLite file is opened read-only."""
    from sqlalchemy import NullPool, create_engine

    if url.get_backend_name() != "sqlite":
        return create_engine(url, poolclass=NullPool)
    path = url.database
    if not path or path == ":memory:" or path.startswith("file:"):
        raise GapError("address_unreadable", "a SQLite destination is a file: sqlite:///path/to/file.db")

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=5.0, check_same_thread=False)

    return create_engine("sqlite://", creator=connect, poolclass=NullPool)


def _limit(connection: "Connection", url: "URL", seconds: float) -> None:
    """Say that nothing is written, and how long it may take."""
    backend = url.get_backend_name()
    if backend == "sqlite":
        raw = connection.connection.driver_connection
        if isinstance(raw, sqlite3.Connection):
            deadline = time.monotonic() + seconds
            raw.execute("PRAGMA query_only = ON")
            raw.set_progress_handler(lambda: int(time.monotonic() > deadline), 10_000)
        return
    for statement in _READ_ONLY.get(backend, ()):
        connection.exec_driver_sql(statement.format(milliseconds=int(seconds * 1000), seconds=max(1, int(seconds))))


def _value(value: object) -> Plain:
    """Return what a column holds as JSON: times in ISO 8601, bytes in hex, numbers as numbers."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Decimal():
            return int(value) if value == value.to_integral_value() else _nearest(value)
        case datetime() | date() | time_of_day():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case bytes() | bytearray() | memoryview():
            return bytes(value).hex()
        case list() | tuple():
            return [_value(item) for item in value]
        case dict():
            return {str(key): _value(item) for key, item in value.items()}
    return str(value)


def _nearest(value: Decimal) -> Plain:
    """Return a decimal as the number that a person writes for it; as text where a binary number is another one."""
    near = float(value)
    return near if Decimal(repr(near)) == value else format(value, "f")


def _judged(spec: SqlCheck, name: str, rows: Rows, whole: bool) -> Check:
    seen = f"{len(rows)} row(s)" if whole else f"more than {len(rows)} rows"
    seen += f": {shown(rows)}" if rows else ""
    if spec.rows is not None:
        if not whole:
            passed: bool | None = False if len(spec.rows) <= len(rows) else None
        else:
            _columns(rows, {column for row in spec.rows for column in row})
            passed = _equal(spec, rows)
    elif spec.scalar is not None:
        if len(rows) == 1 and len(rows[0]) != 1:
            raise GapError("not_one_value", f"the row has {len(rows[0])} columns")
        passed = len(rows) == 1 and _fits(next(iter(rows[0].values())), spec.scalar, spec.tolerance)
    else:
        low, high = spec.expected
        if whole:
            passed = spec.judged(len(rows))
        elif high is not None and high <= len(rows):
            passed = False
        else:
            passed = True if high is None and low <= len(rows) + 1 else None
    if passed is None:
        raise GapError("too_many_rows", f"more than {spec.max_rows} rows: raise max_rows, or count in the query")
    return Check(name=name, passed=passed, seen=seen)


def _columns(rows: Rows, wanted: set[str]) -> None:
    missing = sorted(wanted - set(rows[0])) if rows else []
    if missing:
        raise GapError("column_missing", f"the query returns no column {', '.join(missing)}")


def _equal(spec: SqlCheck, rows: Rows) -> bool:
    """Return whether these are the rows, each once."""
    wanted = list(spec.rows or ())
    if len(wanted) != len(rows):
        return False

    def fit(row: Mapping[str, Plain], expected: Mapping[str, Plain]) -> bool:
        return all(_fits(row[column], value, spec.tolerance) for column, value in expected.items())

    if spec.ordered:
        return all(fit(row, expected) for row, expected in zip(rows, wanted, strict=True))
    return _matched([[index for index, row in enumerate(rows) if fit(row, expected)] for expected in wanted])


def _matched(choices: Sequence[Sequence[int]]) -> bool:
    """Return whether each can have a choice of its own (augmenting paths)."""
    owner: dict[int, int] = {}

    def give(who: int, seen: set[int]) -> bool:
        for one in choices[who]:
            if one not in seen:
                seen.add(one)
                if one not in owner or give(owner[one], seen):
                    owner[one] = who
                    return True
        return False

    return all(give(who, set()) for who in sorted(range(len(choices)), key=lambda who: len(choices[who])))


def _fits(found: Plain, expected: Plain, tolerance: float) -> bool:
    """Return whether a value is what is expected: numbers within the tolerance, everything else by JSON value."""
    numbers = not isinstance(found, bool) and not isinstance(expected, bool)
    if numbers and isinstance(found, int | float) and isinstance(expected, int | float) and tolerance:
        return abs(found - expected) <= tolerance
    return same(found, expected)
