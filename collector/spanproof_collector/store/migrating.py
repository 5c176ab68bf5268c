"""Brings a store to the schema this spanproof knows: plain SQL files, each run once and harmless when run again."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from spanproof_collector.errors import StoreTooNewError

MIGRATIONS = Path(__file__).parent / "migrations"
_NAME = re.compile(r"(\d{4})_(\w+)\.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step of the schema."""

    version: int
    name: str
    statements: tuple[str, ...]


def known_migrations(folder: Path = MIGRATIONS) -> tuple[Migration, ...]:
    """Return every migration of the folder, in order."""
    found = []
    for path in sorted(folder.glob("*.sql")):
        match = _NAME.fullmatch(path.name)
        if match is None:
            raise ValueError(f"{path.name} is no name of a migration: NNNN_name.sql")
        found.append(Migration(version=int(match[1]), name=match[2], statements=split_statements(path.read_text())))
    return tuple(found)


def split_statements(text: str) -> tuple[str, ...]:
    """Return the statements of a migration: each ends with a semicolon and a line break."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("--"))
    return tuple(part.strip() for part in "\n".join([*lines, ""]).split(";\n") if part.strip())


def migrate(
    applied: Sequence[int],
    run: Callable[[str], None],
    record: Callable[[Migration], None],
    migrations: Sequence[Migration] | None = None,
) -> None:
    """Run what was not applied yet. A migration is recorded after its last statement, so a killed one runs again.

    Raises:
        StoreTooNewError: a newer spanproof wrote this store.
    """
    migrations = known_migrations() if migrations is None else migrations
    known = max((migration.version for migration in migrations), default=0)
    if applied and max(applied) > known:
        raise StoreTooNewError(found=max(applied), known=known)
    for migration in migrations:
        if migration.version not in applied:
            for statement in migration.statements:
                run(statement)
            record(migration)
