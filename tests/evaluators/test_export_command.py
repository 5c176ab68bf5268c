"""spanproof export, as a script uses it."""

import json
from pathlib import Path

import pytest

from spanproof_collector.store import open_store
from spanproof_evaluators.__main__ import main
from tests.collector_process import collecting
from tests.evaluators.shop import attempt
from tests.storing import put


@pytest.fixture
def address(tmp_path: Path) -> str:
    address = f"chdb://{tmp_path}/store"
    with open_store(address) as store:
        put(store, attempt("one"), attempt("two", at=10))
    return address


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> "dict[str, object]":
    assert main([*arguments, "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_what_is_exported_is_imported_to_equal_trials(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = f"chdb://{tmp_path}/other"
    file = str(tmp_path / "one.parquet")
    made = told(capsys, "export", file, "--trial", "one", "--store", address)
    assert (made["format"], made["trials"]) == ("parquet", 1)
    imported = told(capsys, "import", file, "--store", other)
    assert (imported["trials"], imported["spans"], imported["formats"]) == (1, made["spans"], {"parquet": 1})
    here = told(capsys, "trials", "--trial", "one", "--store", address)
    there = told(capsys, "trials", "--store", other)
    assert there == here | {"source": "import:parquet", "path": file, "last_received_at": None}


def test_an_export_goes_through_a_running_server(
    tmp_path: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with collecting(tmp_path / "store"):
        made = told(capsys, "export", str(tmp_path / "all.jsonl"), "--store", address)
    assert made["trials"] == 2


def test_nothing_to_export_leaves_no_file(address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(tmp_path / "a.jsonl"), "--trial", "nobody", "--store", address]) == 2
    assert "no trial matches trial=nobody" in capsys.readouterr().err
    assert not (tmp_path / "a.jsonl").exists()
