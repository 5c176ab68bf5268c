"""The end-state recorder: what it sees is what verifiers read, and what it cannot see whole it does not record."""

import hashlib
import json
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanproof_evaluators.model.end_states import EndState
from spanproof_instrumentation import agent_span, end_state_recorder, record_end_state, semconv, snapshots


def states(spans: InMemorySpanExporter) -> list[dict[str, object]]:
    return [
        dict(event.attributes or {})
        for span in spans.get_finished_spans()
        for event in span.events
        if event.name == semconv.EVENT_END_STATE
    ]


def parsed(recorded: dict[str, object]) -> EndState:
    return EndState.parse(str(recorded[semconv.END_STATE_STATE]))


def database(folder: Path) -> Path:
    path = folder / "shop.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER, status TEXT, receipt BLOB)")
        connection.execute("INSERT INTO orders VALUES (7, 'sent', x'00ff')")
        connection.commit()
    return path


def git(folder: Path, *arguments: str) -> None:
    names = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *names, *arguments], check=True, capture_output=True)


def test_a_folder_is_recorded_by_text_and_by_digest_where_it_is_large_or_no_text(
    spans: InMemorySpanExporter, tmp_path: Path
) -> None:
    large = "x" * (snapshots.FILE_BYTES + 1)
    (tmp_path / "sub").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref")
    (tmp_path / "sub" / "note.txt").write_text("hällo", encoding="utf-8")
    (tmp_path / "large.txt").write_text(large)
    (tmp_path / "image").write_bytes(b"\xff\xd8")
    (tmp_path / "link").symlink_to("sub/note.txt")
    with agent_span("a"):
        record_end_state("after", folder=tmp_path)
    (recorded,) = states(spans)
    state = str(recorded[semconv.END_STATE_STATE])
    assert recorded[semconv.END_STATE_PHASE] == "after"
    assert recorded[semconv.END_STATE_DIGEST] == hashlib.sha256(state.encode()).hexdigest()
    assert parsed(recorded).tables is None
    assert parsed(recorded).files == {
        "image": f"sha256:{hashlib.sha256(bytes([255, 216])).hexdigest()} (2 bytes)",
        "large.txt": f"sha256:{hashlib.sha256(large.encode()).hexdigest()} ({len(large)} bytes)",
        "link": "symlink: sub/note.txt",
        "sub/note.txt": "hällo",
    }


def test_texts_that_together_are_too_large_are_recorded_by_digest(
    spans: InMemorySpanExporter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "TOTAL_BYTES", 5)
    (tmp_path / "a").write_text("1234")
    (tmp_path / "b").write_text("5678")
    record_end_state("after", folder=tmp_path)
    files = parsed(states(spans)[0]).files or {}
    assert (files["a"], files["b"][:7]) == ("1234", "sha256:")


@pytest.mark.parametrize("by", ["path", "connection", "names"])
def test_queries_become_tables(spans: InMemorySpanExporter, tmp_path: Path, by: str) -> None:
    path = database(tmp_path)
    digest = f"sha256:{hashlib.sha256(bytes([0, 255])).hexdigest()} (2 bytes)"
    if by == "names":
        record_end_state("after", sql=(path, ["orders"]))
    else:
        with closing(sqlite3.connect(path)) as connection:
            place = path if by == "path" else connection
            record_end_state("after", sql=(place, {"orders": "SELECT * FROM orders"}))
    (recorded,) = states(spans)
    assert parsed(recorded).files is None
    assert parsed(recorded).tables == {"orders": ({"id": 7, "status": "sent", "receipt": digest},)}


