"""Snapshots of the world, before and after a trial: a folder, a git tree, the rows of SQL queries.

A snapshot is whole or is not recorded: what cannot be read is told, and leaves no state that looks like one.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from spanproof_instrumentation.barrier import attempt, attempt_as, forgiving
from spanproof_instrumentation.evidence import Phase, record_state

if TYPE_CHECKING:
    import sqlite3

FILE_BYTES: Final = 64 * 1024
"""A file beyond this, or one that is no UTF-8 text, is recorded by its digest."""

TOTAL_BYTES: Final = 1024 * 1024
"""When the texts of a snapshot reach this, further files are recorded by their digest."""

MOST_FILES: Final = 10_000
MOST_ROWS: Final = 10_000
_GIT_SECONDS: Final = 30
_SKIPPED: Final = frozenset({".git"})

Row: TypeAlias = dict[str, object]
State: TypeAlias = dict[str, dict[str, object]]


class Cursor(Protocol):
    """A cursor of Python's database interface (PEP 249)."""

    @property
    def description(self) -> Sequence[Sequence[object]] | None:
        """The columns of the result."""

    def execute(self, operation: str, /) -> object:
        """Run a statement."""

    def fetchmany(self, size: int, /) -> Sequence[Sequence[object]]:
        """Return rows."""

    def close(self) -> object:
        """Let it go."""


class Connection(Protocol):
    """A connection of Python's database interface (PEP 249)."""

    def cursor(self) -> Cursor:
        """Return a cursor."""


Sql: TypeAlias = "tuple[Connection | sqlite3.Connection | str | os.PathLike[str], Mapping[str, str] | Sequence[str]]"
"""A connection or the path of an SQLite file, and queries by the name of the table that each makes, or table names."""


class UnreadableWorldError(Exception):
    """A part of the world that cannot be recorded whole."""


@dataclass(frozen=True, kw_only=True)
class _Places:
    folder: str | os.PathLike[str] | None
    git: str | os.PathLike[str] | None
    sql: "Sql | None"


@forgiving(phase="after")
def record_end_state(
    phase: Phase,
    *,
    folder: str | os.PathLike[str] | None = None,
    git: str | os.PathLike[str] | None = None,
    sql: "Sql | None" = None,
) -> None:
    """Record what the world looks like now, with its digest.

    Args:
        phase: ``before`` or ``after`` the trial.
        folder: Its files become ``files``: texts by path, digests for what is large or no text. ``.git`` is left out.
        git: A work tree: tables ``git.head``, ``git.status`` and ``git.diff``.
        sql: A connection or the path of an SQLite file, and queries by table name: ``{"orders": "SELECT …"}``.
    """
    attempt_as("the end state was not recorded", None, _record, phase, _Places(folder=folder, git=git, sql=sql), None)


@contextmanager
def end_state_recorder(
    *,
    folder: str | os.PathLike[str] | None = None,
    git: str | os.PathLike[str] | None = None,
    sql: "Sql | None" = None,
) -> Iterator[None]:
    """Record the world before and after a block, and with the latter what changed in between."""
    places = _Places(folder=folder, git=git, sql=sql)
    told = "the end state was not recorded"
    before = attempt_as(told, None, _record, "before", places, None)
    try:
        yield
    finally:
        attempt_as(told, None, _record, "after", places, before)


def _record(phase: Phase, places: _Places, before: State | None) -> State:
    state = _snapshot(places)
    diff = None if before is None else json.dumps(changes(before, state), ensure_ascii=False)
    record_state(phase, json.dumps(state, ensure_ascii=False, sort_keys=True), diff)
    return state


def _snapshot(places: _Places) -> State:
    state: State = {}
    if places.folder is not None:
        state["files"] = dict(_files(Path(places.folder)))
    tables: dict[str, object] = {}
    if places.git is not None:
        tables |= _git(Path(places.git))
    if places.sql is not None:
        tables |= _rows(*places.sql)
    if places.git is not None or places.sql is not None:
        state["tables"] = tables
    if not state:
        raise UnreadableWorldError("name a folder, a git tree or an SQL query")
    return state


def changes(before: Mapping[str, Mapping[str, object]], after: Mapping[str, Mapping[str, object]]) -> State:
    """Return what differs: paths that were added, changed and removed, and by table how many rows came and went."""
    found: State = {}
    if "files" in before and "files" in after:
        old, new = before["files"], after["files"]
        found["files"] = {
            "added": sorted(new.keys() - old.keys()),
            "changed": sorted(path for path in old.keys() & new.keys() if old[path] != new[path]),
            "removed": sorted(old.keys() - new.keys()),
        }
    if "tables" in before and "tables" in after:
        names = sorted(before["tables"].keys() | after["tables"].keys())
        found["tables"] = {
            name: _row_changes(before["tables"].get(name), after["tables"].get(name))
            for name in names
            if before["tables"].get(name) != after["tables"].get(name)
        }
    return found


