import json
from pathlib import Path

from spanproof_collector.model.readings import Usage
from spanproof_collector.store import Store
from tests.collector.importers.recording import called, kinds, lines, tell


def message(kind: str, number: int, words: object, **more: object) -> dict[str, object]:
    return {
        "id": f"i{number}",
        "timestamp": f"2026-02-03T04:05:{number:02}.000Z",
        "type": kind,
        "content": words,
    } | more


def gemini(number: int, words: object, *calls: object, **more: object) -> dict[str, object]:
    return message("gemini", number, words, model="gemini-x", **({"toolCalls": list(calls)} if calls else {}), **more)


def call(name: str, status: str, response: object = None, **more: object) -> dict[str, object]:
    result = [{"functionResponse": {"id": "x", "name": name, "response": response}}]
    return {"name": name, "args": {"p": 1}, "status": status, **({} if response is None else {"result": result})} | more


HEAD = {"sessionId": "g-1", "projectHash": "p", "startTime": "2026-02-03T04:05:00.000Z"}


def test_a_chat_is_read_with_calls_answers_and_tokens(store: Store, tmp_path: Path) -> None:
    told = tell(
        store,
        tmp_path,
        HEAD
        | {
            "messages": [
                message("user", 1, [{"text": "read it"}]),
                gemini(
                    2,
                    "",
                    call("read_file", "success", {"output": "text"}, id="r-1"),
                    call("write_file", "error", {"error": "denied"}, id="w-1"),
                    call("run_shell_command", "cancelled", {"error": "[Operation Cancelled]"}, id="s-1"),
                    tokens={"input": 50, "output": 5, "cached": 30, "thoughts": 7, "tool": 2, "total": 64},
                ),
                message("info", 3, "Saved."),
                gemini(4, "It says text."),
            ]
        },
    )
    trial = told.trial
    assert (told.imported.formats, trial.session_id, trial.models) == ({"gemini_cli": 1}, "g-1", ("gemini-x",))
    assert kinds(trial) == "amtttm"
    assert called(trial.tool_calls) == [
        ("read_file", "r-1", "yes"),
        ("write_file", "w-1", "unknown"),
        ("run_shell_command", "s-1", "no"),
    ]
    assert [(each.result, each.error) for each in trial.tool_calls][:2] == [("text", None), (None, "denied")]
    assert trial.usage == Usage(input_tokens=52, output_tokens=12, cache_read_tokens=30, reasoning_tokens=7)


def test_a_status_is_the_runners_word_and_an_id_is_made_where_there_is_none(store: Store, tmp_path: Path) -> None:
    chat = HEAD | {"messages": [gemini(1, "", call("write_file", "success"), call("write_file", "executing"))]}
    first, second = tell(store, tmp_path, chat).trial.tool_calls
    assert (first.executed, first.effect.state, first.effect.reason, first.result) == (
        "yes",
        "reported",
        "tool_reported",
        None,
    )
    assert (second.executed, second.effect.state) == ("unknown", "unknown")
    assert first.call_id != second.call_id
    assert first.call_id


def test_thoughts_are_no_answer_and_no_claim(store: Store, tmp_path: Path) -> None:
    thoughts = [{"subject": "Finished", "description": "All is done."}]
    trial = tell(store, tmp_path, HEAD | {"messages": [gemini(1, "", thoughts=thoughts)]}).trial
    assert (trial.final_answer, trial.claim.state) == (None, "none")
    trial = tell(store, tmp_path, HEAD | {"messages": [gemini(1, "I could not do it.", thoughts=thoughts)]}).trial
    assert (trial.final_answer, trial.claim.state) == ("I could not do it.", "failure")


def test_lines_of_messages_and_their_updates_give_the_same_chat(store: Store, tmp_path: Path) -> None:
    told = tell(
        store,
        tmp_path,
        lines(
            HEAD | {"kind": "main"},
            message("user", 1, "go"),
            gemini(2, ""),
            gemini(2, "", call("read_file", "success", {"output": "x"}, id="r")),
            {"$set": {"lastUpdated": "2026-02-03T04:06:00.000Z"}},
            gemini(3, "Done."),
        ),
    )
    assert told.imported.formats == {"gemini_cli": 1}
    assert (kinds(told.trial), told.trial.final_answer) == ("amtm", "Done.")


def test_an_error_at_the_end_ends_the_session_with_it(store: Store, tmp_path: Path) -> None:
    chat = HEAD | {"messages": [message("user", 1, "go"), message("error", 2, "quota exceeded")]}
    trial = tell(store, tmp_path, chat).trial
    assert (trial.status, trial.status_reason) == ("error", "quota exceeded")


def test_a_chat_that_is_cut_off_gives_the_messages_that_are_whole(store: Store, tmp_path: Path) -> None:
    chat = HEAD | {"messages": [message("user", 1, "go"), gemini(2, "First."), gemini(3, "Done.")]}
    told = tell(store, tmp_path, json.dumps(chat).encode()[:-20])
    assert (told.trial.session_id, kinds(told.trial), told.trial.status_reason) == ("g-1", "am", "recording_cut")
    assert told.trial.claim.state == "unavailable"
