import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from spanproof_collector.errors import StoreTooNewError
from spanproof_collector.store import Query, Store, open_store
from spanproof_collector.store.migrating import Migration, known_migrations, migrate, split_statements
from tests.collector.store.rows import put_spans, span_row

TABLES = {
    *("spans", "log_records", "content", "steps", "log_steps", "results", "dead_letters", "schema_version"),
    *("deletions", "retention", "tokens", "trials", "trial_traces", "stored_traces", "current_trials", "current_calls"),
}


def tables_of(store: Store) -> set[str]:
    with store._connection() as connection:
        return {name for (name,) in connection.client.query("SHOW TABLES").result_rows}


def applied(store: Store) -> list[object]:
    return [version for (version,) in store.rows(Query.READ_SCHEMA_VERSION)]


def test_a_new_store_has_every_table_and_knows_its_version(store: Store) -> None:
    assert tables_of(store) == TABLES
    assert applied(store) == [migration.version for migration in known_migrations()]


def test_what_a_table_remembers_of_its_inserts_is_full_within_minutes(store: Store) -> None:
    # A busy server makes six inserts a second into a table; a longer memory grows for as long as it takes to fill.
    asked = "SELECT name, toUInt32(extract(create_table_query, 'deduplication_window = (\\d+)')) FROM system.tables"
    found = store.select("windows", f"{asked} WHERE database = currentDatabase() AND engine LIKE '%MergeTree'")
    windows = {str(name): cast(int, inserts) for name, inserts in found}
    assert {name for name, inserts in windows.items() if not 100 <= inserts <= 1000} == set()
    assert {"spans", "content", "steps"} < windows.keys()


def test_migrating_again_changes_nothing(store: Store) -> None:
    put_spans(store, span_row())

    store.migrate()
    # As if nothing were recorded: every statement runs again.
    migrate([], store._run, store._record_migration)

    assert applied(store) == [migration.version for migration in known_migrations()]
    assert len(store.read_traces([("default", "a" * 32)])) == 1


@pytest.mark.parametrize("done", [0, 1, 4, len(known_migrations()[0].statements)])
def test_a_migration_that_was_killed_is_finished_the_next_time(tmp_path: Path, done: int) -> None:
    class Killed(BaseException):
        pass

    address = f"chdb://{tmp_path}/store"
    left = done
    run = Store._run

    def run_some(store: Store, statement: str) -> None:
        nonlocal left
        if not left:
            raise Killed
        left -= 1
        run(store, statement)

    def record_nothing(store: Store, migration: Migration) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "_run", run_some)
        patch.setattr(Store, "_record_migration", record_nothing)
        with pytest.raises(Killed):
            open_store(address)

    with open_store(address) as store:
        assert tables_of(store) == TABLES
        assert applied(store) == [migration.version for migration in known_migrations()]


def test_only_what_was_not_applied_runs(store: Store) -> None:
    known = known_migrations()
    another = Migration(
        version=len(known) + 1, name="more", statements=("CREATE TABLE more (a UInt8) ENGINE = MergeTree ORDER BY a",)
    )

    # Not idempotent on purpose: run twice, it fails.
    store.migrate([*known, another])
    store.migrate([*known, another])

    assert applied(store) == [*(each.version for each in known), another.version]
    assert "more" in tables_of(store)


def test_a_store_of_a_newer_spanproof_is_refused_and_left_alone(tmp_path: Path) -> None:
    address = f"chdb://{tmp_path}/store"
    with open_store(address) as store:
        store.insert("schema_version", {"version": [99], "name": ["future"]}, "future")

    with pytest.raises(StoreTooNewError, match="99"):
        open_store(address)


def test_the_versions_count_from_one_without_gaps() -> None:
    versions = [migration.version for migration in known_migrations()]

    assert versions == list(range(1, len(versions) + 1))


def test_a_statement_ends_with_a_semicolon_at_the_end_of_its_line() -> None:
    assert split_statements("-- a; comment\nSELECT ';'\n  -- more\n;\n\nSELECT 2;\n") == ("SELECT ';'", "SELECT 2")


def test_a_file_with_another_name_is_no_migration(tmp_path: Path) -> None:
    (tmp_path / "first.sql").write_text("")

    with pytest.raises(ValueError, match=r"first\.sql"):
        known_migrations(tmp_path)


STATEMENTS = [(each.version, number) for each in known_migrations() for number in range(len(each.statements) + 1)]
"""Where a migration can be killed: before each of its statements, and before it is recorded."""

KILLED = """
import os, signal, sys
from spanproof_collector.store import open_store
from spanproof_collector.store.store import Store

left, run, record = int(sys.argv[2]), Store._run, Store._record_migration

def count(*arguments):
    global left
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1

def counting_run(store, statement):
    count()
    run(store, statement)

def counting_record(store, migration):
    count()
    record(store, migration)

Store._run, Store._record_migration = counting_run, counting_record
open_store(sys.argv[1])
"""


@pytest.mark.parametrize("seed", range(4))
def test_a_process_that_is_killed_while_it_migrates_leaves_a_store_that_opens(tmp_path: Path, seed: int) -> None:
    """Field report 55, with a real kill -9 before a random statement, again and again until it is through."""
    address = f"chdb://{tmp_path}/store"
    chance = random.Random(seed)
    for _ in range(2):
        at = chance.randrange(len(STATEMENTS))
        killed = subprocess.run([sys.executable, "-c", KILLED, address, str(at)], capture_output=True, timeout=120)
        assert killed.returncode in (-signal.SIGKILL, 0)
    with open_store(address) as store:
        assert tables_of(store) >= TABLES
        assert applied(store) == [migration.version for migration in known_migrations()]
        put_spans(store, span_row())
        assert len(store.read_traces([("default", "a" * 32)])) == 1
