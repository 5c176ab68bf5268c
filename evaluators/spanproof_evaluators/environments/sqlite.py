"""A SQLite file as a world: copied, and what each tool does to it said in SQL."""

import contextlib
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from spanproof_evaluators.environments._config import SqliteConfig
from spanproof_evaluators.environments._environment import Answer, Call, Recording, World
from spanproof_evaluators.environments._meant import as_meant
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.end_states import EndState, Row
from spanproof_evaluators.model.verifications import Check

_DENIED: Final = (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH)
"""What statements may not do: reach another file."""


class SqliteEnvironment:
    """Worlds that begin with one SQLite file."""

    def __init__(self, config: SqliteConfig, folder: Path, version: str) -> None:
        self._config, self._start = config, folder / config.start
        self.name = config.name
        self.version = version
        self.simulated = config.simulated
        self.irreversible = config.irreversible

    def fits(self, recording: Recording) -> bool:
        """Return False: it is asked for by its file."""
        return False

    def start(self, recording: Recording) -> World:
        """Return a copy of the start file."""
        return SqliteWorld(self._config, self._start, recording.task_id)


class SqliteWorld:
    """A copy of a SQLite file."""

    def __init__(self, config: SqliteConfig, start: Path, task_id: str | None) -> None:
        self._config, self._start, self._task_id = config, start, task_id
        self._folder = Path(tempfile.mkdtemp(prefix="spanproof-replay-"))
        with (
            contextlib.closing(sqlite3.connect(f"{start.resolve().as_uri()}?mode=ro", uri=True)) as original,
            contextlib.closing(sqlite3.connect(self._folder / "state.db")) as copy,
        ):
            original.backup(copy)  # with what stands in its log beside it
        self._file = sqlite3.connect(self._folder / "state.db", isolation_level=None)
        self._file.row_factory = sqlite3.Row
        self._file.set_authorizer(lambda action, *_: sqlite3.SQLITE_DENY if action in _DENIED else sqlite3.SQLITE_OK)

    def apply(self, call: Call) -> Answer:
        """Run the tool's statements in one transaction; where one fails, none of them happened."""
        tool = self._config.tools.get(call.name)
        if tool is None:
            return Answer(error=f"the environment has no tool {call.name}")
        given = call.arguments if isinstance(call.arguments, dict) else {}
        bound = {key: json.dumps(value) if isinstance(value, list | dict) else value for key, value in given.items()}
        rows: list[Row] = []
        try:
            self._file.execute("BEGIN")
            for statement in tool.statements:
                rows = [_row(row) for row in self._file.execute(statement, bound).fetchall()]
            self._file.execute("COMMIT")
        except (sqlite3.Error, OverflowError, UnicodeError) as error:
            if self._file.in_transaction:
                self._file.execute("ROLLBACK")
            return Answer(error=str(error))
        match tool.gives:
            case "rows":
                return Answer(result=[dict(row) for row in rows])
            case "row":
                return Answer(result=dict(rows[0]) if rows else None)
            case "value":
                return Answer(result=next(iter(rows[0].values())) if rows else None)
            case "unknown":
                return Answer(comparable=False)

    def state(self) -> Plain:
        """Return the rows by table and key, those of a table without a key in their order."""
        return {name: self._keyed(name, rows) for name, rows in self._tables().items()}

    def end_state(self) -> EndState:
        """Return the rows by table."""
        return EndState(tables=self._tables())

    def close(self) -> None:
        """Close the copy and delete it."""
        self._file.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def verify(self, done: Recording) -> Sequence[Check]:
        """Return whether the state is the one that the task's expected calls give; nothing where none are written."""
        gold = self._config.expected.get(self._task_id or "")
        if gold is None:
            return []
        return [as_meant(self.state(), gold, lambda: SqliteWorld(self._config, self._start, self._task_id))]

    def _tables(self) -> dict[str, tuple[Row, ...]]:
        names = self._file.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND substr(name, 1, 7) != 'sqlite_' ORDER BY name"
        ).fetchall()
        return {
            name: tuple(map(_row, self._file.execute(f"SELECT * FROM {_quoted(name)}").fetchall())) for (name,) in names
        }

    def _keyed(self, table: str, rows: Sequence[Row]) -> Plain:
        columns = self._file.execute(f"PRAGMA table_info({_quoted(table)})").fetchall()
        keys = [column["name"] for column in sorted(columns, key=lambda column: int(column["pk"])) if column["pk"]]
        if not keys:
            return [dict(row) for row in rows]
        return {"/".join(str(row[key]) for key in keys): dict(row) for row in rows}


def _row(row: sqlite3.Row) -> Row:
    return {key: _plain(row[key]) for key in row.keys()}  # noqa: SIM118 - a sqlite3.Row iterates over its values


def _plain(value: object) -> Plain:
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    return value if isinstance(value, str | int | float) or value is None else str(value)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