def _row_changes(before: object, after: object) -> dict[str, int]:
    old, new = _texts(before), _texts(after)
    gone = list(old)
    added = 0
    for row in new:
        if row in gone:
            gone.remove(row)
        else:
            added += 1
    return {"added": added, "removed": len(gone)}


def _texts(rows: object) -> list[str]:
    return [json.dumps(row, sort_keys=True) for row in rows] if isinstance(rows, list) else []


def _files(folder: Path) -> Iterator[tuple[str, str]]:
    if not folder.is_dir():
        raise UnreadableWorldError(f"{folder} is no folder")
    total = 0
    for number, path in enumerate(_walk(folder)):
        if number >= MOST_FILES:
            raise UnreadableWorldError(f"{folder} holds more than {MOST_FILES:,} files; name a smaller folder")
        text = f"symlink: {path.readlink()}" if path.is_symlink() else _text(path, TOTAL_BYTES - total)
        total += len(text)
        yield path.relative_to(folder).as_posix(), text


def _walk(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(set(folders) - _SKIPPED)
        for name in sorted(names + [name for name in folders if Path(root, name).is_symlink()]):
            path = Path(root, name)
            if path.is_file() or path.is_symlink():
                yield path


def _refuse(error: OSError) -> None:
    raise error


def _text(path: Path, room: int) -> str:
    import hashlib

    size = path.stat().st_size
    if size <= min(FILE_BYTES, room):
        data = path.read_bytes()
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            pass
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()} ({size} bytes)"


def _git(folder: Path) -> dict[str, object]:
    head = _run_git(folder, "rev-parse", "--verify", "--quiet", "HEAD", may_fail=True).strip()
    status = _run_git(folder, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
    entries = [entry for entry in status.split("\0") if entry]
    against = ["HEAD"] if head else ["--cached"]
    diff = _run_git(folder, "diff", *against, "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
    if len(diff) > TOTAL_BYTES:
        diff = f"{_digest(diff.encode())} ({len(diff)} characters)"
    return {
        "git.head": [{"commit": head}] if head else [],
        "git.status": [{"path": entry[3:], "status": entry[:2].strip()} for entry in entries],
        "git.diff": [{"patch": diff}] if diff else [],
    }


def _run_git(folder: Path, *arguments: str, may_fail: bool = False) -> str:
    import subprocess

    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        capture_output=True,
        timeout=_GIT_SECONDS,
        check=False,
        env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},  # looking must not change the tree
    )
    if done.returncode != 0 and not may_fail:
        raise UnreadableWorldError(f"git {arguments[0]} in {folder}: {done.stderr.decode('utf-8', 'replace').strip()}")
    return done.stdout.decode("utf-8", "replace")


def _rows(place: object, queries: Mapping[str, str] | Sequence[str]) -> dict[str, object]:
    if isinstance(queries, str) or not isinstance(queries, (Mapping, Sequence)):
        raise UnreadableWorldError("give the queries as a mapping from table name to query, or as table names")
    named = queries if isinstance(queries, Mapping) else {name: f'SELECT * FROM "{name}"' for name in queries}
    if isinstance(place, (str, os.PathLike)):
        import sqlite3

        path = Path(place)
        if not path.is_file():
            raise UnreadableWorldError(f"{path} is no SQLite file")
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            return {name: _query(connection, query) for name, query in named.items()}
    return {name: _query(place, query) for name, query in named.items()}


def _query(connection: object, query: str) -> list[Row]:
    open_cursor = getattr(connection, "cursor", None)
    if open_cursor is None:
        raise UnreadableWorldError(f"{type(connection).__name__} is no connection: it has no cursor()")
    cursor: Cursor = open_cursor()
    try:
        cursor.execute(query)
        columns = [str(column[0]) for column in cursor.description or ()]
        rows = cursor.fetchmany(MOST_ROWS + 1)
    finally:
        attempt(None, cursor.close)
    if len(rows) > MOST_ROWS:
        raise UnreadableWorldError(f"a query returns more than {MOST_ROWS:,} rows; ask for fewer")
    return [{column: _plain(value) for column, value in zip(columns, row, strict=True)} for row in rows]


def _plain(value: object) -> object:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case bytes() | bytearray() | memoryview():
            return f"{_digest(bytes(value))} ({len(bytes(value))} bytes)"
        case _:
            return str(value)


def _digest(data: bytes) -> str:
    import hashlib

    return f"sha256:{hashlib.sha256(data).hexdigest()}"
