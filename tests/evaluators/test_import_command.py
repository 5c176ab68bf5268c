"""The command that imports, as a person and as a program meets it."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest


def recording(path: Path) -> Path:
    lines = [{"id": f"s{n}", "messages": [{"role": "user", "content": "x" * 5000}]} for n in range(300)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def importing(folder: Path, *more: str) -> list[str]:
    store = f"chdb://{folder}/store"
    return [sys.executable, "-m", "spanproof_evaluators", "import", str(folder / "a.jsonl"), "--store", store, *more]


@pytest.mark.parametrize("watched", [True, False], ids=["a terminal", "a pipe"])
def test_progress_is_shown_on_standard_error_where_it_is_a_terminal(tmp_path: Path, watched: bool) -> None:
    recording(tmp_path / "a.jsonl")
    ours, theirs = pty.openpty() if watched else os.pipe()
    process = subprocess.Popen(
        importing(tmp_path, "--json"), stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": "xterm"}
    )
    os.close(theirs)
    told = b""
    try:
        while part := os.read(ours, 65536):
            told += part
    except OSError:  # a terminal whose other end is closed
        pass
    os.close(ours)
    assert process.stdout is not None
    found = json.loads(process.stdout.read())
    process.stdout.close()
    assert (process.wait(60), found["trials"], found["rejected"]) == (0, 300, [])
    assert (b"a.jsonl" in told, b"MB" in told) == (watched, watched)


def test_a_file_of_which_nothing_is_usable_ends_with_two(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"messages": [{"role": "user"}, {"ro')
    done = subprocess.run(importing(tmp_path, "--json"), capture_output=True, timeout=60, check=False)
    found = json.loads(done.stdout)
    assert (done.returncode, found["files"], found["trials"], len(found["rejected"])) == (2, 1, 0, 1)
    assert b"nothing was usable" in done.stderr
