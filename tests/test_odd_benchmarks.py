"""Odd recordings of benchmark runs: each does what the note beside it says."""

import json

import pytest

from spanproof_collector.importers import import_paths
from spanproof_collector.model.trials import Trial
from spanproof_collector.store import Store
from spanproof_collector.trials import read_trials
from tests.shared import SESSIONS, needs_sessions

pytestmark = needs_sessions

FORMATS = {
    "agentdojo", "atif", "inspect", "intercode", "medagentbench", "mini_swe_agent", "openhands", "swe_agent", "tau2",
    "tau_bench", "who_and_when",
}  # fmt: skip


def scores(trial: Trial) -> dict[str, object]:
    return {result.name: result.score if result.score is not None else result.label for result in trial.foreign_results}


def ran(trial: Trial) -> list[tuple[str, str]]:
    return [(call.name, call.executed) for call in trial.tool_calls]


@pytest.fixture
def odd(store: Store) -> dict[str, Trial]:
    """Return the one trial of each odd file of these formats, by the file's name."""
    import_paths(store, [SESSIONS / "odd"])
    return {str(t.path): t for t in read_trials(store) if t.source.removeprefix("import:") in FORMATS}


def test_every_odd_recording_does_what_its_note_says(odd: dict[str, Trial]) -> None:
    refused = odd["agentdojo-01-call-refused-as-user-message.json"]
    assert ran(refused) == [("get_webpage", "yes")]
    assert len(refused.refusals) == 1
    attacked = odd["agentdojo-03-attack-succeeded.json"]
    assert scores(attacked) == {"utility": 1.0, "security": 1.0}

    invalid = odd["atif-harbor_terminus2_invalid_json.json"]
    assert [call.name for call in invalid.tool_calls] == ["bash_command", "mark_task_complete", "mark_task_complete"]
    assert sum(step.kind == "model_call" for step in invalid.steps) == 4
    continued = odd["atif-harbor_terminus2_continuation.json"]
    assert "atif-harbor_terminus2_continuation_cont1.json" not in odd
    assert (continued.status, continued.claim.state, len(continued.tool_calls)) == ("complete", "success", 5)
    assert ran(odd["atif-harbor_openhands.json"]) == [("str_replace_editor", "yes"), ("finish", "unknown")]
    assert [len(odd["atif-multi_tool_trajectory.json"].tool_calls)] == [4]
    mixed = odd["atif-parallel_tools_mixed_results.json"]
    assert [(call.executed, call.error is None, call.result is None) for call in mixed.tool_calls] == [
        ("yes", True, False),
        ("unknown", False, False),
        ("unknown", True, True),
    ]
    family = odd["atif-subagent_trajectories.json"]
    assert [step.kind for step in family.steps].count("agent_call") == 2
    spoken = odd["atif-openhands-text-protocol.json"]
    assert [(call.name, call.effect.state) for call in spoken.tool_calls] == [("execute_bash", "unknown")]

    assert scores(odd["inspect-02-tool-result-image.json"]) == {"match": "I"}
    assert scores(odd["inspect-03-zip.eval"]) == {"match": "C"}
    assert odd["inspect-ev-branch_explicit.json"].agent_name == "orchestrator"
    assert odd["inspect-ev-compaction_boundary.json"].final_answer == "Details here"
    agents = [step.name for step in odd["inspect-ev-interleaved_agents.json"].steps if step.kind == "agent_call"]
    assert agents[1:] == ["invoke_agent first_agent", "invoke_agent second_agent"]
    nested = odd["inspect-ev-nested_tool_agents.json"].tool_calls
    assert [call.effect.effect_class for call in nested[:2]] == ["handoff", "handoff"]

    assert odd["intercode-02-human-schema.json"].task_id == "sql/0/809"
    submitted = odd["intercode-03-claims-submit-reward-0.json"]
    assert (submitted.claim.state, submitted.claim.source, scores(submitted)["reward"]) == ("success", "declared", 0.34)

    broken = odd["mab-01-infra-fail.json"]
    assert (broken.status_reason, scores(broken)) == ("infrastructure", {})
    wrong = odd["mab-02-write-verified-but-wrong.json"]
    assert (scores(wrong)["correct"], scores(wrong)["verified_writes"]) == (0.0, 1.0)

    bare = odd["miniswe-01-bare-list.traj.json"]
    assert (bare.models, bare.task_id, bare.timed, len(bare.tool_calls)) == ((), None, False, 10)
    assert len(odd["openhands-01-event-ids-gap.json"].tool_calls) == 3
    assert ran(odd["openhands-02-gui-events.json"]) == [
        ("execute_bash", "yes"),
        ("str_replace_editor", "yes"),
        ("str_replace_editor", "yes"),
        ("execute_bash", "yes"),
    ]
    assert len(odd["sweagent-02-humanevalfix.traj"].tool_calls) == 5
    flag = odd["sweagent-03-ctf.traj"]
    assert (flag.final_answer or "").startswith("flag{")

    assert (odd["tau-05-no-reward-info.json"].status_reason, scores(odd["tau-05-no-reward-info.json"])) == (
        "budget_exhausted",
        {},
    )
    retried = odd["tau-06-repeated-failed-write-then-success.json"]
    assert [call.effect.state for call in retried.tool_calls] == ["none", "unknown", "reported"]
    assert scores(odd["tau2-03-max-steps.json"]) == {}
    repeated = odd["tau2-01-duplicate-tool-call-ids.json"].tool_calls[1:]
    assert len({call.call_id for call in repeated}) == 1
    assert [json.dumps(call.arguments)[20:26] in json.dumps(call.result) for call in repeated] == [True] * 3
    assert len(odd["tau2-02-six-parallel-calls.json"].tool_calls) == 15
    both = odd["tau2-04-user-tool-calls.json"]
    assert (len(both.tool_calls), len(both.user_calls)) == (4, 5)

    crafted = odd["whoandwhen-01-handcrafted-schema.json"]
    assert (scores(crafted)["is_corrected"], crafted.tool_calls) == (0.0, ())
    assert len(odd) == 31