def test_a_git_tree_is_recorded_by_commit_status_and_diff(spans: InMemorySpanExporter, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.txt").write_text("one\n")
    git(tmp_path, "add", "a.txt")
    record_end_state("before", git=tmp_path)
    git(tmp_path, "commit", "-qm", "one")
    (tmp_path / "a.txt").write_text("two\n")
    (tmp_path / "new.txt").write_text("new\n")
    record_end_state("after", git=tmp_path)
    before, after = (parsed(recorded).tables or {} for recorded in states(spans))
    assert before["git.head"] == ()
    assert before["git.status"] == ({"path": "a.txt", "status": "A"},)
    assert len(str(after["git.head"][0]["commit"])) == 40
    assert after["git.status"] == ({"path": "a.txt", "status": "M"}, {"path": "new.txt", "status": "??"})
    assert "-one\n+two" in str(after["git.diff"][0]["patch"])


def test_a_block_is_recorded_before_and_after_with_what_changed(spans: InMemorySpanExporter, tmp_path: Path) -> None:
    path = database(tmp_path)
    work = tmp_path / "work"
    work.mkdir()
    (work / "kept").write_text("1")
    (work / "changed").write_text("1")
    (work / "removed").write_text("1")
    with agent_span("a"), end_state_recorder(folder=work, sql=(path, ["orders"])):
        (work / "changed").write_text("2")
        (work / "removed").unlink()
        (work / "added").write_text("1")
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("UPDATE orders SET status = 'refunded'")
            connection.execute("INSERT INTO orders VALUES (8, 'new', NULL)")
            connection.commit()
    before, after = states(spans)
    assert (before[semconv.END_STATE_PHASE], after[semconv.END_STATE_PHASE]) == ("before", "after")
    assert semconv.END_STATE_DIFF not in before
    assert json.loads(str(after[semconv.END_STATE_DIFF])) == {
        "files": {"added": ["added"], "changed": ["changed"], "removed": ["removed"]},
        "tables": {"orders": {"added": 2, "removed": 1}},
    }


def test_a_block_that_fails_is_recorded_and_its_exception_is_the_same(
    spans: InMemorySpanExporter, tmp_path: Path
) -> None:
    error = ValueError("x")
    with pytest.raises(ValueError, match="x") as caught, end_state_recorder(folder=tmp_path):
        raise error
    assert caught.value is error
    assert [recorded[semconv.END_STATE_PHASE] for recorded in states(spans)] == ["before", "after"]


def test_looking_at_a_git_tree_and_a_database_changes_neither(spans: InMemorySpanExporter, tmp_path: Path) -> None:
    path = database(tmp_path)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "shop.db")
    git(tmp_path, "commit", "-qm", "one")
    before = {file: file.read_bytes() for file in sorted(tmp_path.rglob("*")) if file.is_file()}
    record_end_state("after", git=tmp_path, sql=(path, ["orders"]))
    assert {file: file.read_bytes() for file in sorted(tmp_path.rglob("*")) if file.is_file()} == before
    assert len(states(spans)) == 1


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (lambda path: record_end_state("after", folder=path / "missing"), "is no folder"),
        (lambda path: record_end_state("after", git=path), "git status"),
        (lambda path: record_end_state("after", sql=(path / "missing.db", ["orders"])), "is no SQLite file"),
        (lambda path: record_end_state("after", sql=(database(path), ["missing"])), "no such table"),
        (lambda path: record_end_state("after", sql=(object(), ["orders"])), "is no connection"),  # type: ignore[arg-type]
        (lambda path: record_end_state("after", sql=(path, "orders")), "give the queries as"),
        (lambda path: record_end_state("after"), "name a folder"),
        (lambda path: record_end_state("later", folder=path), "phase='later'"),  # type: ignore[arg-type]
        (lambda path: record_end_state(folders=path), "name a folder"),  # type: ignore[call-arg]
    ],
)
def test_what_cannot_be_recorded_whole_is_told_and_not_recorded(
    spans: InMemorySpanExporter,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    record: Callable[[Path], None],
    said: str,
) -> None:
    record(tmp_path)
    assert said in caplog.text
    assert states(spans) == []


def test_a_folder_with_too_many_files_is_not_recorded_in_part(
    spans: InMemorySpanExporter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(snapshots, "MOST_FILES", 1)
    monkeypatch.setattr(snapshots, "MOST_ROWS", 0)
    (tmp_path / "a").write_text("1")
    (tmp_path / "b").write_text("1")
    record_end_state("after", folder=tmp_path)
    record_end_state("after", sql=(database(tmp_path), ["orders"]))
    assert states(spans) == []
    assert "more than 1 files" in caplog.text
    assert "more than 0 rows" in caplog.text
