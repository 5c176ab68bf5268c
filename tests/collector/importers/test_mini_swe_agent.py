import json
from pathlib import Path

import pytest

from spanproof_collector.store import Store
from tests.collector.importers.recording import kinds, tell

DONE = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff"


def says(role: str, content: str, **more: object) -> dict[str, object]:
    return {"role": role, "content": content} | more


def writes(*commands: str) -> dict[str, object]:
    blocks = "\n".join(f"```mswea_bash_command\n{command}\n```" for command in commands)
    return says("assistant", f"THOUGHT: I try.\n\n{blocks}")


def shows(output: str, code: int = 0) -> dict[str, object]:
    return says("user", f"<returncode>{code}</returncode>\n<output>\n{output}\n</output>")


OPENING = [says("system", "Write one command."), says("user", "Fix it.")]


def run(*messages: object, status: str = "Submitted", **more: object) -> dict[str, object]:
    info = {
        "exit_status": status,
        "submission": "diff --git a b",
        "model_stats": {"instance_cost": 0.25, "api_calls": 2},
        "mini_version": "1.17",
        "config": {"model": {"model_name": "claude-sonnet-4"}},
    }
    return {"info": info, "messages": [*OPENING, *messages], "trajectory_format": "mini-swe-agent-1"} | more


def test_bare_messages_are_a_session_without_model_task_or_time(store: Store, tmp_path: Path) -> None:
    told = tell(store, tmp_path, [*OPENING, writes("ls"), shows("a"), writes("rm a"), shows("no", 1), writes(DONE)])
    trial = told.trial
    assert told.imported.formats == {"mini_swe_agent": 1}
    assert [(c.name, c.arguments) for c in trial.tool_calls] == [
        ("bash", {"command": command}) for command in ("ls", "rm a", DONE)
    ]
    assert [(c.executed, c.exit_code, c.effect.state) for c in trial.tool_calls[:2]] == [
        ("yes", 0, "none"),
        ("yes", 1, "unknown"),
    ]
    assert trial.tool_calls[1].result == "<returncode>1</returncode>\n<output>\nno\n</output>"
    assert (trial.models, trial.task_id, trial.attempt, trial.session_id, trial.timed) == ((), None, None, None, False)
    assert (trial.claim.state, trial.claim.source) == ("success", "declared")


def test_other_bare_messages_are_not_taken_for_it(store: Store, tmp_path: Path) -> None:
    told = tell(store, tmp_path, [says("user", "Hi"), says("assistant", "```bash\nls\n```")])
    assert "mini_swe_agent" not in told.imported.formats


def test_a_run_has_its_model_its_task_and_its_bill(store: Store, tmp_path: Path) -> None:
    trial = tell(store, tmp_path, run(writes("ls"), shows("a"), writes(DONE), instance_id="django__django-1")).trial
    assert (trial.models, trial.task_id, trial.agent_version) == (("claude-sonnet-4",), "django__django-1", "1.17")
    assert (str(trial.cost.usd), trial.final_answer, trial.status) == ("0.25", "diff --git a b", "complete")


@pytest.mark.parametrize(
    ("status", "reason"),
    [("LimitsExceeded", "budget_exhausted"), ("UserInterruption", "cancelled"), ("RateLimitError", "infrastructure")],
)
def test_a_run_that_was_broken_off_says_why(store: Store, tmp_path: Path, status: str, reason: str) -> None:
    trial = tell(store, tmp_path, run(writes("ls"), shows("a"), status=status)).trial
    assert (trial.status, trial.status_reason, trial.claim.state) == ("aborted", reason, "none")


def test_an_answer_with_two_commands_or_none_was_sent_back_unread(store: Store, tmp_path: Path) -> None:
    back = says("user", "Please always provide EXACTLY ONE action.")
    trial = tell(
        store, tmp_path, run(writes("rm a", "rm b"), back, says("assistant", "Hm."), back, writes("ls"), shows("a"))
    ).trial
    assert [c.arguments for c in trial.tool_calls] == [{"command": "ls"}]
    assert kinds(trial) == "ammmt"


def test_commands_as_functions_are_answered_by_their_ids(store: Store, tmp_path: Path) -> None:
    def call(command: str, call_id: str) -> dict[str, object]:
        return {"id": call_id, "function": {"name": "bash", "arguments": json.dumps({"command": command})}}

    extra = {
        "actions": [{"command": "ls", "tool_call_id": "c1"}, {"command": "pwd", "tool_call_id": "c2"}],
        "response": {"id": "r1", "model": "deepseek-chat", "usage": {"prompt_tokens": 9, "completion_tokens": 1}},
        "cost": 0.001,
        "timestamp": 1775802395.3005764,
    }
    trial = tell(
        store,
        tmp_path,
        run(
            says("assistant", "", tool_calls=[call("ls", "c1"), call("pwd", "c2")], extra=extra),
            says("tool", "second", tool_call_id="c2", extra={"timestamp": 1775802397.5}),
            says("tool", "first", tool_call_id="c1", extra={"exception_info": "timed out after 60 s"}),
        ),
    ).trial
    assert [(c.call_id, c.result, c.error) for c in trial.tool_calls] == [
        ("c1", "first", "timed out after 60 s"),
        ("c2", "second", None),
    ]
    assert (trial.models, trial.usage.input_tokens, str(trial.cost.usd)) == (("deepseek-chat",), 9, "0.001")
    assert (trial.started_at, trial.timed) == (1775802395_300576400, True)
