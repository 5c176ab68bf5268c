"""The page on suites: its quick start is run word by word, its program as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.collector_process import Collecting

PAGE = (Path(__file__).parents[3] / "docs" / "suites.md").read_text(encoding="utf-8")


def test_the_quick_start_and_the_program_do_what_the_page_says(
    tmp_path: Path, server: Collecting, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (commands,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert commands.count("\n") < 20
    monkeypatch.setenv("SPANPROOF_STORE", server.store)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-ec", commands], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "3/3  fix-add #2  verified" in done.stderr
    assert done.stdout.startswith("3 trials of suite first")
    monkeypatch.chdir(tmp_path)
    exec(program, {})
    assert capsys.readouterr().out
