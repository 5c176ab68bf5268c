"""The ready-made hooks: every shell step of the workflows, run in order against a stand-in agent."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from spanproof_collector.store import open_store
from spanproof_evaluators.__main__ import main
from tests.evaluators.founding import SUITE, TRIALS, V1, request
from tests.storing import put

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / "deploy" / "ci").glob("*.yml"))

AGENT = """#!/bin/sh
exec {python} -m tests.deployed_agent "$1"
"""


def steps(path: Path) -> list[dict[str, Any]]:
    (job,) = yaml.safe_load(path.read_text())["jobs"].values()
    found: list[dict[str, Any]] = job["steps"]
    return found


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository with a suite, a policy, a baseline called main and a script that runs trials."""
    tmp_path = tmp_path_factory.mktemp("repository")
    (tmp_path / "suite.json").write_text(json.dumps(SUITE))
    (tmp_path / "policy.yaml").write_text(
        "id: own\nowner: Ada\ngates:\n"
        "- {kind: limit, id: false_success, measure: false_success_rate, what: numerator, at_most: 0, on_empty: fail}\n"
    )
    with open_store(f"chdb://{tmp_path}/base") as store:
        put(store, *(request(one) for one in TRIALS if one.variant == V1))
    base = ["--store", f"chdb://{tmp_path}/base", "--suite", str(tmp_path / "suite.json")]
    assert main(["evaluate", *base, "--include-unsettled"]) == 0
    kept = ["--baselines", str(tmp_path / ".spanproof-baselines")]
    assert main(["baseline", "save", "main", "--variant", V1, *base, *kept]) == 0
    script = tmp_path / "run-trials.sh"
    script.write_text(AGENT.format(python=sys.executable))
    script.chmod(0o755)
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in (
        ("spanproof", f'exec {sys.executable} -m spanproof_evaluators "$@"'),
        ("gh", 'echo "$@" > gh.log'),
        ("curl", f'exec {sys.executable} -m tests.deployed_agent --ready "$@"'),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    return tmp_path


@pytest.fixture
def workplace(repository: Path, tmp_path: Path) -> Path:
    """Return a copy of the repository."""
    return Path(shutil.copytree(repository, tmp_path / "work", ignore=shutil.ignore_patterns("base")))


def run(workplace: Path, workflow: Path) -> dict[str, int]:
    """Run the shell steps in order; return how each ended, by name."""
    declared = yaml.safe_load(workflow.read_text()).get("env", {})
    http, grpc = free_port(), free_port()
    environment = {
        **os.environ,
        **{name: re.sub(r"\$\{\{.*?\}\}", "7", str(value)) for name, value in declared.items()},
        "PATH": f"{workplace / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path[:8], os.environ.get("PYTHONPATH", "")]),
    }
    ended: dict[str, int] = {}
    for step in steps(workflow):
        if "run" not in step or step["name"] == "install":
            continue
        command = re.sub(r"\$\{\{.*?\}\}", "7", step["run"]).replace("localhost:4318", f"localhost:{http}")
        command = command.replace(
            "spanproof serve --json", f"spanproof serve --json --http-port {http} --grpc-port {grpc}"
        )
        done = subprocess.run(
            ["bash", "-e", "-c", command],
            cwd=workplace,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        ended[step["name"]] = done.returncode
        assert done.returncode in (0, 1, 3), f"{step['name']}: {done.stderr}"
    return ended


def test_a_pull_request_is_commented_on_and_stopped_by_its_gate(workplace: Path) -> None:
    ended = run(workplace, ROOT / "deploy" / "ci" / "pull-request.yml")
    assert ended == {"run the trials": 0, "judge": 0, "report": 0, "comment": 0, "gate": 0}
    assert "## spanproof: 5 trials" in (workplace / "comment.md").read_text()
    assert (workplace / "gh.log").read_text().startswith("pr comment 7 --body-file comment.md")
    assert (workplace / "certificate.json").is_file()


def test_a_night_adds_to_the_evidence(workplace: Path) -> None:
    ended = run(workplace, ROOT / "deploy" / "ci" / "nightly.yml")
    assert ended["judge"] == 0
    assert ended["gate"] == 3  # one of the five tasks waits for somebody on both sides: it has no value
    assert len(json.loads((workplace / "nights.json").read_text())["counted"]) == 1


def test_a_change_of_model_is_compared(workplace: Path) -> None:
    ended = run(workplace, ROOT / "deploy" / "ci" / "model-change.yml")
    assert ended == {"run the trials": 0, "judge": 0, "compare": 3}


def test_the_pre_commit_hook_is_a_command_that_there_is() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert (hook["id"], hook["entry"], hook["pass_filenames"]) == ("spanproof-gate", "spanproof gate", False)
