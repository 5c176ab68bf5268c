import json
import os
import signal
import stat
import tempfile
import threading
from pathlib import Path

import pytest

from spanproof_collector.errors import StoreAddressError, StoreError, StoreLockedError, StoreUnreachableError
from spanproof_collector.store import Query, Serving, advertise, open_store
from tests.collector.store.processes import HOLD, SERVE, running
from tests.collector.store.rows import put_spans, span_row

TRACE = ("default", "a" * 32)


def test_what_was_stored_is_there_when_the_store_opens_again(tmp_path: Path) -> None:
    address = f"chdb://{tmp_path}/store"
    with open_store(address) as store:
        put_spans(store, span_row())

    with open_store(address) as store:
        assert len(store.read_traces([TRACE])[TRACE].spans) == 1


def test_a_relative_address_starts_at_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    with open_store("chdb://a/b") as store:
        assert store.embedded_path == tmp_path / "a" / "b"
    assert Path.cwd() == tmp_path


def test_a_folder_with_an_odd_name_is_a_store_like_any_other(tmp_path: Path) -> None:
    with open_store(f"chdb://{tmp_path}/it's 100% ü&x=1 #+") as store:
        put_spans(store, span_row())
        assert store.read_traces([TRACE])


def test_nobody_else_can_look_into_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir(mode=0o755)

    with open_store(f"chdb://{folder}") as store:
        advertise(folder, Serving(pid=os.getpid(), port=1, token="secret"))
        put_spans(store, span_row())

        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / "serving.json").stat().st_mode) == 0o600
        assert stat.S_IMODE((folder / "tmp").stat().st_mode) == 0o700


def test_content_in_temporary_files_stays_in_the_folder_and_is_cleaned_when_it_opens(tmp_path: Path) -> None:
    before = tempfile.gettempdir()
    with open_store(f"chdb://{tmp_path}/store"):
        assert Path(tempfile.gettempdir()) == tmp_path / "store" / "tmp"
    assert tempfile.gettempdir() == before
    (tmp_path / "store" / "tmp" / "x.native").write_text("a transcript that a killed process left")
    (tmp_path / "store" / "tmp" / "folder" / "inside").mkdir(parents=True)

    with open_store(f"chdb://{tmp_path}/store"):
        assert list((tmp_path / "store" / "tmp").iterdir()) == []


def test_a_config_file_in_the_working_folder_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "config.xml").write_text("<broken")

    # In a process of its own, because the engine's module reads it, too, and is imported once.
    program = f"import os; os.chdir({str(tmp_path)!r})\n{HOLD}"
    with running(program, f"chdb://{tmp_path}/store") as process:
        process.communicate("\n", timeout=20)

    assert process.returncode == 0


def test_inserts_reach_the_disk_before_they_are_acknowledged(tmp_path: Path) -> None:
    with open_store(f"chdb://{tmp_path}/store") as store, store._connection() as connection:
        rows = connection.client.query(
            "SELECT name, value FROM system.merge_tree_settings WHERE match(name, '^fsync_') ORDER BY name"
        ).result_rows

    assert list(rows) == [("fsync_after_insert", "1"), ("fsync_part_directory", "1")]


def test_a_name_that_is_no_table_is_not_taken_for_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")

    with open_store(f"chdb://{tmp_path}/store") as store:
        assert store.engine is not None
        session = store.engine.session()
        try:
            for table in (f"`{secret}`", f"default.`{secret}`", f"spanproof.`{secret}`", f"'{secret}'"):
                with pytest.raises(RuntimeError, match="UNKNOWN_TABLE"):
                    session.query(f"SELECT * FROM {table}")
        finally:
            session.close()


def test_a_second_store_in_one_process_is_refused_with_the_first_ones_name(tmp_path: Path) -> None:
    with open_store(f"chdb://{tmp_path}/one"), pytest.raises(StoreError, match=f"{tmp_path}/one"):
        open_store(f"chdb://{tmp_path}/two")
    with open_store(f"chdb://{tmp_path}/two") as store:
        assert store.rows(Query.READ_SCHEMA_VERSION)


