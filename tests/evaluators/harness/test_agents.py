"""Agents that are functions and services, over a server that holds the store; and a world that changes under them."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from spanproof_collector.model.filters import Filter
from spanproof_collector.store import open_store
from spanproof_evaluators.harness import AgentError, Options, RunError, RunResult, read_agent, run_suite
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.suites import read_suite
from spanproof_evaluators.runner import assess, evaluate
from tests.collector_process import Collecting

TURNING = """
import os, pathlib, time
from spanproof_instrumentation import model_span, tool_span

def turning(prompt):
    seen = []
    for turn in range(1, 400):
        with model_span("m") as asked:
            asked.output("again")
            asked.usage(input_tokens=10, output_tokens=1)
        with tool_span("look", call_id=f"c{turn}") as looked, tool_span("look", call_id=f"c{turn}"):
            looked.result("looked")
        seen.append(pathlib.Path("state.txt").read_text().strip())
        if os.environ["SPANPROOF_TASK"] == "changes" and turn == 4:
            return {"answer": " ".join(seen) + " " + os.environ["SPANPROOF_SEED"]}
        time.sleep(0.05)
"""
SUITE = {
    "id": "turns",
    "tasks": [
        {
            "id": "changes",
            "prompt": "look",
            "start": {"folder": "start"},
            "changes": [
                {"after": {"tool_calls": 2}, "run": "echo closed > state.txt"},
                {"after": {"tool_calls": 3}, "python": "world.py:reopen", "by": "user", "name": "reopen"},
            ],
            "checks": [{"kind": "answer", "contains": ["open closed reopened reopened"]}],
        },
        {
            "id": "endless",
            "prompt": "look",
            "start": {"folder": "start"},
            "limits": {"max_turns": 3, "max_seconds": 60},
            "checks": [{"kind": "files", "glob": "state.txt"}],
        },
    ],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite and an agent."""
    place = tmp_path_factory.mktemp("turns")
    (place / "start").mkdir()
    (place / "start" / "state.txt").write_text("open\n")
    (place / "world.py").write_text("def reopen(world): (world / 'state.txt').write_text('reopened')\n")
    (place / "turning_agent.py").write_text(TURNING)
    (place / "suite.json").write_text(json.dumps(SUITE))
    return place


def trial(result: RunResult, task: str) -> Assessment:
    assert result.report is not None
    (found,) = [one for one in result.report.assessments if one.trial.task_id == task]
    return found


def test_a_function_meets_the_changed_world_and_is_stopped_at_its_turns(
    folder: Path, server: Collecting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    options = Options(attempts=1, jobs=2, seed=5)
    done = run_suite(
        Path("suite.json"), "turning_agent:turning", options=options, store=server.store, runs=folder / "runs"
    )
    changed = trial(done, "changes")
    assert changed.outcome.state == "verified", changed.outcome.reason
    assert changed.outcome.details["changes"] == [
        {"name": "echo closed > state.txt", "by": "world", "ordered": True, "tool_calls": 2},
        {"name": "reopen", "by": "user", "ordered": True, "tool_calls": 3},
    ]
    assert [call.name for call in changed.trial.user_calls] == ["reopen"]
    assert changed.trial.final_answer is not None
    assert changed.trial.final_answer.endswith(str(changed.outcome.details["seed"]))
    endless = trial(done, "endless")
    assert (endless.trial.status_reason, endless.aborted, endless.solved) == ("budget_exhausted", True, False)
    assert "turns" in str(endless.outcome.details["ended"])


def test_a_later_evaluation_lets_the_verdict_of_a_run_stand_and_one_by_another_suite_does_not(
    server: Collecting, tmp_path: Path
) -> None:
    def write(wanted: str) -> Path:
        task = {"id": "t", "checks": [{"kind": "files", "destination": "world", "glob": "a", "equals": wanted}]}
        file = tmp_path / "suite.json"
        file.write_text(json.dumps({"id": "standing", "tasks": [task]}))
        return file

    file = write("x")
    (tmp_path / "agent.sh").write_text("printf x > a")
    done = run_suite(
        file, f"sh {tmp_path}/agent.sh", options=Options(attempts=1), store=server.store, runs=tmp_path / "runs"
    )
    name = trial(done, "t").trial.trial_id
    with open_store(server.store) as store:
        for suite, expected in ((read_suite(file), "verified"), (read_suite(write("y")), "unavailable")):
            (again,) = evaluate(store, Filter(trials=(name,)), suite)
            assert again.outcome.state == expected, again.outcome.reason
        (read,) = assess(store, Filter(trials=(name,)), suite)
    assert (read.outcome.state, read.outcome.reason) == ("unavailable", "judged_when_run")


@contextmanager
def service(status: int) -> Iterator[str]:
    """An agent that is a service: it writes down what it was asked, and answers."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            (Path(asked["world"]) / "state.txt").write_text(self.headers["traceparent"])
            body = json.dumps({"answer": f"open closed reopened reopened, {asked['task']}"}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_address[1]}/"
        running.shutdown()


@pytest.mark.parametrize(("status", "outcome", "ended"), [(200, "verified", "complete"), (500, "failed", "error")])
def test_a_service_is_asked_and_its_answer_judged(
    status: int, outcome: str, ended: str, folder: Path, server: Collecting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spanproof_evaluators.harness.attempts.SETTLE_SECONDS", 0.0)
    options = Options(attempts=1, tasks=("changes",), variant=f"service-{status}")
    with service(status) as url:
        done = run_suite(folder / "suite.json", url, options=options, store=server.store, runs=folder / "runs")
    one = trial(done, "changes")
    assert (one.outcome.state, one.trial.status, one.trial.labels["isolation"]) == (outcome, ended, "service")


def test_a_task_in_a_container_needs_an_engine_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = {"id": "boxed", "start": {"container": "alpine"}, "checks": [{"kind": "answer", "contains": ["x"]}]}
    (tmp_path / "suite.json").write_text(json.dumps({"id": "s", "tasks": [task]}))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RunError, match="no engine answers here"):
        run_suite(tmp_path / "suite.json", "json:loads", runs=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("given", ["", "no-such-program x", "nowhere_at_all:agent", "./missing", lambda prompt: prompt])
def test_an_agent_that_cannot_be_is_refused_before_anything_runs(given: str, tmp_path: Path) -> None:
    with pytest.raises(AgentError):
        read_agent(given, tmp_path)
