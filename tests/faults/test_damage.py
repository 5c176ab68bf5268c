"""Files of a store that are not as they were written."""

from pathlib import Path

import pytest

from spanproof_collector.errors import StoreDamagedError
from spanproof_collector.store import open_store
from spanproof_collector.trials import read_trials, reindex
from tests.factories import span, trace_id, traces
from tests.faults.running import running
from tests.storing import put


def _filled(folder: Path) -> str:
    """Return the address of a store with three traces, each in parts of its own."""
    address = f"chdb://{folder}/store"
    with open_store(address) as store:
        for name in "abc":
            put(store, traces(*[span(f"{name}{number}", trace=name) for number in range(40)]))
    return address


def _part(folder: Path, table: str, number: int) -> Path:
    """Return the folder of a table's nth part; the columns tell the table."""
    mark = {"spans": b"attribute.value", "steps": b"arguments_hash"}[table]
    parts = (path.parent for path in (folder / "store/data/store").glob("*/*/*/columns.txt"))
    return sorted(part for part in parts if mark in (part / "columns.txt").read_bytes())[number]


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for place in range(len(content) // 2, min(len(content) // 2 + 16, len(content))):
        content[place] ^= 0xFF
    path.write_bytes(content)


def _counts(address: str) -> dict[str, int]:
    with open_store(address) as store:
        names = {trace_id(name).hex(): name for name in "abc"}
        records = store.read_traces([("default", each) for each in names])
        return {names[each]: len(found.spans) for (_, each), found in records.items()}


def test_damage_inside_a_column_is_set_aside_and_the_rest_is_readable(tmp_path: Path) -> None:
    address = _filled(tmp_path)
    part = _part(tmp_path, "spans", 1)
    _flip(part / "data.bin")
    with open_store(address) as store, pytest.raises(StoreDamagedError, match="spanproof serve"):
        store.read_traces([("default", trace_id("b").hex())])
    with running(address, tmp_path) as server:
        server.wait_for_log("is damaged")
        assert _counts(address) == {"a": 40, "c": 40}
        log = server.log()
    assert "the table spans" in log
    assert str(part.parent / "detached" / part.name) in log
    assert "its 40 rows" in log
    assert "backup" in log


def test_a_damaged_projection_is_told_to_be_made_again(tmp_path: Path) -> None:
    address = _filled(tmp_path)
    _flip(_part(tmp_path, "steps", 0) / "data.bin")
    with running(address, tmp_path) as server:
        server.wait_for_log("is damaged")
        assert _counts(address) == {"a": 40, "b": 40, "c": 40}
        assert "reindex" in server.log()
    with open_store(address) as store:
        assert sum(len(trial.steps) for trial in read_trials(store)) == 80
        reindex(store)
        assert sum(len(trial.steps) for trial in read_trials(store)) == 120


@pytest.mark.parametrize("file", ["checksums.txt", "columns.txt", "count.txt"])
def test_a_part_whose_files_do_not_fit_is_named(tmp_path: Path, file: str) -> None:
    address = _filled(tmp_path)
    part = _part(tmp_path, "spans", 0)
    if (part / file).exists():
        _flip(part / file)
    else:
        pytest.skip(f"parts have no {file}")
    with running(address, tmp_path) as server:
        server.wait_for_log("is damaged")
        assert _counts(address) == {"b": 40, "c": 40}
        assert str(part.parent / "detached") in server.log()
