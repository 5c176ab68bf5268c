import json
from pathlib import Path

import pytest

from spanproof_collector.model.readings import Usage
from spanproof_collector.store import Store
from tests.collector.importers.recording import called, kinds, lines, tell

SESSION = "6f1c3f0e-8f6b-4b7e-9b60-0d5b6a4b9a11"


def line(kind: str, number: int, content: object, **more: object) -> dict[str, object]:
    """Return a line; ``number`` gives its uuid, its time and the line that it answers."""
    message = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {
            "id": more.pop("message", f"m{number}"),
            "model": more.pop("model", "claude-x"),
            "usage": more.pop("usage", {}),
        }
        message |= {"stop_reason": more.pop("reason", None)}
    return {
        "type": kind,
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number else None,
        "sessionId": SESSION,
        "timestamp": f"2026-02-03T04:05:{number:02}.500Z",
        "isSidechain": False,
        "version": "2.1.0",
        "cwd": "/work",
        "message": message,
    } | more


def says(words: str) -> list[object]:
    return [{"type": "text", "text": words}]


def asks(call_id: str, name: str = "Bash", **given: object) -> dict[str, object]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def answers(call_id: str, content: object, *, error: bool = False) -> list[object]:
    return [{"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": error}]


PLAIN: list[dict[str, object]] = [
    {"type": "summary", "summary": "About a file", "leafUuid": "u3"},
    line("user", 0, "make the file"),
    line("assistant", 1, [asks("t1", command="touch a")], usage={"input_tokens": 10, "output_tokens": 4}),
    line("user", 2, answers("t1", "made"), toolUseResult={"stdout": "made"}),
    line("assistant", 3, says("The file is made."), usage={"input_tokens": 20, "output_tokens": 6}),
]


def test_a_session_is_read_with_its_calls_and_a_summary_is_no_turn(store: Store, tmp_path: Path) -> None:
    told = tell(store, tmp_path, lines(*PLAIN))
    trial = told.trial
    assert told.imported.formats == {"claude_code": 1}
    assert (trial.session_id, trial.agent_name, trial.agent_version) == (SESSION, "claude-code", "2.1.0")
    assert (kinds(trial), called(trial.tool_calls)) == ("amtm", [("Bash", "t1", "yes")])
    assert (trial.final_answer, trial.models) == ("The file is made.", ("claude-x",))
    assert trial.usage == Usage(input_tokens=30, output_tokens=10)
    assert trial.started_at == 1770091500_500000000


def test_an_answer_in_several_lines_is_one_inference_and_its_tokens_count_once(store: Store, tmp_path: Path) -> None:
    """Each content block has a line, with the tokens so far; a result may stand between two of them."""
    cached = {"cache_read_input_tokens": 100, "cache_creation_input_tokens": 7}
    trial = tell(
        store,
        tmp_path,
        lines(
            line("user", 0, "go"),
            line("assistant", 1, says("First."), message="m", usage={"input_tokens": 3, "output_tokens": 1} | cached),
            line("assistant", 2, [asks("t1")], message="m", usage={"input_tokens": 3, "output_tokens": 9} | cached),
            line("user", 3, answers("t1", "one")),
            line("assistant", 4, [asks("t2")], message="m", usage={"input_tokens": 3, "output_tokens": 9} | cached),
            line("user", 5, answers("t2", "two")),
        ),
    ).trial
    assert kinds(trial).count("m") == 1
    assert [call.result for call in trial.tool_calls] == ["one", "two"]
    assert trial.usage == Usage(input_tokens=110, output_tokens=9, cache_read_tokens=100, cache_write_tokens=7)


@pytest.mark.parametrize(
    "spelled",
    [
        b"\xef\xbb\xbf" + lines(*PLAIN).replace(b"\n", b"\r\n"),
        b"".join(reversed(lines(*PLAIN).splitlines(keepends=True))),
        lines(*PLAIN, *PLAIN[1:]),
    ],
    ids=["BOM and CRLF", "backwards", "every line twice"],
)
def test_the_same_session_in_another_spelling_is_the_same_trial(store: Store, tmp_path: Path, spelled: bytes) -> None:
    plain = tell(store, tmp_path / "plain", lines(*PLAIN))
    other = tell(store, tmp_path / "other", spelled)
    assert (other.imported.spans, other.imported.rejected) == (plain.imported.spans, ())
    assert other.trial.steps == plain.trial.steps
    assert other.trial.tool_calls == plain.trial.tool_calls
    assert other.trial.usage == plain.trial.usage


