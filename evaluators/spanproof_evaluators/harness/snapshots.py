"""A world as it is recorded: the texts of its files, the rows of its database, as the JSON text of an end state."""

import hashlib
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from spanproof_evaluators.harness.worlds import fingerprints
from spanproof_instrumentation.snapshots import FILE_BYTES, MOST_FILES, MOST_ROWS, TOTAL_BYTES

_SECONDS: Final = 10.0
"""Longest that a database may take: an agent can write one whose tables never end."""


def snapshot(world: Path, database: str | None) -> str:
    """Return the world as the JSON text of an end state. A part that cannot be recorded whole is left out.

    Args:
        world: a folder in which nothing moves any more.
        database: the name of the SQLite file in it, if there is one.
    """
    state: dict[str, object] = {}
    if (files := _files(world)) is not None:
        state["files"] = files
    if database is not None and (tables := _tables(world / database)) is not None:
        state["tables"] = tables
    return json.dumps(state, ensure_ascii=True, sort_keys=True)


def _files(world: Path) -> dict[str, str] | None:
    """Return texts by path; digests of what is large or no text; ``None`` where there are too many."""
    found: dict[str, str] = {}
    total = 0
    prints = fingerprints(world)
    if len(prints) > MOST_FILES:
        return None
    for path in sorted(prints):
        text = _text(world / path, prints[path], TOTAL_BYTES - total)
        total += len(text)
        found[path.encode("utf-8", "replace").decode()] = text
    return found


def _text(file: Path, fingerprint: str, room: int) -> str:
    if len(fingerprint) != 64:
        return f"symlink: {fingerprint.removeprefix('link to ')}" if fingerprint.startswith("link to ") else fingerprint
    size = file.stat().st_size
    if size <= min(FILE_BYTES, room):
        try:
            return file.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            pass
    return f"sha256:{fingerprint} ({size} bytes)"


def _tables(file: Path) -> dict[str, list[dict[str, object]]] | None:
    """Return the rows of every table; ``None`` where they cannot be read whole."""
    if file.is_symlink() or not file.is_file():
        return None
    deadline = time.monotonic() + _SECONDS
    try:
        with closing(sqlite3.connect(file)) as connection:
            connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
            connection.row_factory = sqlite3.Row
            names = [
                str(row[0])
                for row in connection.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'"
                )
            ]
            found: dict[str, list[dict[str, object]]] = {}
            for name in sorted(names):
                quoted = name.replace('"', '""')
                rows = connection.execute(f'SELECT * FROM "{quoted}"').fetchmany(MOST_ROWS + 1)
                if len(rows) > MOST_ROWS:
                    return None
                found[name] = [{key: _plain(row[key]) for key in row.keys()} for row in rows]  # noqa: SIM118
            return found
    except sqlite3.Error:
        return None


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return f"sha256:{hashlib.sha256(value).hexdigest()} ({len(value)} bytes)"
    return value
