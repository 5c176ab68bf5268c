"""Worlds in containers, by an engine that keeps to docker's commands and uses folders for containers.

A real engine is not part of these tests: what is tried is what is asked of one, in which order, and what is made of it.
"""

import json
import os
import sys
from pathlib import Path

import pytest

from spanproof_evaluators.harness import Options, RunError, run_suite
from tests.collector_process import Collecting

ENGINE = """
import json, os, pathlib, shutil, subprocess, sys, uuid
home = pathlib.Path(os.environ["HOME"]) / "engine"
name, *words = sys.argv[1:]
with (home / "asked.txt").open("a") as asked:
    asked.write(name + "\\n")
if name == "version":
    print("1.0")
elif name == "create":
    options, place = {"--env": [], "--volume": []}, 0
    while words[place].startswith("--"):
        if words[place] in ("--interactive", "--init"):
            place += 1
            continue
        options.setdefault(words[place], []).append(words[place + 1])
        place += 2
    own = uuid.uuid4().hex
    shutil.copytree(home / words[place], home / own)
    (home / f"{own}.json").write_text(json.dumps([options, words[place + 1:]]))
    print(own)
elif name == "start":
    own = words[-1]
    options, command = json.loads((home / f"{own}.json").read_text())
    inside = {volume.split(":")[1]: volume.split(":")[0] for volume in options["--volume"]}
    inside[options["--workdir"][0]] = str(home / own)
    def outside(text):
        for path in sorted(inside, key=len, reverse=True):
            text = text.replace(path, inside[path])
        return text
    given = dict(one.partition("=")[::2] for one in options["--env"])
    given = {key: outside(value) for key, value in given.items()} | {"PATH": os.environ["PATH"]}
    sys.exit(subprocess.run([outside(word) for word in command], cwd=home / own, env=given).returncode)
elif name == "cp":
    own, _, path = words[0].partition(":")
    shutil.copytree(home / own, words[1], dirs_exist_ok=True)
elif name == "rm":
    shutil.rmtree(home / words[-1])
"""


def test_an_agent_in_a_container_is_judged_by_what_is_copied_out_of_it(
    server: Collecting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, programs = tmp_path / "home", tmp_path / "programs"
    (home / "engine" / "box").mkdir(parents=True)
    (home / "engine" / "box" / "state.txt").write_text("as the image has it")
    programs.mkdir()
    (programs / "docker").write_text(f"#!{sys.executable} -IS\n{ENGINE}")
    (programs / "docker").chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    checks = [
        {"kind": "files", "destination": "world", "glob": "made.txt", "equals": "make it, as the image has it"},
        {"kind": "command", "destination": "world", "run": "sh judge.sh"},
    ]
    task = {
        "id": "boxed",
        "prompt": "make it",
        "start": {"container": {"image": "box", "folder": "/inside"}},
        "hidden": {"files": {"judge.sh": "test -f made.txt"}},
        "checks": checks,
    }
    (tmp_path / "suite.json").write_text(json.dumps({"id": "boxes", "tasks": [task]}))
    script = (
        'printf "%s, %s" "$(cat)" "$(cat state.txt)" > made.txt; ls > seen.txt; printf done > "$SPANPROOF_ANSWER_FILE"'
    )
    (home / "engine" / "box" / "agent.sh").write_text(script)
    done = run_suite(
        tmp_path / "suite.json",
        "sh /inside/agent.sh 'a word'",
        options=Options(attempts=1, retries=0, keep=tmp_path / "kept"),
        store=server.store,
        runs=tmp_path / "runs",
    )
    assert done.report is not None
    (one,) = done.report.assessments
    assert (one.outcome.state, one.outcome.effect_of_trial) == ("verified", "caused"), one.outcome
    assert one.trial.labels["isolation"] == "container"
    assert one.trial.final_answer == "done"
    (kept,) = (tmp_path / "kept").iterdir()
    assert "judge.sh" not in (kept / "seen.txt").read_text()
    asked = (home / "engine" / "asked.txt").read_text().split()
    assert [name for name in asked if name not in ("info", "version")] == [
        *("create", "start", "kill", "cp"),  # the agent's
        *("create", "cp", "rm"),  # the start state, from a container that never ran
        "rm",
    ]
    assert not [path for path in (home / "engine").iterdir() if path.is_dir() and path.name != "box"]


@pytest.mark.parametrize("agent", ["json:loads", "http://127.0.0.1:9/"])
def test_what_is_no_command_cannot_be_run_in_a_container(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "suite.json").write_text(
        json.dumps({"id": "boxes", "tasks": [{"id": "t", "start": {"container": "box"}}]})
    )
    monkeypatch.setattr("spanproof_evaluators.harness.containers.find_engine", lambda: "docker")
    with pytest.raises(RunError, match="only a command"):
        run_suite(tmp_path / "suite.json", agent, runs=tmp_path / "runs")