def test_lines_without_parents_and_with_equal_times_keep_their_order_backwards_too(
    store: Store, tmp_path: Path
) -> None:
    told = [line("assistant", n, [asks(f"t{n}")], parentUuid=None) for n in range(9)]
    for each in told[1:8]:
        each["timestamp"] = told[1]["timestamp"]
    trial = tell(store, tmp_path, b"".join(reversed(lines(*told).splitlines(keepends=True)))).trial
    assert [call.call_id for call in trial.tool_calls] == [f"t{n}" for n in range(9)]


def test_a_file_that_ends_within_a_line_keeps_the_lines_before_and_claims_nothing(store: Store, tmp_path: Path) -> None:
    cut = lines(*PLAIN)[:-30]
    told = tell(store, tmp_path, cut)
    (rejected,) = told.imported.rejected
    assert (rejected.line, rejected.reason[:8]) == (5, "no JSON:")
    assert (told.trial.status, told.trial.status_reason) == ("incomplete", "recording_cut")
    assert (told.trial.claim.state, len(told.trial.tool_calls)) == ("unavailable", 1)


def test_a_damaged_line_in_the_middle_is_named_and_the_session_is_not_cut(store: Store, tmp_path: Path) -> None:
    first, *rest = lines(*PLAIN).splitlines(keepends=True)
    told = tell(store, tmp_path, first + b"{broken\n" + b"".join(rest))
    assert [each.line for each in told.imported.rejected] == [2]
    assert (told.trial.status, told.trial.final_answer) == ("complete", "The file is made.")


def test_clear_begins_another_conversation_in_the_same_session(store: Store, tmp_path: Path) -> None:
    told = tell(
        store,
        tmp_path,
        lines(
            line("user", 0, "<command-name>/clear</command-name>"),
            line("user", 1, "first"),
            line("assistant", 2, says("I could not do it.")),
            line("user", 3, "<command-name>/clear</command-name>\n<command-args></command-args>"),
            line("user", 4, "second"),
            line("assistant", 5, says("Done.")),
        ),
    )
    assert [(trial.session_id, trial.final_answer, trial.claim.state) for trial in told.trials] == [
        (SESSION, "I could not do it.", "failure"),
        (SESSION, "Done.", "success"),
    ]
    assert len({trial.trial_id for trial in told.trials}) == 2


def test_sessions_in_one_file_are_told_apart_and_a_copied_history_counts_once(store: Store, tmp_path: Path) -> None:
    """A resumed session may repeat the lines of the one before under its own id, with new ids of lines or the old."""
    used = {"input_tokens": 5, "output_tokens": 5}
    told = tell(
        store,
        tmp_path,
        lines(
            line("user", 0, "go"),
            line("assistant", 1, says("One."), message="m1", usage=used),
            line("user", 0, "go", sessionId="resumed"),
            line("assistant", 11, says("One."), message="m1", usage=used, sessionId="resumed", parentUuid=None),
            line("user", 12, "more", sessionId="resumed"),
            line("assistant", 13, says("Two."), message="m2", usage=used, sessionId="resumed"),
        ),
    )
    by_session = {trial.session_id: trial for trial in told.trials}
    assert by_session.keys() == {SESSION, "resumed"}
    assert [by_session[name].usage.output_tokens for name in (SESSION, "resumed")] == [5, 5]
    assert by_session["resumed"].final_answer == "Two."


def side(kind: str, number: int, content: object, **more: object) -> dict[str, object]:
    return line(kind, number, content, isSidechain=True, **{"parentUuid": None, **more})


def test_the_file_of_a_sub_agent_is_a_part_of_its_session(store: Store, tmp_path: Path) -> None:
    inner = lines(
        side("user", 20, "count the files", agentId="a1"),
        side("assistant", 21, [asks("s1", command="ls")], agentId="a1", parentUuid="u20"),
        side("user", 22, answers("s1", "3"), agentId="a1", parentUuid="u21"),
        side("assistant", 23, says("There are three."), agentId="a1", parentUuid="u22"),
    )
    alone = tell(store, tmp_path / "alone", inner).trial
    assert (alone.session_id, alone.status, alone.status_reason) == (SESSION, "incomplete", "root_missing")
    both = tell(store, tmp_path / "both", inner, lines(*PLAIN)).trial
    assert (both.status, both.final_answer) == ("complete", "The file is made.")
    assert [call.call_id for call in both.tool_calls] == ["t1", "s1"]


