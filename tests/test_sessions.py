"""Recorded benchmark sessions of others against the manifest that came with them.

The sessions are read where they lie. Nothing in the product looks at their names or ids: a test renames the files and
renumbers the calls.
"""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from spanproof_collector.importers import import_paths
from spanproof_collector.model.trials import Trial
from spanproof_collector.store import Store
from spanproof_collector.trials import read_trials
from tests.shared import SESSIONS, needs_sessions

pytestmark = needs_sessions

Record = dict[str, object]

NO_ATTEMPT = {"agentdojo", "intercode", "medagentbench", "who_and_when"}
"""Formats that record no number of the attempt: null, where the manifest's author knew one from elsewhere."""

MODELS: dict[str, Callable[[Record], tuple[str, ...]]] = {
    "agentdojo": lambda record: (str(record["agent_model"]).removesuffix(" + DRIFT defence"),),
    # the answers of the model say which version of it spoke
    "tau2-activegraph": lambda record: ("gpt-4.1-mini-2025-04-14",),
    "medagentbench": lambda record: () if "default" in str(record["agent_model"]) else (str(record["agent_model"]),),
}
"""What the bytes record of the model; the other formats record none."""

NEVER_RAN = {"agentdojo", "intercode", "medagentbench", "who_and_when"}
"""Formats that tell of calls which never ran; the manifest counts them among the calls."""


def manifest() -> dict[str, Record]:
    found = {}
    for line in (SESSIONS / "dev" / "manifest.jsonl").read_text().splitlines():
        record = json.loads(line)
        found[record["path"]] = record
    return found


def steps(trial: Trial, record: Record) -> int:
    """Count steps as the manifest does: answers of models; in Who&When every entry of the log, the task's own too."""
    inferences = sum(step.kind == "model_call" for step in trial.steps)
    return inferences + len(trial.tool_calls) + 1 if record["source"] == "who-and-when" else inferences


def disagreements(trial: Trial, record: Record) -> dict[str, tuple[object, object]]:
    """Return what of a trial is not as the manifest has it: what was read, and what should have been."""
    name = trial.source.removeprefix("import:")
    known = MODELS.get(name) or MODELS.get(str(record["source"]))
    ends = {"max_steps": "budget_exhausted", "infra_fail": "infrastructure"}
    ended = str(record["termination"])
    pairs: dict[str, tuple[object, object]] = {
        "steps": (steps(trial, record), record["n_steps"]),
        "calls": (len(trial.tool_calls), record["n_tool_calls"]),
        "calls of the user": (len(trial.user_calls), record["n_user_tool_calls"]),
        "task": (trial.task_id, record["task_id"]),
        "attempt": (trial.attempt, None if name in NO_ATTEMPT else record["trial"]),
        "models": (trial.models, known(record) if known else ()),
        "end": (trial.status_reason, ends.get(ended)),
        "verdict": (verdict(trial), None if ended in ends else record["ground_truth_success"]),
    }
    if name not in NEVER_RAN:
        pairs["calls that ran"] = (sum(call.executed != "no" for call in trial.tool_calls), record["n_tool_calls"])
    # the hand-crafted part of Who&When: its author counted none; InterCode: either end, and only the reward tells which
    left_out = {"calls"} if record["n_tool_calls"] is None else set()
    left_out |= {"end"} if ended == "reward_1_or_limit" else set()
    left_out |= {"verdict"} if name not in VERDICTS else set()
    return {key: pair for key, pair in pairs.items() if key not in left_out and pair[0] != pair[1]}


VERDICTS = {"tau_bench": "reward", "tau2": "reward", "agentdojo": "utility", "medagentbench": "correct"}
"""Formats whose own verdict is the manifest's ground truth, and its name."""


def verdict(trial: Trial) -> bool | None:
    """Return what the original harness said; ``None`` where no check ran."""
    name = VERDICTS.get(trial.source.removeprefix("import:"))
    scores = [result.score for result in trial.foreign_results if result.name == name]
    return scores[0] == 1.0 if scores else None


def test_every_session_agrees_with_the_manifest(store: Store) -> None:
    records = manifest()
    imported = import_paths(store, [SESSIONS / "dev"])
    found = list(read_trials(store))
    assert sum(imported.formats.values()) == len(records) == len(found)
    assert [each.path for each in imported.rejected if each.path.startswith("sessions/")] == []
    wrong = {str(trial.path): disagreements(trial, records[str(trial.path)]) for trial in found}
    assert {path: pairs for path, pairs in wrong.items() if pairs} == {}


CALL_ID = re.compile(rb"(?:tool_call_|call_|gem_)[A-Za-z0-9_]{3,}")


def renumbered(content: bytes) -> bytes:
    return CALL_ID.sub(lambda found: b"n" + hashlib.sha256(found[0]).hexdigest()[:12].encode(), content)


def told(trial: Trial) -> tuple[object, ...]:
    """Return what a trial tells, without ids."""
    calls = json.dumps([(call.name, call.arguments, call.result, call.executed) for call in trial.tool_calls])
    kinds = [step.kind for step in trial.steps]
    return (trial.source, str(trial.task_id), str(trial.attempt), calls, str(trial.final_answer), kinds)


@pytest.mark.parametrize("source", ["agentdojo-drift", "intercode", "tau2-whissle", "who-and-when", "tau-bench"])
def test_neither_names_of_files_nor_ids_of_calls_tell_anything(store: Store, tmp_path: Path, source: str) -> None:
    folder = SESSIONS / "dev" / "sessions" / source
    files = sorted(folder.iterdir())[:40]
    import_paths(store, files)
    before = {trial.trial_id: told(trial) for trial in read_trials(store)}
    renamed = tmp_path / "elsewhere" / "deeper"
    renamed.mkdir(parents=True)
    for number, file in enumerate(files):
        (renamed / f"{number:04}").write_bytes(file.read_bytes())
    import_paths(store, [renamed])
    assert {trial.trial_id: told(trial) for trial in read_trials(store)} == before
    for number, file in enumerate(files):
        (renamed / f"{number:04}").write_bytes(renumbered(file.read_bytes()))
    import_paths(store, [renamed])
    after = {trial.trial_id: told(trial) for trial in read_trials(store)}
    new = [told for trial_id, told in after.items() if trial_id not in before]
    changed = sum(renumbered(content) != content for content in map(Path.read_bytes, files))
    # a simulation of tau2 has an id of its own, and stays itself
    assert len(new) == (0 if source.startswith("tau2") else changed)
    assert [each for each in new if each not in before.values()] == []
