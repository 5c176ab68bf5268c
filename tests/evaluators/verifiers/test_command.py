"""Commands: an exit code decides, in a copy, within limits."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from spanproof_evaluators.verifiers import Check, CommandCheck, EndState, declared, judge
from tests.evaluators.verifiers.asking import ask, folder, said


def command(run: str | list[str], **fields: object) -> CommandCheck:
    return CommandCheck.model_validate({"kind": "command", "destination": "work", "run": run, **fields})


def ran(work: Path, run: str | list[str], **fields: object) -> Check:
    return ask(command(run, **fields), folder(work))


def alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pid: int) -> bool:
    """Wait for a killed process to be gone."""
    deadline = time.monotonic() + 5
    while alive(pid) and time.monotonic() < deadline:
        os.sched_yield()
    return not alive(pid)


@pytest.mark.parametrize(
    ("run", "fields", "expected"),
    [
        ("true", {}, (True, None)),
        (["true"], {}, (True, None)),
        ("exit 1", {}, (False, None)),
        ("exit 3", {"exit_codes": [0, 3]}, (True, None)),
        ("exit 125", {}, (False, None)),
        ("exit 160", {}, (False, None)),
        ("exit 126", {}, (None, "command_not_executable")),
        ("no-such-program-here", {}, (None, "command_not_found")),
        (["no-such-program-here"], {}, (None, "command_not_found")),
        (["./data.txt"], {}, (None, "command_not_started")),
        ("kill -9 $$", {}, (None, "killed_by_signal")),
        ("exit 137", {}, (None, "killed_by_signal")),
        ("exit 137", {"failed_codes": [137]}, (False, None)),
        ("exit 1", {"failed_codes": [1]}, (False, None)),
        ("exit 4", {"failed_codes": [1]}, (None, "unexpected_exit_code")),
        ("true", {"folder": "none"}, (None, "folder_missing")),
        ("grep -q hello data.txt", {}, (True, None)),
        ("test -e inner.txt", {"folder": "sub"}, (True, None)),
    ],
)
def test_the_exit_code_decides(
    tmp_path: Path, run: str | list[str], fields: dict[str, object], expected: tuple[bool | None, str | None]
) -> None:
    (tmp_path / "data.txt").write_text("hello")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "inner.txt").touch()
    assert said(ran(tmp_path, run, **fields)) == expected


def test_a_folder_that_is_not_there_or_is_nowhere_named_is_a_gap(tmp_path: Path) -> None:
    assert said(ran(tmp_path / "none", "true")) == (None, "folder_missing")
    assert said(ask(command("true"), EndState())) == (None, "destination_not_given")


def test_it_works_on_a_copy_and_the_original_stays(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (work / "data.txt").write_text("hello")
    (work / "tool.sh").write_text("#!/bin/sh\nexit 0\n")
    (work / "tool.sh").chmod(0o755)
    (work / "sub" / "full").symlink_to(work / "data.txt")
    (work / "sub" / "relative").symlink_to("../data.txt")
    os.mkfifo(work / "pipe")
    script = "./tool.sh && echo spoiled > sub/full && echo spoiled > sub/relative && rm tool.sh && echo x > new"
    assert ran(work, script).passed is True
    assert (work / "data.txt").read_text() == "hello"
    assert sorted(path.name for path in work.iterdir()) == ["data.txt", "pipe", "sub", "tool.sh"]


def test_paths_in_what_it_says_begin_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    found = ran(tmp_path, 'echo "in $PWD, $PWD/../t.py"; echo "$(dirname "$PWD")/x.py" >&2; exit 1', folder="sub")
    assert found.seen == "exit code 1\nin sub, sub/../t.py\nx.py"


def test_a_folder_that_is_larger_than_allowed_is_a_gap(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 1000)
    assert said(ran(tmp_path, "true", max_copy_bytes=999)) == (None, "folder_too_large")
    assert ran(tmp_path, "true", max_copy_bytes=1000).passed is True


def test_nothing_of_our_environment_is_inherited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "tok-12345")
    monkeypatch.setenv("HOME", "/somebody")
    assert ran(tmp_path, '[ -z "$SECRET_TOKEN" ] && [ "$HOME" != /somebody ]').passed is True
    assert ran(tmp_path, '[ "$SECRET_TOKEN" = tok-12345 ]', pass_env=["SECRET_TOKEN"]).passed is True
    assert ran(tmp_path, '[ "$KEY" = "Bearer tok-12345" ]', env={"KEY": "Bearer ${SECRET_TOKEN}"}).passed is True


def test_a_secret_it_is_given_is_not_in_the_receipt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "tok-12345")
    found = ran(tmp_path, "echo it is $KEY; exit 1", env={"KEY": "${SECRET_TOKEN}"})
    assert found.passed is False
    assert "it is ${SECRET_TOKEN}" in found.seen
    assert "12345" not in repr(found)


def test_a_variable_that_is_not_set_is_a_gap(tmp_path: Path) -> None:
    assert said(ran(tmp_path, "true", env={"KEY": "${SPANPROOF_TEST_UNSET}"})) == (None, "variable_not_set")


def test_there_is_nothing_to_read(tmp_path: Path) -> None:
    assert ran(tmp_path, "read line; [ $? -ne 0 ]", timeout=10).passed is True


def test_who_ignores_sigterm_and_whoever_it_started_is_killed_after_its_time(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    program = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if os.fork() == 0:\n"
        "    if os.fork() == 0: os.setsid()\n"
        f"open({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
        "time.sleep(600)\n"
    )
    started = time.monotonic()
    found = ran(tmp_path, [sys.executable, "-I", "-S", "-c", program], timeout=1.0)
    assert said(found) == (None, "timeout")
    assert time.monotonic() - started < 8
    written = [int(line) for line in pids.read_text().split()]
    assert len(written) == 3
    assert all(gone(pid) for pid in written)


def test_whoever_stays_behind_after_the_end_is_killed_and_not_waited_for(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    started = time.monotonic()
    found = ran(tmp_path, f"sleep 600 & echo $! > {pids}; exit 0", timeout=60)
    assert found.passed is True
    assert time.monotonic() - started < 10
    assert gone(int(pids.read_text()))


def test_too_much_output_is_a_gap_and_is_not_kept(tmp_path: Path) -> None:
    found = ran(tmp_path, "yes a-line-of-output", max_output=100_000, timeout=60)
    assert said(found) == (None, "output_limit")
    assert len(found.seen) < 5_000


def test_long_output_is_kept_to_its_end(tmp_path: Path) -> None:
    found = ran(tmp_path, "seq 1 5000; echo the last line; exit 1")
    assert found.passed is False
    assert len(found.seen) < 3_000
    assert found.seen.endswith("the last line")


def test_a_receipt_says_what_where_when_and_by_which_definition(tmp_path: Path) -> None:
    before = time.time_ns()
    one, other = ran(tmp_path, "echo seen"), ran(tmp_path, "echo seen ")
    assert (one.kind, one.destination) == ("command", "work")
    assert "seen" in one.seen
    assert one.time is not None
    assert before <= one.time <= time.time_ns()
    assert len(one.definition) == 64
    assert one.definition != other.definition == command("echo seen ").definition


def test_a_copy_of_before_tells_what_the_trial_brought_about(tmp_path: Path) -> None:
    for name, text in (("before", "bug"), ("after", "fixed")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "code").write_text(text)
    verifier = declared([command("grep -q fixed code")])
    before, after = folder(tmp_path / "before"), folder(tmp_path / "after")
    assert judge(verifier, before, after, name="v").effect_of_trial == "caused"
    assert judge(verifier, after, after, name="v").effect_of_trial == "vacuous"
    assert judge(verifier, after, before, name="v").effect_of_trial == "damaged"
    assert judge(verifier, EndState(), after, name="v").effect_of_trial is None


def test_a_killed_process_of_ours_is_none_of_its_group(tmp_path: Path) -> None:
    # The group of the command is its own: what it does to its group does not reach us.
    assert said(ran(tmp_path, f"kill -{int(signal.SIGTERM)} 0; sleep 60", timeout=30)) == (None, "killed_by_signal")
