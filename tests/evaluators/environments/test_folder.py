"""Folders as worlds, with real files and real child processes."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from spanproof_evaluators.environments import Answer, Call, Environment, EnvironmentFileError, World, environment
from spanproof_evaluators.environments import Snapshotting as Snapshots
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.runner.replaying import replay
from tests.evaluators.environments.recorded import call, record, shop

DESK = """
kind: folder
name: desk
start: desk
root: /home/ada/desk
tools:
  write_file: {write: path, text: content}
  edit_file: {edit: path, old: old, new: new}
  remove: {delete: path}
  rename: {move: from, to: to}
  read_file: {read: path}
  sh: {run: command, seconds: 20, output: 1000}
  slow: {run: command, seconds: 0.3}
  count: {run: [wc, -l, "{file}"]}
expected:
  greet: [{tool: write_file, arguments: {path: hello.txt, content: "Hello\\n"}}]
"""


@pytest.fixture
def desk(tmp_path: Path) -> Environment:
    (tmp_path / "desk" / "notes").mkdir(parents=True)
    (tmp_path / "desk" / "notes" / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    (tmp_path / "desk" / "raw.bin").write_bytes(b"\xff\x00")
    (tmp_path / "desk" / ".git").mkdir()
    (tmp_path / "desk" / ".git" / "index").write_text("no part of the state", encoding="utf-8")
    (tmp_path / "desk.yaml").write_text(DESK, encoding="utf-8")
    return environment(str(tmp_path / "desk.yaml"))


def world_of(desk: Environment) -> World:
    return desk.start(record(desk, []))


def made(desk: Environment, *calls: Call) -> tuple[list[Answer], Plain]:
    """Return the answers of calls in one world, and its state after them."""
    world = world_of(desk)
    try:
        return [world.apply(one) for one in calls], world.state()
    finally:
        world.close()


def test_files_are_written_edited_moved_and_deleted_in_a_copy(desk: Environment, tmp_path: Path) -> None:
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    answers, state = made(
        desk,
        call("write_file", path="new/b.txt", content="bee"),
        call("edit_file", path="/home/ada/desk/notes/a.txt", old="two", new="2"),
        call("rename", **{"from": "notes/a.txt", "to": "notes/c.txt"}),
        call("remove", path="raw.bin"),
        call("read_file", path="notes/c.txt"),
    )
    assert [answer.error for answer in answers] == [None] * 5
    assert (answers[0].comparable, answers[4].result) == (False, "one\n2\n")
    assert state == {"new/b.txt": "bee", "notes/c.txt": "one\n2\n"}
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        (call("write_file", path="../out.txt", content="x"), "../out.txt is outside the folder"),
        (call("write_file", path="/etc/passwd", content="x"), "/etc/passwd is outside the folder"),
        (call("write_file", path="a.txt"), "the call has no argument content that is a text"),
        (call("edit_file", path="notes/a.txt", old="o", new="0"), "the text to replace stands 2 times in a.txt"),
        (call("edit_file", path="notes/a.txt", old="", new="0"), "the text to replace stands 0 times in a.txt"),
        (call("read_file", path="none"), "[Errno 2] No such file or directory: '/home/ada/desk/none'"),
        (call("dance"), "the environment has no tool dance"),
        (call("count", other="x"), "the command has no argument 'file'"),
    ],
)
def test_what_a_folder_does_not_do_is_the_tools_error(desk: Environment, refused: Call, why: str) -> None:
    (answer,), state = made(desk, refused)
    assert answer.error == why
    assert isinstance(state, dict)
    assert list(state) == ["notes/a.txt", "raw.bin"]


def test_a_link_out_of_the_folder_is_no_way_out(desk: Environment, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("safe", encoding="utf-8")
    (tmp_path / "desk" / "link").symlink_to(tmp_path / "outside.txt")
    (answer,), _ = made(desk, call("write_file", path="link", content="x"))
    assert answer.error == "link is outside the folder"
    assert (tmp_path / "outside.txt").read_text(encoding="utf-8") == "safe"


def test_commands_run_in_the_copy_without_our_environment(desk: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_OURS", "hidden")
    answers, state = made(
        desk,
        call("sh", command="cd /home/ada/desk/notes && pwd && cat a.txt; echo $SECRET_OF_OURS > seen"),
        call("sh", command="echo no >&2; exit 3"),
        call("count", file="notes/a.txt"),
    )
    assert answers[0].result == "/home/ada/desk/notes\none\ntwo\n"
    assert answers[1].error == "exit code 3\nno\n"
    assert answers[2].result == "2 notes/a.txt\n"
    assert isinstance(state, dict)
    assert state["notes/seen"] == "\n"


def test_a_command_that_takes_too_long_ends_with_all_that_it_started(desk: Environment, tmp_path: Path) -> None:
    told = tmp_path / "pid"
    (answer,), _ = made(desk, call("slow", command=f"sleep 60 & echo $! > {told}; wait"))
    assert answer.error is not None
    assert answer.error.startswith("not done after 0.3 s")
    child = int(told.read_text())
    deadline = time.monotonic() + 10
    while Path(f"/proc/{child}").exists() and "Z" not in Path(f"/proc/{child}/stat").read_text().split(")")[1][:3]:
        assert time.monotonic() < deadline
        os.sched_yield()


def test_output_is_kept_to_its_limit(desk: Environment) -> None:
    (answer,), _ = made(desk, call("sh", command="yes | head -c 5000"))
    assert len(str(answer.result)) == 1000


def test_a_session_recorded_in_a_folder_is_replayed_and_judged(desk: Environment) -> None:
    calls = [
        call("sh", command="ls"),
        call("write_file", path="hello.txt", content="Hello\n"),
        call("sh", command="cat hello.txt raw.none"),
    ]
    found = replay(record(desk, calls, "greet"), desk)
    assert (found.outcome.state, found.outcome.effect_of_trial, found.divergence) == ("verified", "caused", None)
    assert [step.changed for step in found.steps] == [False, True, False]
    wrong = replay(record(desk, [replace(calls[1], arguments={"path": "hello.txt", "content": "Hi"})], "greet"), desk)
    assert (wrong.outcome.state, wrong.outcome.reason) == ("failed", "state: other than meant: /hello.txt")


def test_texts_are_what_the_checks_of_a_suite_can_read(desk: Environment) -> None:
    world = world_of(desk)
    assert isinstance(world, Snapshots)
    assert world.end_state().files == {"notes/a.txt": "one\ntwo\n"}
    world.close()


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("kind: folder\nname: x\nstart: desk\ntools: {a: {wipe: all}}", "tools.a"),
        ("kind: cloud\nname: x\nstart: desk\ntools: {}", "does not match any of the expected tags"),
        ("kind: sqlite\nname: x\nstart: shop.db\ntools: {a: {sql: SELECT 1}}\nsimulate: true", "unknown key"),
        ("kind: folder\nname: x\nstart: nowhere\ntools: {}", "start: nowhere does not exist beside it"),
        ("- a list", "should be an object"),
        ("a: [", "no YAML"),
    ],
)
def test_a_file_that_defines_no_environment_is_refused_by_key(
    desk: Environment, tmp_path: Path, written: str, why: str
) -> None:
    shop(tmp_path)
    (tmp_path / "bad.yaml").write_text(written, encoding="utf-8")
    with pytest.raises(EnvironmentFileError) as refused:
        environment(str(tmp_path / "bad.yaml"))
    assert str(refused.value).startswith(str(tmp_path / "bad.yaml"))
    assert why in str(refused.value)


def test_statements_reach_no_other_file(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    config = shop(tmp_path, "kind: sqlite\nname: s\nstart: shop.db\ntools: {evil: {sql: ATTACH :file AS other}}")
    world = environment(str(config))
    found = world.start(record(world, []))
    answer = found.apply(call("evil", file=str(other)))
    found.close()
    assert answer.error == "not authorized"
    assert not other.exists()