def test_a_store_that_another_process_holds_is_locked_and_the_holder_named(tmp_path: Path) -> None:
    address = f"chdb://{tmp_path}/store"
    with running(HOLD, address) as holder, pytest.raises(StoreLockedError, match=f"process {holder.pid}") as refusal:
        open_store(address, patience_s=0.2)

    assert refusal.value.pid == holder.pid


def test_a_store_is_waited_for_while_its_holder_finishes(tmp_path: Path) -> None:
    address = f"chdb://{tmp_path}/store"
    with running(HOLD, address) as holder:
        assert holder.stdin is not None
        timer = threading.Timer(0.3, lambda: (holder.stdin.write("\n"), holder.stdin.flush()))  # type: ignore[union-attr]
        timer.start()
        with open_store(address, patience_s=20) as store:
            assert store.embedded_path == tmp_path / "store"
        timer.join()


def test_a_store_that_a_server_holds_is_reached_through_it(tmp_path: Path) -> None:
    address = f"chdb://{tmp_path}/store"
    with running(SERVE, address), open_store(address) as store:
        put_spans(store, span_row())

        assert store.embedded_path is None
        assert len(store.read_traces([TRACE])[TRACE].spans) == 1
    with open_store(address) as store:
        assert len(store.read_traces([TRACE])[TRACE].spans) == 1


def test_a_killed_server_leaves_a_store_that_opens_at_once(tmp_path: Path) -> None:
    address = f"chdb://{tmp_path}/store"
    with running(SERVE, address) as server:
        with open_store(address) as store:
            put_spans(store, span_row())
        server.send_signal(signal.SIGKILL)
        server.wait()
        assert json.loads((tmp_path / "store" / "serving.json").read_text())["pid"] == server.pid

    with open_store(address) as store:
        assert store.embedded_path == tmp_path / "store"
        assert store.read_traces([TRACE])
        assert not (tmp_path / "store" / "serving.json").exists()


def test_a_stale_advertisement_does_not_mislead_while_another_process_holds_the_store(tmp_path: Path) -> None:
    address = f"chdb://{tmp_path}/store"
    with running(HOLD, address):
        advertise(tmp_path / "store", Serving(pid=1, port=1, token="of a process that was killed"))

        with pytest.raises(StoreLockedError):
            open_store(address, patience_s=0.2)


def test_a_server_that_went_away_makes_the_store_unreachable(tmp_path: Path) -> None:
    address = f"chdb://{tmp_path}/store"
    with running(SERVE, address) as server:
        store = open_store(address)
        server.send_signal(signal.SIGKILL)
        server.wait()

        with store, pytest.raises(StoreUnreachableError):
            put_spans(store, span_row())


def test_an_address_where_nothing_listens_is_unreachable() -> None:
    with pytest.raises(StoreUnreachableError, match=r"clickhouse://me:\*\*\*@127.0.0.1:1/x") as refusal:
        open_store("clickhouse://me:secret@127.0.0.1:1/x")

    assert "secret" not in str(refusal.value)


def test_a_folder_that_cannot_be_made_is_no_address(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreAddressError, match="cannot be used"):
        open_store(f"chdb://{tmp_path}/file/store")


def test_the_engine_keeps_to_the_settings_that_it_is_given(tmp_path: Path) -> None:
    with open_store(f"chdb://{tmp_path}/store") as store:
        assert store.engine is not None
        session = store.engine.session()
        try:
            of_tables = "SELECT name, value FROM system.merge_tree_settings WHERE changed ORDER BY name"
            tables = dict(line.split("\t") for line in session.query(of_tables, "TSV").bytes().decode().splitlines())
            caches = "SELECT value FROM system.server_settings WHERE name = 'mark_cache_size'"
            marks = int(session.query(caches, "TSV").bytes())
        finally:
            session.close()

    assert marks == 128 * 1024**2
    assert tables == {
        "fsync_after_insert": "1",
        "fsync_part_directory": "1",
        "merge_selector_base": "10",
        "min_columns_to_activate_adaptive_write_buffer": "1",
        "concurrent_part_removal_threshold": "1000000",
        "auto_statistics_types": "",
    }