@pytest.mark.parametrize("told_by", ["agent id", "prompt"])
def test_a_sub_agent_in_the_same_file_runs_within_the_call_that_started_it(
    store: Store, tmp_path: Path, told_by: str
) -> None:
    known = {"agentId": "a1"} if told_by == "agent id" else {}
    trial = tell(
        store,
        tmp_path,
        lines(
            line("user", 0, "look"),
            line("assistant", 1, [asks("t1", "Task", prompt="count the files")]),
            side("user", 2, "count the files", **known),
            side("assistant", 3, [asks("s1", "Task", prompt="x")], parentUuid="u2", **known),
            side("user", 4, answers("s1", "3"), parentUuid="u3", **known),
            side("assistant", 5, says("There are three."), parentUuid="u4", **known),
            line("user", 6, answers("t1", "There are three."), toolUseResult=known or "There are three."),
            line("assistant", 7, says("Three files.")),
        ),
    ).trial
    assert trial.final_answer == "Three files."
    assert [(call.call_id, call.effect.effect_class) for call in trial.tool_calls] == [
        ("t1", "handoff"),
        ("s1", "unclassified"),
    ]
    inner = next(step for step in trial.steps if step.kind == "agent_call" and step.started_at != trial.started_at)
    assert inner.ended_at - inner.started_at == 3 * 10**9


def test_a_summary_of_compaction_is_nobodys_word(store: Store, tmp_path: Path) -> None:
    trial = tell(
        store,
        tmp_path,
        lines(
            line("user", 0, "go"),
            line("assistant", 1, says("Half is done.")),
            {"type": "system", "subtype": "compact_boundary", "parentUuid": None, "sessionId": SESSION, "uuid": "c"},
            line("user", 2, "This session is being continued: all is done.", isCompactSummary=True),
            line("assistant", 3, says("I could not finish.")),
        ),
    ).trial
    assert (kinds(trial), trial.claim.state) == ("amm", "failure")


def test_an_interruption_ends_a_session_only_where_nothing_follows(store: Store, tmp_path: Path) -> None:
    stopped = [
        line("user", 0, "go"),
        line("assistant", 1, [asks("t1")]),
        line("user", 2, says("[Request interrupted by user for tool use]")),
    ]
    trial = tell(store, tmp_path / "stopped", lines(*stopped)).trial
    assert (trial.status, trial.status_reason) == ("aborted", "cancelled")
    assert called(trial.tool_calls) == [("Bash", "t1", "unknown")]
    went_on = [*stopped, line("user", 3, "go on"), line("assistant", 4, says("Done."))]
    trial = tell(store, tmp_path / "went on", lines(*went_on)).trial
    assert (trial.status, trial.final_answer) == ("complete", "Done.")


def test_a_call_that_the_user_refused_never_ran(store: Store, tmp_path: Path) -> None:
    no = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    trial = tell(
        store,
        tmp_path,
        lines(
            line("assistant", 1, [asks("t1", command="rm a"), asks("t2", command="rm b")]),
            line("user", 2, answers("t1", no, error=True)),
            line("user", 3, answers("t2", [{"type": "text", "text": "rm: b: no such file"}], error=True)),
        ),
    ).trial
    assert [(call.executed, call.effect.state, call.error) for call in trial.tool_calls] == [
        ("no", "refused", no),
        ("unknown", "unknown", "rm: b: no such file"),
    ]


def test_a_message_of_the_program_itself_is_no_inference_and_an_api_error_is_a_failed_one(
    store: Store, tmp_path: Path
) -> None:
    made_up = line("assistant", 1, says("No response requested."), model="<synthetic>")
    failed = line("assistant", 2, says("API Error: 529"), isApiErrorMessage=True)
    trial = tell(store, tmp_path, lines(line("user", 0, "go"), made_up, failed)).trial
    assert (kinds(trial), trial.models) == ("am", ())
    assert (trial.status, trial.status_reason) == ("error", "API Error: 529")


