import json
from pathlib import Path

import pytest

from spanproof_collector.model.readings import Usage
from spanproof_collector.store import Store
from tests.collector.importers.recording import called, kinds, lines, tell


def line(kind: str, payload: object, second: int = 0) -> dict[str, object]:
    return {"timestamp": f"2026-02-03T04:05:{second:02}.000Z", "type": kind, "payload": payload}


def item(kind: str, second: int = 0, **fields: object) -> dict[str, object]:
    return line("response_item", {"type": kind, **fields}, second)


def said(role: str, words: str, second: int = 0) -> dict[str, object]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", second, role=role, content=[{"type": kind, "text": words}])


def asked(call_id: str, arguments: object, second: int = 0, name: str = "exec_command") -> dict[str, object]:
    return item("function_call", second, name=name, arguments=arguments, call_id=call_id)


def answered(call_id: str, output: object, second: int = 0) -> dict[str, object]:
    return item("function_call_output", second, call_id=call_id, output=output)


def counted(total: dict[str, int], last: dict[str, int] | None = None) -> dict[str, object]:
    return line("event_msg", {"type": "token_count", "info": {"total_token_usage": total, "last_token_usage": last}})


META = line("session_meta", {"id": "c0dex", "timestamp": "2026-02-03T04:05:00Z", "cwd": "/w", "cli_version": "0.171.0"})
MODEL = line("turn_context", {"model": "gpt-x", "cwd": "/w"})
ONE = {"input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 9, "reasoning_output_tokens": 4}
TWO = {"input_tokens": 110, "cached_input_tokens": 90, "output_tokens": 5, "reasoning_output_tokens": 0}
SUM = {key: ONE[key] + TWO[key] for key in ONE}


def test_a_rollout_is_read_with_its_calls_answers_and_tokens(store: Store, tmp_path: Path) -> None:
    told = tell(
        store,
        tmp_path,
        lines(
            META,
            said("user", "<environment_context>\n<cwd>/w</cwd>\n</environment_context>"),
            MODEL,
            said("user", "list the files", 1),
            line("event_msg", {"type": "user_message", "message": "list the files"}, 1),
            item("reasoning", 2, summary=[{"type": "summary_text", "text": "I list them. Done."}]),
            asked("c1", '{"cmd":"ls"}', 3),
            asked("c2", {"cmd": "ls b"}, 3),
            counted(ONE, ONE),
            counted(ONE, ONE),
            answered("c1", json.dumps({"output": "a\n", "metadata": {"exit_code": 0}}), 4),
            answered("c2", json.dumps({"output": "no b", "metadata": {"exit_code": 2}}), 4),
            said("assistant", "There is a.", 5),
            line("event_msg", {"type": "agent_message", "message": "There is a."}, 5),
            counted(SUM, TWO),
        ),
    )
    trial = told.trial
    assert (told.imported.formats, trial.session_id, trial.models) == ({"codex": 1}, "c0dex", ("gpt-x",))
    assert (trial.agent_name, trial.agent_version, trial.labels["cwd"]) == ("codex", "0.171.0", "/w")
    assert (kinds(trial), trial.final_answer) == ("amttm", "There is a.")
    assert called(trial.tool_calls) == [("exec_command", "c1", "yes"), ("exec_command", "c2", "yes")]
    assert [(call.arguments, call.result, call.error) for call in trial.tool_calls] == [
        ({"cmd": "ls"}, "a\n", None),
        ({"cmd": "ls b"}, None, "no b"),
    ]
    assert trial.usage == Usage(
        input_tokens=210, cache_read_tokens=130, output_tokens=14, reasoning_tokens=4, cache_write_tokens=None
    )


@pytest.mark.parametrize("given", [{"chars": "y\n"}, '{"chars": "y\\n"}', "*** Begin Patch\n*** End", '{"cut": '])
def test_arguments_are_an_object_its_json_or_the_text_as_it_stands(store: Store, tmp_path: Path, given: object) -> None:
    trial = tell(store, tmp_path, lines(META, asked("c1", given))).trial
    (call,) = trial.tool_calls
    assert call.arguments == ({"chars": "y\n"} if "chars" in str(given) else given)
    assert (call.executed, call.effect.state, trial.status_reason) == ("unknown", "unknown", "ended_on_tool_call")


def test_a_rollout_of_token_counts_alone_is_a_session_without_steps(store: Store, tmp_path: Path) -> None:
    trial = tell(store, tmp_path, lines(MODEL, counted(ONE, ONE), counted(SUM, TWO))).trial
    assert (kinds(trial), trial.models, trial.session_id) == ("a", ("gpt-x",), None)
    assert trial.usage == Usage(input_tokens=210, cache_read_tokens=130, output_tokens=14, reasoning_tokens=4)
    assert (trial.claim.state, trial.completeness.content) == ("unavailable", "not_captured")
    assert trial.timed


def test_tools_of_every_kind_are_calls(store: Store, tmp_path: Path) -> None:
    trial = tell(
        store,
        tmp_path,
        lines(
            META,
            item("local_shell_call", call_id="c1", action={"type": "exec", "command": ["ls"]}, status="completed"),
            answered("c1", "a"),
            item("custom_tool_call", call_id="c2", name="apply_patch", input="*** Begin Patch"),
            item("custom_tool_call_output", call_id="c2", output=json.dumps({"output": "ok"})),
            item("web_search_call", id="ws", status="completed", action={"type": "search", "query": "q"}),
            said("assistant", "Done."),
        ),
    ).trial
    assert called(trial.tool_calls) == [
        ("local_shell", "c1", "yes"),
        ("apply_patch", "c2", "yes"),
        ("web_search", "ws", "yes"),
    ]
    assert [call.result for call in trial.tool_calls] == ["a", "ok", None]


def test_an_aborted_turn_ends_the_session_unless_it_goes_on(store: Store, tmp_path: Path) -> None:
    aborted = [META, said("user", "go"), asked("c1", "{}"), line("event_msg", {"type": "turn_aborted"})]
    notice = said("user", "<turn_aborted>\nThe user interrupted.\n</turn_aborted>")
    trial = tell(store, tmp_path / "aborted", lines(*aborted, notice)).trial
    assert (trial.status, trial.status_reason) == ("aborted", "cancelled")
    trial = tell(store, tmp_path / "on", lines(*aborted, notice, said("user", "on"), said("assistant", "Done."))).trial
    assert (trial.status, trial.final_answer) == ("complete", "Done.")


def test_a_call_that_the_user_rejected_never_ran(store: Store, tmp_path: Path) -> None:
    told = lines(META, asked("c1", '{"cmd":"rm a"}'), answered("c1", "exec command rejected by user"))
    (call,) = tell(store, tmp_path, told).trial.tool_calls
    assert (call.executed, call.effect.state) == ("no", "refused")


def test_compaction_is_nobodys_word_and_a_fork_keeps_its_own_id(store: Store, tmp_path: Path) -> None:
    trial = tell(
        store,
        tmp_path,
        lines(
            line("session_meta", {"id": "fork", "forked_from_id": "c0dex"}),
            META,
            said("user", "go"),
            line("compacted", {"message": "All is done."}),
            said("assistant", "I could not finish."),
        ),
    ).trial
    assert (trial.session_id, trial.labels["forked_from"], kinds(trial)) == ("fork", "c0dex", "am")
    assert trial.claim.state == "failure"


def test_the_first_versions_wrote_bare_items(store: Store, tmp_path: Path) -> None:
    head = {"id": "old", "timestamp": "2025-05-01T00:00:00.000Z", "instructions": None}
    bare = [said("user", "go")["payload"], asked("c1", "{}")["payload"], answered("c1", "ok")["payload"]]
    told = tell(store, tmp_path, lines(head, {"record_type": "state"}, *bare))
    assert told.imported.formats == {"codex": 1}
    assert (told.trial.session_id, called(told.trial.tool_calls)) == ("old", [("exec_command", "c1", "yes")])


def test_a_rollout_that_ends_within_a_line_claims_nothing(store: Store, tmp_path: Path) -> None:
    told = tell(store, tmp_path, lines(META, said("user", "go"), said("assistant", "Done."))[:-9])
    assert [each.line for each in told.imported.rejected] == [3]
    assert told.trial.status_reason == "recording_cut"


@pytest.mark.parametrize(
    ("output", "executed", "error"),
    [
        ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nExit code: 7\n", "yes", None),
        ("Exit code: 1\nWall time: 0.1 seconds\nOutput:\nrm: cannot remove 'a'", "yes", "Exit code: 1"),
        ("Chunk ID: 1a\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\n", "yes", "Chunk ID: 1a"),
        ("aborted by user after 3.2s", "unknown", "aborted by user after 3.2s"),
        ("Wall time: 3.2 seconds\naborted by user", "unknown", "Wall time: 3.2 seconds"),
        ("aborted", "unknown", "aborted"),
        ("exec command rejected by user", "no", "exec command rejected by user"),
        ("failed to parse function arguments: missing field `cmd`", "no", "failed to parse function arguments"),
    ],
)
def test_a_plain_output_tells_of_failure_and_interruption(
    store: Store, tmp_path: Path, output: str, executed: str, error: str | None
) -> None:
    recorded = (META, MODEL, said("user", "remove it"), asked("c1", '{"cmd":"rm a"}'), answered("c1", output))
    (call,) = tell(store, tmp_path, lines(*recorded, said("assistant", "Removed."))).trial.tool_calls
    assert (call.executed, call.error is None) == (executed, error is None)
    assert (call.error or "").startswith(error or "")
