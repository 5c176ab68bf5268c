"""The rules for coding agents on recordings of each of them: an edit, a test run, an answer."""

import json
from pathlib import Path

import pytest

from spanproof_collector.model.trials import Trial
from spanproof_collector.store import Store
from spanproof_evaluators.rules.checked_claims import CheckedClaims
from spanproof_evaluators.rules.protected_edits import ProtectedEdits
from tests.collector.importers.recording import lines, tell

SAYS = "I fixed it. All tests pass."
PASSED, FAILED = "3 passed in 0.1s", "1 failed, 2 passed in 0.1s"
STAMP = "2026-02-03T04:05:{:02}.000Z"


def claude_code(ok: bool) -> bytes:
    def line(kind: str, n: int, content: object) -> dict[str, object]:
        message: dict[str, object] = {"role": kind, "content": content}
        if kind == "assistant":
            message |= {"id": f"m{n}", "model": "claude-x", "usage": {}, "stop_reason": None}
        about: dict[str, object] = {
            "uuid": f"u{n}",
            "parentUuid": f"u{n - 1}" if n else None,
            "sessionId": "s",
            "isSidechain": False,
        }
        about |= {"type": kind, "timestamp": STAMP.format(n), "version": "2.1.0", "cwd": "/w", "message": message}
        return about

    def asks(call_id: str, name: str, **given: object) -> list[object]:
        return [{"type": "tool_use", "id": call_id, "name": name, "input": given}]

    def answers(call_id: str, content: str, *, error: bool = False) -> list[object]:
        return [{"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": error}]

    return lines(
        line("user", 0, "fix it"),
        line("assistant", 1, asks("t1", "Edit", file_path="/w/src/a.py", old_string="a", new_string="b")),
        line("user", 2, answers("t1", "ok")),
        line("assistant", 3, asks("t2", "Bash", command="pytest -q")),
        line("user", 4, answers("t2", PASSED) if ok else answers("t2", f"Exit code 1\n{FAILED}", error=True)),
        line("assistant", 5, [{"type": "text", "text": SAYS}]),
    )


def codex(ok: bool) -> bytes:
    def line(n: int, kind: str, **payload: object) -> dict[str, object]:
        return {"timestamp": STAMP.format(n), "type": "response_item", "payload": {"type": kind, **payload}}

    ended = {"output": PASSED if ok else FAILED, "metadata": {"exit_code": 0 if ok else 1}}
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-a\n+b\n*** End Patch"
    command = json.dumps({"command": ["bash", "-lc", "cd /w && pytest"]})
    return lines(
        {"timestamp": STAMP.format(0), "type": "session_meta", "payload": {"id": "c", "timestamp": STAMP.format(0)}},
        line(1, "custom_tool_call", name="apply_patch", input=patch, call_id="c1"),
        line(2, "custom_tool_call_output", call_id="c1", output="Done!"),
        line(3, "function_call", name="shell", arguments=command, call_id="c2"),
        line(4, "function_call_output", call_id="c2", output=json.dumps(ended)),
        line(5, "message", role="assistant", content=[{"type": "output_text", "text": SAYS}]),
    )


def gemini_cli(ok: bool) -> object:
    def call(name: str, call_id: str, args: object, output: str) -> dict[str, object]:
        result = [{"functionResponse": {"id": call_id, "name": name, "response": {"output": output}}}]
        return {"id": call_id, "name": name, "args": args, "status": "success", "result": result}

    def message(n: int, words: str, *calls: object) -> dict[str, object]:
        told = {"id": f"i{n}", "timestamp": STAMP.format(n), "type": "gemini", "content": words, "model": "gemini-x"}
        return told | ({"toolCalls": list(calls)} if calls else {})

    shown = f"Command: pytest\nDirectory: (root)\nOutput: {PASSED if ok else FAILED}\nError: (none)\n"
    shown += f"Exit Code: {0 if ok else 1}\nSignal: 0"
    calls = [
        call("replace", "r", {"file_path": "/w/a.py", "old_string": "a", "new_string": "b"}, "Modified"),
        call("run_shell_command", "s", {"command": "pytest"}, shown),
    ]
    head = {"sessionId": "g", "projectHash": "p", "startTime": STAMP.format(0)}
    asked = {"id": "i0", "timestamp": STAMP.format(0), "type": "user", "content": [{"text": "fix it"}]}
    return head | {"messages": [asked, message(1, "", *calls), message(3, SAYS)]}


def pi(ok: bool) -> bytes:
    def entry(n: int, role: str, content: object, **more: object) -> dict[str, object]:
        return {"type": "message", "timestamp": STAMP.format(n), "message": {"role": role, "content": content} | more}

    def asks(n: int, call_id: str, name: str, **arguments: object) -> dict[str, object]:
        block = {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}
        return entry(n, "assistant", [block], model="claude-x", usage={}, stopReason="toolUse")

    def result(n: int, call_id: str, name: str, text: str, *, error: bool = False) -> dict[str, object]:
        words = [{"type": "text", "text": text}]
        return entry(n, "toolResult", words, toolCallId=call_id, toolName=name, isError=error)

    ended = (
        result(4, "b", "bash", PASSED)
        if ok
        else result(4, "b", "bash", f"{FAILED}\n\nCommand exited with code 1", error=True)
    )
    return lines(
        {"type": "session", "id": "p", "timestamp": STAMP.format(0), "cwd": "/w", "provider": "anthropic"},
        asks(1, "a", "edit", path="src/a.py", oldText="a", newText="b"),
        result(2, "a", "edit", "ok"),
        asks(3, "b", "bash", command="npm test"),
        ended,
        entry(5, "assistant", [{"type": "text", "text": SAYS}], model="claude-x", usage={}, stopReason="stop"),
    )


