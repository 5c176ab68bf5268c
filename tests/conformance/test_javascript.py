"""The exporters of OpenTelemetry for JavaScript, which send JSON: installed once a session, outside of the tree."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from spanproof_collector.model.filters import Filter
from spanproof_collector.store import open_store
from spanproof_collector.store.tokens import add_token
from spanproof_collector.trials import read_trials
from tests.collector.server.conftest import Listening
from tests.collector_process import collecting

JS = Path(__file__).parent / "js"
Run = Callable[..., dict[str, object]]


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the program and what it needs; skip where that cannot be had."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("no node and npm: the JavaScript exporters cannot be run")
    folder = tmp_path_factory.mktemp("js")
    for name in ("package.json", "package-lock.json", "send.mjs"):
        shutil.copy(JS / name, folder)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=180, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("npm ci took more than three minutes")
    if done.returncode:
        pytest.skip(f"npm ci failed: {done.stderr.strip().splitlines()[-1:]}")
    return folder


@pytest.fixture
def run(installed: Path) -> Run:
    """Return a function that runs the program, which gives its results: 0 for each export that was taken."""

    def send(*arguments: str) -> dict[str, object]:
        done = subprocess.run(
            ["node", "send.mjs", *arguments], cwd=installed, capture_output=True, text=True, timeout=60, check=True
        )
        result: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
        return result

    return send


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_an_agent_in_javascript_arrives_whole(server: Listening, run: Run, compression: str) -> None:
    result = run(server.addresses.http, compression)
    assert result["results"] == [0, 0, 0]
    key = ("default", str(result["trace"]))
    found = server.store.read_traces([key])[key]
    root, tool = sorted(found.spans, key=lambda each: each.name, reverse=True)
    assert (root.name, tool.name, tool.parent_span_id) == ("invoke_agent", "execute_tool refund", root.span_id)
    assert (tool.status, tool.status_message, tool.scope.name, tool.scope.version) == ("ERROR", "no", "js", "1.2.3")
    assert dict(tool.resource.attributes)["service.name"] == "js-agent"
    values = {name: tool.attributes[name] for name in ("text", "int", "big", "double", "whole", "list", "numbers")}
    assert values == {
        "text": "naïve \U0001f600",
        "int": 42,
        "big": 2**53 - 1,
        "double": 0.1,
        "whole": True,
        "list": ["a", "b"],
        "numbers": [1, 2],
    }
    assert ([each.name for each in tool.events], [each.span_id for each in tool.links]) == (["seen"], [root.span_id])
    assert root.start <= tool.start <= tool.end <= root.end
    (record,) = found.logs
    assert (record.span_id, record.event_name) == (root.span_id, "gen_ai.client.inference.operation.details")
    assert record.body == {"said": ["hi", 1, None]}
    (trial,) = read_trials(server.store, Filter(trials=(key[1],)), unit="trace")
    assert [call.name for call in trial.tool_calls] == ["refund"]


def test_an_agent_in_javascript_needs_the_token(tmp_path: Path, run: Run) -> None:
    with collecting(tmp_path / "store") as first, open_store(first.store) as store:
        _, secret = add_token(store, "js", ["ingest"])
    with collecting(tmp_path / "store") as guarded:
        assert run(guarded.addresses.http, "none", secret)["results"] == [0, 0, 0]
        assert run(guarded.addresses.http, "none", "wrong")["results"] == [1, 1, 1]