def test_a_session_of_the_web_is_one_document(store: Store, tmp_path: Path) -> None:
    keys = ("type", "timestamp", "message")
    bare = [{key: each[key] for key in keys} for each in PLAIN[1:]]
    told = tell(store, tmp_path, json.dumps({"loglines": bare}, indent=2).encode())
    assert told.imported.formats == {"claude_code": 1}
    assert (kinds(told.trial), told.trial.session_id) == ("amtm", None)
    again = tell(store, tmp_path / "again", {"loglines": [line | {"sessionId": SESSION} for line in bare]})
    assert {trial.session_id for trial in again.trials} == {None, SESSION}


def test_a_result_whose_call_is_not_in_the_file_is_kept_and_counts_as_none(store: Store, tmp_path: Path) -> None:
    trial = tell(store, tmp_path, lines(line("user", 0, answers("t0", "?")), line("assistant", 1, says("Ok.")))).trial
    assert (kinds(trial), trial.tool_calls) == ("am", ())


def test_a_document_that_is_cut_off_gives_the_lines_that_are_whole(store: Store, tmp_path: Path) -> None:
    told = tell(store, tmp_path, json.dumps({"loglines": PLAIN[1:]}, indent=2).encode()[:-60])
    assert [each.reason for each in told.imported.rejected] == ["the file ends inside this value"]
    assert (kinds(told.trial), told.trial.status_reason) == ("amt", "recording_cut")


def test_arguments_that_did_not_fit_never_reached_the_tool(store: Store, tmp_path: Path) -> None:
    refused = "<tool_use_error>InputValidationError: The required parameter `command` is missing</tool_use_error>"
    recorded = [
        line("user", 0, "go"),
        line("assistant", 1, [asks("t1", name="Write")]),
        line("user", 2, answers("t1", refused, error=True)),
        line("assistant", 3, says("Written.")),
    ]
    (call,) = tell(store, tmp_path, lines(*recorded)).trial.tool_calls
    assert (call.executed, call.effect.state, call.effect.reason) == ("no", "none", "validation")


def test_an_error_that_is_recorded_before_its_call_is_still_an_error(store: Store, tmp_path: Path) -> None:
    recorded = [
        line("user", 0, "go"),
        line("user", 1, answers("t1", "The disk is full.", error=True)),
        line("assistant", 2, [asks("t1", name="Write")]),
        line("assistant", 3, says("Written.")),
    ]
    (call,) = tell(store, tmp_path, lines(*recorded)).trial.tool_calls
    assert (call.executed, call.error) == ("unknown", "The disk is full.")


def test_a_sub_agent_that_is_recorded_twice_counts_once(store: Store, tmp_path: Path) -> None:
    """In the file of its session and in one of its own."""
    used = {"input_tokens": 10, "output_tokens": 4}
    inner = [
        side("user", 2, "count the files", agentId="a1"),
        side("assistant", 3, [asks("s1", command="ls")], parentUuid="u2", agentId="a1", usage=used),
        side("user", 4, answers("s1", "3"), parentUuid="u3", agentId="a1"),
        side("assistant", 5, says("There are three."), parentUuid="u4", agentId="a1", usage=used),
    ]
    outer = [
        line("user", 0, "look"),
        line("assistant", 1, [asks("t1", "Task", prompt="count the files")], usage=used),
        line("user", 6, answers("t1", "There are three."), toolUseResult={"agentId": "a1"}),
        line("assistant", 7, says("Three files."), usage=used),
    ]
    trial = tell(store, tmp_path, lines(*outer[:2], *inner, *outer[2:]), lines(*inner)).trial
    assert [call.call_id for call in trial.tool_calls] == ["t1", "s1"]
    assert trial.usage == Usage(input_tokens=40, output_tokens=16)


@pytest.mark.parametrize(
    ("words", "executed", "code"),
    [("Exit code 1\nrm: no", "yes", 1), ("Command timed out after 2m 0s", "unknown", None)],
)
def test_a_command_that_exits_with_an_error_ran_and_what_it_changed_is_unknown(
    store: Store, tmp_path: Path, words: str, executed: str, code: int | None
) -> None:
    recorded = [
        line("user", 0, "remove it"),
        line("assistant", 1, [asks("t1", command="rm a")]),
        line("user", 2, answers("t1", words, error=True)),
    ]
    (call,) = tell(store, tmp_path, lines(*recorded, line("assistant", 3, says("It is gone.")))).trial.tool_calls
    assert (call.executed, call.exit_code, call.effect.state) == (executed, code, "unknown")
    assert call.effect.reason == ("error" if code is None else "exit_code")
