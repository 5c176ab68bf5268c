"""Files: of a folder or as they were recorded, and never through a link."""

import hashlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from spanproof_evaluators.verifiers import Check, EndState, FilesCheck
from spanproof_evaluators.verifiers import _tree as tree
from spanproof_evaluators.verifiers._kind import GapError
from tests.evaluators.verifiers.asking import ask, folder, said

TEXT = '{"total": 25, "rows": [1, 2]}'
SCHEMA = {
    "type": "object",
    "required": ["total"],
    "properties": {"total": {"type": "integer", "maximum": 30}, "rows": {"type": "array"}},
}


def files(glob: str = "out/*.json", **fields: object) -> FilesCheck:
    return FilesCheck.model_validate({"kind": "files", "glob": glob, **fields})


def world(path: Path) -> Path:
    """Make a folder of files."""
    (path / "out").mkdir(parents=True)
    (path / "out" / "a.json").write_text(TEXT)
    (path / "notes.txt").write_text("keep")
    return path


CASES: list[tuple[dict[str, object], bool]] = [
    ({}, True),
    ({"glob": "out/b.json"}, False),
    ({"glob": "out/b.json", "exactly": 0}, True),
    ({"glob": "**", "exactly": 2}, True),
    ({"contains": ["total"]}, True),
    ({"contains": ["totals"]}, False),
    ({"not_contains": ["secret"]}, True),
    ({"not_contains": ["total"]}, False),
    ({"equals": TEXT}, True),
    ({"equals": TEXT + "\n"}, False),
    ({"sha256": hashlib.sha256(TEXT.encode()).hexdigest()}, True),
    ({"sha256": "0" * 64}, False),
    ({"min_bytes": len(TEXT), "max_bytes": len(TEXT)}, True),
    ({"min_bytes": len(TEXT) + 1}, False),
    ({"max_bytes": len(TEXT) - 1}, False),
    ({"json_schema": SCHEMA}, True),
    ({"json_schema": {**SCHEMA, "required": ["sum"]}}, False),
    ({"json_schema": {"properties": {"total": {"maximum": 24}}}}, False),
    ({"glob": "notes.txt", "json_schema": SCHEMA}, False),
]


@pytest.mark.parametrize(("fields", "passed"), CASES)
def test_recorded_files_and_those_of_a_folder_are_judged_alike(
    tmp_path: Path, fields: dict[str, object], passed: bool
) -> None:
    recorded = EndState(files={"out/a.json": TEXT, "notes.txt": "keep"})
    given = {"glob": "out/*.json", **fields}
    assert ask(files(**given), recorded).passed is passed  # type: ignore[arg-type]  # one of them is the glob
    live = ask(files(destination="work", **given), folder(world(tmp_path / "w")))  # type: ignore[arg-type]
    assert live.passed is passed
    assert (live.destination, live.time is not None) == ("work", True)


