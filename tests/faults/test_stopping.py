"""Signals, kills and what is left behind."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import clickhouse_connect

from spanproof_collector.store import open_store
from tests.collector.server.posting import Answer, ask
from tests.factories import span, trace_id, traces
from tests.faults.running import Running, running

_FREE_PORTS = ("--grpc-port", "0", "--http-port", "0")
_SLOW = """
import pathlib, threading
from spanproof_collector.store import Store
insert = Store.insert
def slowly(self, table, *rest):
    if table == "spans":
        pathlib.Path({reached!r}).touch()
        while not pathlib.Path({go!r}).exists():
            threading.Event().wait(0.01)
    insert(self, table, *rest)
Store.insert = slowly
"""
_HASTY = """
from spanproof_collector.pipeline import Pipeline
Pipeline.stop.__defaults__ = (0.5,)
"""


def _slow(folder: Path) -> str:
    """Return a patch with which the store takes spans only once the file ``go`` is there."""
    return _SLOW.format(reached=str(folder / "reached"), go=str(folder / "go"))


def _wait_for(path: Path) -> None:
    for _ in range(3000):
        if path.exists():
            return
        threading.Event().wait(0.01)
    raise AssertionError(f"{path.name} never came")


def _send(server: Running, name: str) -> Answer:
    return ask(server.addresses, "/v1/traces", traces(span(name)).SerializeToString())


def _names(address: str) -> list[str]:
    with open_store(address) as store:
        records = store.read_traces([("default", trace_id("a").hex())])
        return sorted(each.name for found in records.values() for each in found.spans)


def test_a_server_that_stops_takes_nothing_new_and_commits_what_it_took(tmp_path: Path) -> None:
    address = f"chdb://{tmp_path}/store"
    with running(address, tmp_path, patch=_slow(tmp_path)) as server, ThreadPoolExecutor() as threads:
        taken = threads.submit(_send, server, "taken")
        _wait_for(tmp_path / "reached")
        server.process.terminate()
        server.wait_for_log("stopping")
        late = _send(server, "late")
        assert (late.status, late.headers["retry-after"]) == (503, "1")
        (tmp_path / "go").touch()
        assert taken.result().status == 200
        assert server.process.wait(20) == 0
    assert _names(address) == ["taken"]


def test_a_server_that_stops_ends_the_statements_of_its_readers(tmp_path: Path) -> None:
    long = "SELECT {} FROM numbers(10000) SETTINGS max_block_size = 10"  # a minute and 40 seconds
    running_now = "SELECT count() FROM system.processes WHERE query LIKE '%sleepEachRow%' AND query NOT LIKE '%system%'"
    with running(f"chdb://{tmp_path}/store", tmp_path) as server, ThreadPoolExecutor() as threads:
        whole = threads.submit(_ask_store, tmp_path, long.format("sum(sleepEachRow(0.01))"))
        in_blocks = threads.submit(_ask_store, tmp_path, long.format("number, sleepEachRow(0.01)"))
        while _ask_store(tmp_path, running_now) != [(2,)]:
            assert not whole.done()
            assert not in_blocks.done()
        server.process.terminate()
        assert server.process.wait(30) == 0
        assert whole.exception(20) is not None
        assert in_blocks.exception(20) is not None


def _ask_store(folder: Path, sql: str) -> Sequence[Sequence[object]]:
    serving = json.loads((folder / "store" / "serving.json").read_text())
    with clickhouse_connect.get_client(host=serving["host"], port=serving["port"], password=serving["token"]) as client:
        return client.query(sql).result_rows


def test_a_crash_ends_the_server_and_says_where(tmp_path: Path) -> None:
    address = f"chdb://{tmp_path}/store"
    with running(address, tmp_path) as server:
        assert _send(server, "taken").status == 200
        server.process.send_signal(signal.SIGSEGV)
        assert server.process.wait(20) == -signal.SIGSEGV
        assert "Fatal Python error: Segmentation fault" in server.log()
    assert _names(address) == ["taken"]


def test_a_second_signal_ends_the_server_at_once(tmp_path: Path) -> None:
    address = f"chdb://{tmp_path}/store"
    for second, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        (tmp_path / "reached").unlink(missing_ok=True)
        with running(address, tmp_path, patch=_slow(tmp_path)) as server, ThreadPoolExecutor() as threads:
            stuck = threads.submit(_send, server, "stuck")
            _wait_for(tmp_path / "reached")
            server.process.terminate()
            server.wait_for_log("stopping")
            server.process.send_signal(second)
            assert server.process.wait(20) == code
            assert stuck.exception() is not None  # it was told nothing
    assert _names(address) == []


def test_a_store_that_does_not_take_what_is_left_holds_up_the_end_for_a_bounded_time(tmp_path: Path) -> None:
    address = f"chdb://{tmp_path}/store"
    with running(address, tmp_path, patch=_slow(tmp_path) + _HASTY) as server, ThreadPoolExecutor() as threads:
        stuck = threads.submit(_send, server, "stuck")
        _wait_for(tmp_path / "reached")
        server.process.terminate()
        answer = stuck.result(20)
        assert answer.status == 503
        assert b"stopping" in answer.body
        assert server.process.wait(20) == 0
        assert "senders keep the rest" in server.log()
    assert _names(address) == []


def test_files_that_a_killed_server_left_are_gone_when_the_next_one_starts(tmp_path: Path) -> None:
    address = f"chdb://{tmp_path}/store"
    with running(address, tmp_path) as server:
        assert _send(server, "a").status == 200
        server.process.kill()
        server.process.wait(20)
    left = tmp_path / "store" / "tmp" / "insert.native"
    left.write_bytes(b"a transcript")
    with running(address, tmp_path) as server:
        assert not left.exists()
        assert _send(server, "b").status == 200
        assert _names(address) == ["a", "b"]


def test_a_second_server_says_who_holds_the_store_and_ends_with_2(tmp_path: Path) -> None:
    address = f"chdb://{tmp_path}/store"
    with running(address, tmp_path) as server:
        second = subprocess.run(
            [sys.executable, "-m", "spanproof_evaluators", "serve", "--store", address, *_FREE_PORTS],
            capture_output=True,
            text=True,
            check=False,
        )
        assert second.returncode == 2
        assert f"process {server.process.pid}" in second.stderr
        assert "holds the store" in second.stderr
        assert _send(server, "a").status == 200
