"""The recorded sessions of a small model: what their page says of them is what the commands on it find."""

import gzip
import json
import re
import shlex
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from spanproof_collector.server.clickhouse import ClickHouseEndpoint
from spanproof_evaluators.cli.group import cli
from spanproof_evaluators.harness.journal import RunError

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "examples" / "small_model"
PAGE: Final = (ROOT / "docs" / "example-sessions.md").read_text(encoding="utf-8")
IMPORT, EVALUATE, REPORT, SHOW = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)[0].splitlines()
TOLD: Final = re.findall(r"^\| `([a-z]+-\d+)` \| [^|]+ \| (\w+) \| (\w+) \|", PAGE, re.MULTILINE)


def said(command: str, *more: str) -> str:
    program, *arguments = shlex.split(command)
    done = CliRunner().invoke(cli, [*arguments, *more])
    assert (program, done.exit_code) == ("spanproof", 0), done.output
    return done.stdout


def test_the_page_tells_what_its_commands_find(endpoint: ClickHouseEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setenv("SPANPROOF_STORE", f"clickhouse://anybody:{endpoint.token}@127.0.0.1:{endpoint.port}/spanproof")
    assert "14 trials, 129 spans" in said(IMPORT)
    found = json.loads(said(EVALUATE, "--json"))
    read = sorted((one["task_id"], one["claim"]["state"], one["outcome"]["state"]) for one in found["trials"])
    assert read == sorted(TOLD)
    false = sorted(one["task_id"] for one in found["trials"] if one["false_success"])
    assert false == sorted(task for task, claim, outcome in TOLD if (claim, outcome) == ("success", "failed"))
    assert (len(false), "12 claims of success, 9 of them false" in " ".join(PAGE.split())) == (9, True)
    assert [one["task_id"] for one in found["trials"] if one["outcome"]["effect_of_trial"] == "vacuous"] == [
        "radare-09"
    ]
    assert "False success rate  9/12" in said(REPORT)
    shown = said(SHOW)
    for part in re.findall(r"```text\n(2600.*?)```", PAGE, re.DOTALL)[0].split("...\n"):
        assert part in shown


def test_the_files_name_no_machine() -> None:
    texts = [gzip.decompress((FOLDER / "trials.jsonl.gz").read_bytes()).decode()]
    texts += [path.read_text(encoding="utf-8") for path in FOLDER.iterdir() if path.suffix != ".gz"]
    assert len(texts) == 4
    for text in texts:
        assert not re.search(r"/tmp|/home|/root|/dev/|127\.0\.0\.1|host\.name", text)


@pytest.mark.parametrize(
    ("suite", "why"),
    [(None, "--verdicts needs the suite"), ("{id: other, tasks: []}", "are by suite shop-nepagu (b2f1caab2c46)")],
)
def test_verdicts_by_another_suite_are_refused(tmp_path: Path, suite: str | None, why: str) -> None:
    arguments = ["evaluate", "--store", f"chdb://{tmp_path}/none", "--verdicts", str(FOLDER / "verdicts.jsonl")]
    if suite is not None:
        (tmp_path / "other.yaml").write_text(suite)
        arguments += ["--suite", str(tmp_path / "other.yaml")]
    done = CliRunner().invoke(cli, arguments)
    assert isinstance(done.exception, RunError)
    assert why in str(done.exception)
