import json
from pathlib import Path

import pytest

from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._session import Inference, Said, Session
from spanproof_collector.importers.swe_agent import SweAgent
from spanproof_collector.store import Store
from tests.collector.importers.recording import kinds, tell


def step(action: str, observation: str, response: str = "I try.", **more: object) -> dict[str, object]:
    return {
        "action": action,
        "observation": observation,
        "response": response,
        "thought": response,
        "state": "{}",
    } | more


def spoken(content: str, action: str, **more: object) -> dict[str, object]:
    return {"role": "assistant", "content": content, "action": action, "agent": "primary"} | more


def trajectory(*steps: object, status: str | None = "submitted", **more: object) -> dict[str, object]:
    return {
        "environment": "swe_main",
        "trajectory": list(steps),
        "history": [{"role": "system", "content": "You fix bugs."}, {"role": "user", "content": "Fix it."}],
        "info": {
            "exit_status": status,
            "submission": "diff --git a b",
            "model_stats": {"instance_cost": 0.5, "tokens_sent": 100, "tokens_received": 20, "api_calls": 3},
        },
    } | more


def test_commands_are_calls_and_submitting_is_a_claim(store: Store, tmp_path: Path) -> None:
    told = tell(store, tmp_path, trajectory(step("ls -a\n", "main.py"), step("rm x\n", ""), step("submit\n", "diff")))
    trial = told.trial
    assert told.imported.formats == {"swe_agent": 1}
    assert [(c.name, c.arguments, c.result, c.executed) for c in trial.tool_calls] == [
        ("bash", {"command": "ls -a\n"}, "main.py", "yes"),
        ("bash", {"command": "rm x\n"}, "", "yes"),
        ("submit", {"command": "submit\n"}, "diff", "yes"),
    ]
    assert (trial.claim.state, trial.claim.source, trial.final_answer) == ("success", "declared", "diff --git a b")
    assert (trial.usage.input_tokens, trial.usage.output_tokens, str(trial.cost.usd)) == (100, 20, "0.5")
    assert (trial.status, trial.models, trial.task_id, trial.timed) == ("complete", (), None, False)


@pytest.mark.parametrize(
    ("status", "reason", "claim"),
    [
        ("submitted (exit_cost)", "budget_exhausted", "none"),
        ("exit_context", "budget_exhausted", "none"),
        ("submitted (exit_api)", "infrastructure", "none"),
        ("exit_forfeit", None, "failure"),
    ],
)
def test_what_the_harness_submits_is_no_claim_of_the_agents(
    store: Store, tmp_path: Path, status: str, reason: str | None, claim: str
) -> None:
    trial = tell(store, tmp_path, trajectory(step("ls", "a"), status=status)).trial
    assert (trial.status_reason, trial.claim.state) == (reason, claim)
    assert trial.final_answer is None


def test_a_submission_that_was_sent_back_for_review_is_no_claim(store: Store, tmp_path: Path) -> None:
    steps = [step("submit", "Review your changes first."), step("ls", "a")]
    trial = tell(store, tmp_path, trajectory(*steps, status="submitted (exit_cost)")).trial
    assert (trial.claim.state, trial.claim.source) == ("none", "termination")


def test_a_trajectory_that_was_saved_on_the_way_is_incomplete(store: Store, tmp_path: Path) -> None:
    trial = tell(store, tmp_path, trajectory(step("ls", "a"), status=None)).trial
    assert (trial.status, trial.status_reason, trial.claim.state) == ("incomplete", "recording_cut", "unavailable")


def test_a_step_without_a_command_is_a_step_and_no_call(store: Store, tmp_path: Path) -> None:
    trial = tell(
        store, tmp_path, trajectory(step("", "Your output was not formatted correctly"), step("ls", "a"))
    ).trial
    assert [c.arguments for c in trial.tool_calls] == [{"command": "ls"}]
    assert kinds(trial) == "ammt"


def test_demonstrations_are_no_steps_and_nobodys_words(tmp_path: Path) -> None:
    history = [
        {"role": "system", "content": "You fix bugs."},
        {"role": "user", "content": "A demonstration.", "is_demo": True},
        spoken("I look.", "ls demo", is_demo=True),
        {"role": "user", "content": "Fix it."},
        spoken("I try.", "ls"),
        {"role": "user", "content": "a"},
    ]
    file = tmp_path / "any"
    file.write_text(json.dumps(trajectory(step("ls", "a"), history=history)))
    found = SweAgent().read(ReadableFile(file))
    assert found is not None
    (session,) = found
    assert isinstance(session, Session)
    assert [turn.text for turn in session.turns if isinstance(turn, Said)] == ["You fix bugs.", "Fix it."]
    assert [len(turn.calls) for turn in session.turns if isinstance(turn, Inference)] == [1]


def test_functions_keep_their_names_ids_and_arguments(store: Store, tmp_path: Path) -> None:
    def asks(command: str, call_id: str) -> dict[str, object]:
        function = {"name": "str_replace_editor", "arguments": json.dumps({"command": command, "path": "/a"})}
        return {"id": call_id, "type": "function", "function": function}

    history = [
        {"role": "system", "content": "You fix bugs."},
        spoken("", "nothing that a step did", tool_calls=[asks("undo", "c0")]),
        spoken("", "str_replace_editor view /a", tool_calls=[asks("view", "c1")]),
        spoken("", "str_replace_editor create /a", tool_calls=[asks("create", "c2")]),
    ]
    trial = tell(
        store,
        tmp_path,
        trajectory(
            step("str_replace_editor view /a", "text", ""),
            step("str_replace_editor create /a", "made", ""),
            history=history,
            replay_config=json.dumps(
                {"agent": {"model": {"name": "claude-sonnet-4"}}, "problem_statement": {"id": "django__django-1"}}
            ),
        ),
    ).trial
    assert [(c.name, c.call_id, c.arguments, c.result) for c in trial.tool_calls] == [
        ("str_replace_editor", "c1", {"command": "view", "path": "/a"}, "text"),
        ("str_replace_editor", "c2", {"command": "create", "path": "/a"}, "made"),
    ]
    assert (trial.models, trial.task_id) == (("claude-sonnet-4",), "django__django-1")


def test_tokens_of_a_trajectory_without_a_model_are_not_zero_but_unknown(store: Store, tmp_path: Path) -> None:
    stats = {"instance_cost": 0, "tokens_sent": 0, "tokens_received": 0, "api_calls": 0}
    trial = tell(
        store, tmp_path, trajectory(step("ls", "a"), info={"exit_status": "submitted", "model_stats": stats})
    ).trial
    assert (trial.usage.input_tokens, trial.cost.usd, trial.cost.covered) == (None, None, False)
