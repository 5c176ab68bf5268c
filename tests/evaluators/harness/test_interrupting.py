"""Ctrl-C, and going on."""

import os
import signal
from pathlib import Path

import pytest
import yaml

from spanproof_evaluators.__main__ import main
from spanproof_evaluators.cli import suite_run
from spanproof_evaluators.harness import Progress
from tests.collector_process import Collecting


def test_ctrl_c_keeps_what_has_a_verdict_and_going_on_repeats_none_of_it(
    server: Collecting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check = {"kind": "files", "destination": "world", "glob": "made.txt"}
    tasks = [{"id": "quick", "checks": [check]}, {"id": "slow", "checks": [check]}, {"id": "later", "checks": [check]}]
    (tmp_path / "suite.yaml").write_text(yaml.safe_dump({"id": "stopped", "tasks": tasks}))
    (tmp_path / "agent.sh").write_text(
        'touch made.txt; echo ran >> "$0.$SPANPROOF_TASK"; test $SPANPROOF_TASK = slow && sleep 60'
    )
    monkeypatch.chdir(tmp_path)
    words = ["suite", "run", "suite.yaml", "--agent", "sh agent.sh", "-n", "1", "--isolation", "process"]
    words += ["--store", server.store]
    told = suite_run._told

    def stop(progress: Progress) -> None:
        told(progress)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(suite_run, "_told", stop)
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "1/3  quick #0  verified" in said
    assert "2 attempts without a verdict. Go on with:\n  spanproof suite run suite.yaml --agent 'sh agent.sh'" in said
    monkeypatch.setattr(suite_run, "_told", told)
    (tmp_path / "agent.sh").write_text('touch made.txt; echo ran >> "$0.$SPANPROOF_TASK"')
    assert main([*words, "--resume", "--junit", "report.xml"]) == 0
    assert (tmp_path / "report.xml").read_text().count('classname="agent.') >= 3
    assert "3/3" in capsys.readouterr().err
    assert (tmp_path / "agent.sh.quick").read_text() == "ran\n"
