from decimal import Decimal
from pathlib import Path

import pytest

from spanproof_collector.model.readings import Usage
from spanproof_collector.store import Store
from tests.collector.importers.recording import called, kinds, lines, tell

HEAD = {"type": "session", "id": "p-1", "timestamp": "2026-02-03T04:05:00.000Z", "cwd": "/w", "provider": "anthropic"}
NONE = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0}}
USED = {"input": 2, "output": 3, "cacheRead": 40, "cacheWrite": 5, "cost": {"total": 0.25}}


def entry(second: int, role: str, content: object, **more: object) -> dict[str, object]:
    message = {"role": role, "content": content} | more
    return {"type": "message", "timestamp": f"2026-02-03T04:05:{second:02}.000Z", "message": message}


def words(said: str) -> list[object]:
    return [{"type": "text", "text": said}]


def asks(*call_ids: str) -> list[object]:
    return [{"type": "toolCall", "id": each, "name": "edit", "arguments": {"n": each}} for each in call_ids]


def assistant(second: int, content: object, reason: str = "stop", **more: object) -> dict[str, object]:
    return entry(second, "assistant", content, **{"model": "claude-x", "usage": USED, "stopReason": reason} | more)


def result(second: int, call_id: str, said: str, *, error: bool = False) -> dict[str, object]:
    return entry(second, "toolResult", words(said), toolCallId=call_id, toolName="edit", isError=error)


def test_parallel_calls_get_each_its_own_result_by_id(store: Store, tmp_path: Path) -> None:
    told = tell(
        store,
        tmp_path,
        lines(
            HEAD,
            result(0, "earlier", "of a call that is not here"),
            assistant(1, [*words("I edit."), *asks("a", "b", "c", "d")], "toolUse"),
            result(2, "b", "B"),
            result(2, "a", "A"),
            result(3, "d", "no such file", error=True),
            assistant(4, words("Done.")),
        ),
    )
    trial = told.trial
    assert (told.imported.formats, trial.session_id) == ({"pi": 1}, "p-1")
    assert kinds(trial) == "amttttm"
    assert [(call.call_id, call.result, call.error, call.executed) for call in trial.tool_calls] == [
        ("a", "A", None, "yes"),
        ("b", "B", None, "yes"),
        ("c", None, None, "unknown"),
        ("d", None, "no such file", "unknown"),
    ]
    assert trial.usage == Usage(input_tokens=94, output_tokens=6, cache_read_tokens=80, cache_write_tokens=10)
    assert trial.cost.usd == Decimal("0.50")


@pytest.mark.parametrize("reason", ["aborted", "error"])
def test_calls_of_a_message_that_was_broken_off_have_no_known_effect(store: Store, tmp_path: Path, reason: str) -> None:
    broken = assistant(1, asks(*map(str, range(16))), reason, usage=NONE, errorMessage="stopped")
    trial = tell(
        store, tmp_path, lines(HEAD, broken, entry(2, "user", words("go on")), assistant(3, words("Ok.")))
    ).trial
    assert {(call.executed, call.effect.state) for call in trial.tool_calls} == {("unknown", "unknown")}
    assert (len(trial.tool_calls), trial.status, kinds(trial)[0:2]) == (16, "complete", "am")
    assert trial.completeness.unmetered_calls == 0


def test_a_session_that_the_user_broke_off_is_cancelled(store: Store, tmp_path: Path) -> None:
    trial = tell(store, tmp_path, lines(HEAD, assistant(1, [], "aborted", usage=NONE))).trial
    assert (trial.status, trial.status_reason, trial.usage) == ("aborted", "cancelled", Usage())


def test_a_command_that_the_human_typed_is_no_call_of_the_agent(store: Store, tmp_path: Path) -> None:
    typed = {"command": "rm a", "output": "gone", "exitCode": 0}
    trial = tell(
        store, tmp_path, lines(HEAD, entry(1, "bashExecution", None, **typed), assistant(2, words("Ok.")))
    ).trial
    assert (trial.tool_calls, called(trial.user_calls)) == ((), [("bash", None, "yes")])
    assert trial.user_calls[0].effect.effect_class == "destructive"


def test_pieces_of_one_session_join_without_mixing(store: Store, tmp_path: Path) -> None:
    """A piece begins where another ended: what stands at the same place in both is not the same."""
    first = lines(HEAD, assistant(1, asks("a")), result(2, "a", "A"), assistant(3, words("First.")))
    second = lines(
        HEAD, result(2, "a", "A"), assistant(3, words("First.")), assistant(4, asks("b")), result(5, "b", "B")
    )
    trial = tell(store, tmp_path, first, second).trial
    assert [(call.call_id, call.result) for call in trial.tool_calls] == [("a", "A"), ("b", "B")]
    assert kinds(trial).count("m") == 3


def test_compaction_is_nobodys_word(store: Store, tmp_path: Path) -> None:
    compacted = {"type": "compaction", "timestamp": "2026-02-03T04:05:02.000Z", "summary": "All is done."}
    trial = tell(store, tmp_path, lines(HEAD, compacted, assistant(3, words("I could not do it.")))).trial
    assert (kinds(trial), trial.claim.state) == ("am", "failure")


def test_a_command_that_exits_with_an_error_ran_and_what_it_changed_is_unknown(store: Store, tmp_path: Path) -> None:
    asked = [{"type": "toolCall", "id": "a", "name": "bash", "arguments": {"command": "rm a"}}]
    said = result(2, "a", "rm: no\n\nCommand exited with code 1", error=True)
    typed = entry(3, "bashExecution", None, command="rm b", output="rm: no", exitCode=2)
    recorded = lines(HEAD, assistant(1, asked, "toolUse"), said, typed, assistant(4, words("No.")))
    trial = tell(store, tmp_path, recorded).trial
    for call, code in ((trial.tool_calls[0], 1), (trial.user_calls[0], 2)):
        assert (call.executed, call.exit_code) == ("yes", code)
        assert (call.effect.state, call.effect.reason) == ("unknown", "exit_code")
