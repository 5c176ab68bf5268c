"""Fixtures for every part.

The tests of one process share an embedded engine, and each finds its tables empty. An engine has one path a process and
opens another once the first is closed, for a tenth of a second and more. Also, of each engine that had a table of the
kind MergeTree, chDB 26.5 leaves five threads in the process when it closes, with three descriptors each (schedstat,
stat and io under /proc); smaller pools in its settings change nothing. Past 1,023 descriptors ``select`` fails.
A test that opens a store of its own closes the shared one; the next that needs it opens a new one.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from spanproof_collector.server.clickhouse import ClickHouseEndpoint
from spanproof_collector.store import Store, open_store
from spanproof_collector.store.engine import DATABASE, Engine

TABLES = [
    *("content", "current_calls", "current_trials", "dead_letters", "deletions", "log_records", "log_steps", "results"),
    *("retention", "schema_version", "spans", "steps", "stored_traces", "tokens", "trial_traces", "trials"),
]

LONG = [
    "faults/test_kills.py",
    "test_captures.py",
    "fuzz/test_fuzz.py",
    "test_sessions.py",
    "evaluators/test_sql_rules.py",
    "collector/store/test_paging.py",
    "conformance/test_otlp_specification.py",
    "conformance/test_field_reports.py",
    "collector/retention/test_ages.py",
    "instrumentation/frameworks/test_frameworks.py",
    "instrumentation/frameworks/test_pages.py",
    "evaluators/demo/test_demo.py",
    "evaluators/test_pytest_plugin.py",
    "test_deploy.py",
    "evaluators/harness/test_running.py",
    "evaluators/judges/test_asking.py",
    "conformance/test_sizes.py",
    "collector/otlp/test_lossless.py",
    "evaluators/test_cli.py",
    "collector/trials/test_order.py",
    "collector/exporters/test_export.py",
]
"""What takes longest begins first, so that two processes end at about the same time. The first is on both cores itself,
so the other process has files for one core meanwhile; agents on real packages come after it."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the long files come first; the order within a file stays."""
    here = Path(__file__).parent
    place = {here / file: number for number, file in enumerate(LONG)}
    for file in place:
        assert file.is_file(), f"{file} is listed as a long file and is not there"
    items.sort(key=lambda item: place.get(item.path, len(place)))


class SharedStore:
    """The store that tests borrow one after the other."""

    def __init__(self, folders: pytest.TempPathFactory) -> None:
        self._folders = folders
        self._store: Store | None = None
        self._lent = False

    @contextmanager
    def lent(self) -> Iterator[Store]:
        """Lend the store, its tables empty."""
        if self._store is not None and Engine._open is not self._store.engine:
            self._store = None  # the borrower before closed it, or killed its engine
        if self._store is None:
            self._store = open_store(f"chdb://{self._folders.mktemp('shared')}/store")
        self._lent = True
        try:
            yield self._store
        finally:
            self._lent = False
            self._empty(self._store)

    def make_way(self) -> None:
        """Close the store unless a test has it."""
        if self._store is not None and not self._lent:
            self._store.close()
            self._store = None

    def _empty(self, store: Store) -> None:
        """Empty the tables; of a store whose tables are no longer those of a new one, let go."""
        if Engine._open is not store.engine or store.engine is None:
            return
        session = store.engine.session()
        try:
            tables = session.query(f"SELECT name FROM system.tables WHERE database = '{DATABASE}' ORDER BY name", "TSV")
            if tables.bytes().decode().split() == TABLES:
                session.query(f"TRUNCATE ALL TABLES FROM {DATABASE} NOT LIKE 'schema_version'")
                return
        finally:
            session.close()
        self.make_way()


@pytest.fixture(scope="session")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedStore]:
    """Return the one store of the session, which makes way for any other that a test opens in this process."""
    shared = SharedStore(tmp_path_factory)
    open_engine = Engine.__init__

    def open_alone(engine: Engine, folder: Path) -> None:
        shared.make_way()
        open_engine(engine, folder)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "__init__", open_alone)
        yield shared
        shared.make_way()


@pytest.fixture
def store(shared_store: SharedStore) -> Iterator[Store]:
    """Return an embedded store of this process with nothing in it."""
    with shared_store.lent() as lent:
        yield lent


@pytest.fixture
def endpoint(store: Store) -> Iterator[ClickHouseEndpoint]:
    """Return the ClickHouse HTTP protocol over ``store``, listening, in a loop on a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    serving = ClickHouseEndpoint(store)
    try:
        asyncio.run_coroutine_threadsafe(serving.start(), loop).result(10)
        yield serving
    finally:
        asyncio.run_coroutine_threadsafe(serving.stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


@pytest.fixture
def store_over_http(endpoint: ClickHouseEndpoint) -> Iterator[Store]:
    """Return a store on the far side of the ClickHouse HTTP protocol: what a command has while a server holds it."""
    with open_store(f"clickhouse://anybody:{endpoint.token}@127.0.0.1:{endpoint.port}/spanproof") as opened:
        yield opened
