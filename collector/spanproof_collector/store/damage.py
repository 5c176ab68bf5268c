"""Finds damaged parts of an embedded store and sets them aside, so that the rest can be read.

The engine itself sets aside, when it opens, a part whose small files do not fit each other. Damage inside of a column
is met only by who reads it, and then fails every read of the table. So each part is compared with its checksums once,
in the background of a server.
"""

import json
import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from spanproof_collector.store.engine import DATABASE, Engine, Session

_logger = logging.getLogger(__name__)

_DERIVED: Final = frozenset(("steps", "log_steps"))

_SET_ASIDE_AT_START: Final = """
SELECT `table`, name, path FROM system.detached_parts
WHERE database = {database:String} AND startsWith(reason, 'broken') ORDER BY path
"""
_PARTS: Final = """
SELECT `table`, name, rows, path FROM system.parts
WHERE active AND database = {database:String} ORDER BY path
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedPart:
    """A part that was set aside."""

    table: str
    name: str
    path: Path
    """Where its files lie now."""

    rows: int | None
    """``None`` where it is too damaged to say."""

    why: str

    def __str__(self) -> str:
        """Return what happened and what can be done."""
        rows = "rows" if self.rows is None else f"{self.rows} rows"
        mend = (
            "They are derived from what was received: 'spanproof reindex' makes them again"
            if self.table in _DERIVED
            else "They cannot be read any more; a backup of the store's folder may have them. The rest is not touched"
        )
        return (
            f"a part of the table {self.table} is damaged and was set aside in {self.path} with its {rows}: "
            f"{self.why}. {mend}"
        )


class DamageCheck:
    """One look at every part. Run it in a thread, and stop it before the engine is closed."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stopping = threading.Event()

    def stop(self) -> None:
        """End soon; the part that is being read is read to its end."""
        self._stopping.set()

    def run(self) -> None:
        """Set damaged parts aside and say so in the log, those too that the engine set aside at its start."""
        try:
            session = self._engine.session()
            try:
                for part in self._damaged(session):
                    _logger.error("%s", part)
            finally:
                session.close()
        except (RuntimeError, ValueError, KeyError):
            _logger.exception("the parts of the store could not be checked")

    def _damaged(self, session: Session) -> Iterator[DamagedPart]:
        for row in _rows(session, _SET_ASIDE_AT_START):
            yield DamagedPart(
                table=cast(str, row["table"]),
                name=cast(str, row["name"]),
                path=Path(cast(str, row["path"])),
                rows=None,
                why="its files do not fit each other",
            )
        for row in _rows(session, _PARTS):
            if self._stopping.is_set():
                return
            found = self._check(session, row)
            if found is not None:
                yield found

    def _check(self, session: Session, row: dict[str, object]) -> DamagedPart | None:
        table, name = cast(str, row["table"]), cast(str, row["name"])
        try:
            told = _rows(
                session,
                f"CHECK TABLE {DATABASE}.`{table}` PART '{name}' SETTINGS check_query_single_value_result = 0",
            )
        except RuntimeError:
            return None  # it was merged meanwhile
        if not told or told[0]["is_passed"]:
            return None
        session.query(f"ALTER TABLE {DATABASE}.`{table}` DETACH PART '{name}'")
        path = Path(cast(str, row["path"]))
        return DamagedPart(
            table=table,
            name=name,
            path=path.parent / "detached" / name,
            rows=int(cast(str, row["rows"])),
            why=cast(str, told[0]["message"]).partition(" (")[0],
        )


def _rows(session: Session, query: str) -> list[dict[str, object]]:
    answer = session.query(query, "JSONEachRow", {"database": DATABASE} if "{database" in query else None)
    return [json.loads(line) for line in answer.bytes().splitlines() if line]
