"""End states that nobody asked for: a solved world in which one effect is dropped, doubled or altered (B17)."""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from spanproof_evaluators.harness.snapshots import snapshot
from spanproof_evaluators.harness.worlds import fingerprints
from spanproof_evaluators.model.canonical import canonical
from spanproof_evaluators.model.end_states import EndState, Row

_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One alteration of a solved world or of what was answered."""

    says: str
    alter: Callable[[Path], None]
    """Alters a copy of the world."""

    answer: str | None
    """What is answered instead; as it was, where the world is altered."""


def mutants(start: Path, solved: Path, database: str | None, answer: str | None) -> Iterator[Mutant]:
    """Yield the mutants of a solved world, of each kind of place by turns.

    Every one differs from the solved world in an effect that the solution had: what it did not touch is left alone.
    """
    kinds = (
        list(_of_answer(answer)),
        list(_of_rows(start, solved, database, answer)),
        list(_of_files(start, solved, database, answer)),
    )
    for turn in zip_longest(*kinds):
        yield from (one for one in turn if one is not None)


def _of_answer(answer: str | None) -> Iterator[Mutant]:
    if answer is None:
        return
    yield Mutant(says="no answer", alter=_nothing, answer=None)
    if _DIGITS.search(answer):
        other = _DIGITS.sub(lambda found: str(int(found[0]) + 1).zfill(len(found[0])), answer)
        yield Mutant(says="every number of the answer is one more", alter=_nothing, answer=other)
    yield Mutant(says="another answer", alter=_nothing, answer="It is done.")


def _of_files(start: Path, solved: Path, database: str | None, answer: str | None) -> Iterator[Mutant]:
    old, new = fingerprints(start), fingerprints(solved)
    changed = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path) and path != database)
    for path in changed:
        before = (start / path).read_bytes() if (start / path).is_file() else None
        yield Mutant(
            says=f"{path} is as it was" if before is not None else f"{path} is not there",
            alter=_write(path, before),
            answer=answer,
        )
    for path in changed:
        if not (solved / path).is_file() or (solved / path).is_symlink():
            continue
        content = (solved / path).read_bytes()
        yield Mutant(says=f"{path} is empty", alter=_write(path, b""), answer=answer)
        if (start / path).is_file():
            continue  # parts of a file that was there before are the world's own
        text = content.decode("utf-8", "replace")
        if _DIGITS.search(text):
            other = _DIGITS.sub(lambda found: str(int(found[0]) + 1), text)
            yield Mutant(
                says=f"every number in {path} is one more", alter=_write(path, other.encode("utf-8")), answer=answer
            )


def _of_rows(start: Path, solved: Path, database: str | None, answer: str | None) -> Iterator[Mutant]:
    if database is None:
        return
    old, new = (EndState.parse(snapshot(world, database)).tables or {} for world in (start, solved))
    dropped: list[Mutant] = []
    altered: list[Mutant] = []
    for table in sorted(old.keys() | new.keys()):
        before, after = old.get(table, ()), new.get(table, ())
        known = [canonical(row) for row in before]
        for row in after:
            if canonical(row) in known:
                continue
            told = f"a row of {table}"
            dropped.append(Mutant(says=f"{told} is not there", alter=_delete(database, table, row), answer=answer))
            dropped.append(Mutant(says=f"{told} is there twice", alter=_double(database, table, row), answer=answer))
            for column, value in row.items():
                if isinstance(value, int | float) and not isinstance(value, bool):
                    change = _alter(database, table, row, column, value + 1)
                elif isinstance(value, str):
                    change = _alter(database, table, row, column, f"{value}x")
                else:
                    continue
                altered.append(Mutant(says=f"{column} of {told} is another", alter=change, answer=answer))
        there = [canonical(row) for row in after]
        for row in before:
            if canonical(row) not in there and len(after) < len(before):
                change_back = _insert(database, table, row)
                dropped.append(Mutant(says=f"{told_of(table)} that went is there", alter=change_back, answer=answer))
    yield from (one for pair in zip_longest(dropped, altered) for one in pair if one is not None)


def told_of(table: str) -> str:
    """Return what a row is called."""
    return f"a row of {table}"


def _nothing(world: Path) -> None:
    return None


def _write(path: str, content: bytes | None) -> Callable[[Path], None]:
    def alter(world: Path) -> None:
        file = world / path
        if file.is_symlink() or file.exists():
            file.unlink()
        if content is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)

    return alter


def _delete(database: str, table: str, row: Row) -> Callable[[Path], None]:
    return _statement(database, f"DELETE FROM {_name(table)} WHERE {_where(row)}", row)


def _double(database: str, table: str, row: Row) -> Callable[[Path], None]:
    return _insert(database, table, row)


def _insert(database: str, table: str, row: Row) -> Callable[[Path], None]:
    names = ", ".join(_name(column) for column in row)
    marks = ", ".join("?" for _ in row)
    return _statement(database, f"INSERT INTO {_name(table)} ({names}) VALUES ({marks})", row)


def _alter(database: str, table: str, row: Row, column: str, value: object) -> Callable[[Path], None]:
    statement = f"UPDATE {_name(table)} SET {_name(column)} = ? WHERE {_where(row)}"
    return _statement(database, statement, row, first=(value,))


def _where(row: Mapping[str, object]) -> str:
    return " AND ".join(f"{_name(column)} IS ?" for column in row)


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _statement(
    database: str, statement: str, row: Mapping[str, object], first: tuple[object, ...] = ()
) -> Callable[[Path], None]:
    def alter(world: Path) -> None:
        with closing(sqlite3.connect(world / database, timeout=30)) as connection, connection:
            connection.execute(statement, (*first, *row.values()))

    return alter
