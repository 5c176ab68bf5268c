"""Sessions of the embedded engine, and what becomes of one that is closed while it answers."""

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from spanproof_collector.store import Store
from spanproof_collector.store.engine import DATABASE, Session

# A minute and 40 seconds, ten rows at a time.
_LONG = "SELECT number, sleepEachRow(0.01) FROM numbers(10000) SETTINGS max_block_size = 10"
_WIDE = "SELECT number, repeat('x', 100) FROM numbers(100000000)"


def _session(store: Store) -> Session:
    assert store.engine is not None
    session = store.engine.session()
    session.prepare(DATABASE, {})
    return session


def _query(session: Session) -> None:
    session.query(_LONG, "Null")


def _read_blocks(session: Session) -> None:
    session.begin(_LONG, "TabSeparated", {})
    while session.next() is not None:
        pass


@pytest.mark.parametrize("answer", [_query, _read_blocks])
def test_to_close_a_session_ends_its_statement(store: Store, answer: Callable[[Session], None]) -> None:
    session = _session(store)
    looking = _session(store)
    running = "SELECT count() FROM system.processes WHERE query LIKE '%sleepEachRow%' AND query NOT LIKE '%processes%'"
    with ThreadPoolExecutor(1) as threads:
        answering = threads.submit(answer, session)
        while not int(looking.query(running, "TabSeparated").bytes()):
            assert not answering.done()
        session.close()
        with pytest.raises(RuntimeError, match=r"QUERY_WAS_CANCELLED|no statement answers"):
            answering.result(20)
    assert int(looking.query(running, "TabSeparated").bytes()) == 0
    looking.close()


def test_a_session_that_is_closed_between_two_blocks_ends_its_statement(store: Store) -> None:
    session = _session(store)
    assert session.begin(_WIDE, "TabSeparated", {})
    session.close()

    looking = _session(store)
    count = "SELECT count() FROM system.processes WHERE query LIKE 'SELECT number, repeat%'"
    assert int(looking.query(count, "TabSeparated").bytes()) == 0
    looking.close()


def test_the_engine_outlives_sessions_that_are_closed_while_they_answer(store: Store) -> None:
    # With nothing between closing and answering the engine is gone after some tens of these.
    def read_and_close(_: int) -> None:
        session = _session(store)
        session.begin(_WIDE, "TabSeparated", {})
        reading = threading.Event()

        def read() -> None:
            with contextlib.suppress(RuntimeError):
                while session.next() is not None:
                    reading.set()

        reader = threading.Thread(target=read)
        reader.start()
        assert reading.wait(20)
        session.close()
        reader.join()

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(read_and_close, range(300)))
    looking = _session(store)
    assert looking.query("SELECT 1", "TabSeparated").bytes() == b"1\n"
    looking.close()