@pytest.fixture
def patient() -> Iterator[None]:
    """Let nobody wait longer than a second for a server that does not answer."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(1.0)
    yield
    socket.setdefaulttimeout(before)


def test_a_schema_that_is_none_or_refers_elsewhere_is_a_gap(patient: None) -> None:
    recorded = EndState(files={"out/a.json": TEXT})
    assert said(ask(files(json_schema={"type": "no-such-type"}), recorded)) == (None, "schema_invalid")
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.setblocking(False)
        remote = {"$ref": f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"}
        assert said(ask(files(json_schema=remote), recorded)) == (None, "schema_invalid")
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_folder_that_is_not_there_is_a_gap(tmp_path: Path) -> None:
    assert said(ask(files(destination="work"), folder(tmp_path / "none"))) == (None, "folder_missing")


def test_a_link_is_no_file_where_one_is_asked_for_and_one_where_none_may_be(tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text(TEXT)
    work = world(tmp_path / "w")
    (work / "out" / "a.json").unlink()
    (work / "out" / "a.json").symlink_to(outside)
    state = folder(work)
    assert ask(files(destination="work"), state).passed is False
    assert ask(files(destination="work", contains=["total"]), state).passed is False
    assert ask(files(destination="work", exactly=0), state).passed is False
    assert ask(files(destination="work", at_most=1), state).passed is True
    assert "no files" in ask(files(destination="work"), state).seen


def test_a_folder_behind_a_link_is_not_entered(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.json").write_text(TEXT)
    work = tmp_path / "w"
    work.mkdir()
    (work / "out").symlink_to(tmp_path / "outside", target_is_directory=True)
    assert ask(files(destination="work"), folder(work)).passed is False


def test_a_file_that_becomes_a_link_after_it_was_listed_is_not_read(tmp_path: Path) -> None:
    work = world(tmp_path / "w")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.json").write_text("stolen")
    for swap in ("out/a.json", "out"):
        listed = tree.folder(work)
        (work / swap).rename(work / "kept")
        (work / swap).symlink_to(tmp_path / "outside" / ("a.json" if "." in swap else ""))
        with pytest.raises(GapError, match="file_unreadable"):
            listed.content("out/a.json")
        (work / swap).unlink()
        (work / "kept").rename(work / swap)


@pytest.mark.parametrize("glob", ["/etc/*", "../*", "a/../../b"])
def test_a_pattern_that_leaves_the_folder_is_refused(glob: str) -> None:
    with pytest.raises(ValidationError, match="leaves the folder"):
        files(glob)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_counts_for_neither_side(tmp_path: Path) -> None:
    work = world(tmp_path / "w")
    (work / "out" / "a.json").chmod(0)
    assert said(ask(files(destination="work", contains=["total"]), folder(work))) == (None, "file_unreadable")


def test_a_file_that_is_too_large_to_be_read_counts_for_neither_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "MOST_BYTES", 10)
    state = folder(world(tmp_path / "w"))
    assert said(ask(files(destination="work", contains=["total"]), state)) == (None, "file_too_large")
    assert said(ask(files(destination="work", not_contains=["x"], exactly=0), state)) == (None, "file_too_large")
    assert ask(files(destination="work", contains=["total"], at_least=2), state).passed is False
    assert ask(files(destination="work"), state).passed is True


def changed(before: Path, after: Path, *within: str) -> Check:
    spec = FilesCheck(kind="files", destination="work", changed_within=within)
    return ask(spec, folder(after), folder(before))


def test_only_what_may_change_changes(tmp_path: Path) -> None:
    before, after = world(tmp_path / "before"), world(tmp_path / "after")
    assert changed(before, after).passed is True
    (after / "out" / "a.json").write_text("{}")
    (after / "out" / "b.json").write_text("{}")
    assert changed(before, after, "out/**").passed is True
    assert changed(before, after, "out/a.json").passed is False
    assert changed(before, after).passed is False


@pytest.mark.parametrize("how", ["same size", "gone", "new", "link", "link elsewhere"])
def test_every_change_is_seen(tmp_path: Path, how: str) -> None:
    before, after = world(tmp_path / "before"), world(tmp_path / "after")
    for work in (before, after):
        (work / "link").symlink_to("notes.txt")
    match how:
        case "same size":
            (after / "notes.txt").write_text("peek")
        case "gone":
            (after / "notes.txt").unlink()
        case "new":
            (after / ".hidden").touch()
        case "link":
            (after / "notes.txt").unlink()
            (after / "notes.txt").symlink_to("out/a.json")
        case "link elsewhere":
            (after / "link").unlink()
            (after / "link").symlink_to("out/a.json")
    assert changed(before, after, "out/**").passed is False


def test_what_changed_is_unknown_without_the_state_before(tmp_path: Path) -> None:
    spec = FilesCheck(kind="files", destination="work", changed_within=())
    after = folder(world(tmp_path))
    assert said(ask(spec, after, None)) == (None, "pre_state_not_recorded")
    assert said(ask(spec, after, EndState())) == (None, "pre_state_not_recorded")
    recorded = FilesCheck(kind="files", changed_within=("out/**",))
    assert ask(recorded, EndState(files={"a": "1", "out/x": "2"}), EndState(files={"a": "1"})).passed is True
    assert ask(recorded, EndState(files={"a": "2"}), EndState(files={"a": "1"})).passed is False