def openhands(ok: bool) -> object:
    def base(n: int, source: str = "agent") -> dict[str, object]:
        return {"id": n, "timestamp": f"2025-01-27T23:16:{n:02}.000001", "source": source, "message": "x"}

    shown = {"observation": "run", "content": PASSED if ok else FAILED, "extras": {"exit_code": 0 if ok else 1}}
    return [
        base(0, "user") | {"action": "message", "args": {"content": "Fix it."}},
        base(1) | {"action": "edit", "args": {"path": "/w/a.py", "command": "str_replace", "new_str": "b"}},
        base(2) | {"observation": "edit", "content": "ok", "extras": {"path": "/w/a.py"}, "cause": 1},
        base(3) | {"action": "run", "args": {"command": "cd /w && python -m pytest"}},
        base(4) | shown | {"cause": 3},
        base(5) | {"action": "finish", "args": {"final_thought": SAYS}},
    ]


def mini_swe_agent(ok: bool) -> object:
    def says(role: str, content: str) -> dict[str, object]:
        return {"role": role, "content": content}

    def writes(command: str) -> dict[str, object]:
        return says("assistant", f"THOUGHT: {SAYS if 'COMPLETE' in command else 'x'}\n\n```bash\n{command}\n```")

    def shows(output: str, code: int = 0) -> dict[str, object]:
        return says("user", f"<returncode>{code}</returncode>\n<output>\n{output}\n</output>")

    return [
        says("system", "Write one command."),
        says("user", "Fix it."),
        writes("sed -i 's/a/b/' a.py"),
        shows(""),
        writes("pytest"),
        shows(PASSED if ok else FAILED, 0 if ok else 1),
        writes("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff"),
    ]


def atif(ok: bool) -> object:
    def call(name: str, call_id: str, **arguments: object) -> dict[str, object]:
        return {"tool_call_id": call_id, "function_name": name, "arguments": arguments}

    def agent(n: int, message: str, calls: object = None, results: object = None) -> dict[str, object]:
        told: dict[str, object] = {"step_id": n, "source": "agent", "message": message}
        return told | ({"tool_calls": calls, "observation": {"results": results}} if calls else {})

    output = f"{PASSED if ok else FAILED}\n[The command completed with exit code {0 if ok else 1}.]"
    edit = call("str_replace_editor", "a", command="str_replace", path="/w/a.py", old_str="a", new_str="b")
    steps = [
        {"step_id": 1, "source": "user", "message": "Fix it."},
        agent(2, "Edit.", [edit], [{"source_call_id": "a", "content": "ok"}]),
        agent(3, "Run.", [call("execute_bash", "b", command="pytest")], [{"source_call_id": "b", "content": output}]),
        agent(4, SAYS),
    ]
    about = {"name": "worker", "version": "2.0", "model_name": "gpt-4o"}
    return {"schema_version": "ATIF-v1.6", "session_id": "s1", "agent": about, "steps": steps}


AGENTS = [claude_code, codex, gemini_cli, pi, openhands, atif]


def judged(trial: Trial) -> tuple[str, str | None]:
    found = CheckedClaims().evaluate(trial, None)
    assert found is not None
    return found.state, found.reason


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.__name__)
def test_what_ran_in_the_recording_supports_or_contradicts_the_answer(
    agent: object, store: Store, tmp_path: Path
) -> None:
    assert callable(agent)
    good = tell(store, tmp_path, agent(True)).trial
    assert judged(good) == ("pass", None)
    edits = ProtectedEdits().evaluate(good, None)
    assert edits is not None
    assert edits.state == "pass"


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.__name__)
def test_a_failed_run_contradicts_it(agent: object, store: Store, tmp_path: Path) -> None:
    assert callable(agent)
    assert judged(tell(store, tmp_path, agent(False)).trial) == ("fail", "failed")


def test_an_agent_whose_shell_tells_no_code_leaves_its_claim_open(store: Store, tmp_path: Path) -> None:
    recorded = json.dumps(atif(True)).replace("\\n[The command completed with exit code 0.]", "")
    assert judged(tell(store, tmp_path, recorded.encode()).trial) == ("unavailable", "exit_unknown")


def test_what_ran_is_read_where_the_agent_claims_nothing_of_it(store: Store, tmp_path: Path) -> None:
    trial = tell(store, tmp_path, mini_swe_agent(True)).trial
    edits = ProtectedEdits().evaluate(trial, None)
    assert edits is not None
    assert (edits.state, edits.score) == ("pass", 0.0)
