import json
from pathlib import Path

import pytest

from spanproof_collector.model.readings import Usage
from spanproof_collector.store import Store
from tests.collector.importers.recording import called, kinds, lines, tell


def asks(*calls: tuple[str, object]) -> dict[str, object]:
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": call_id, "type": "function", "function": {"name": "pay", "arguments": json.dumps(given)}}
            for call_id, given in calls
        ],
    }


def answers(call_id: str, content: str) -> dict[str, object]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


CONVERSATION = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Pay both."},
    asks(("a", {"n": 1}), ("b", {"n": 2})),
    answers("b", "paid 2"),
    answers("a", "paid 1"),
    {"role": "assistant", "content": "Both are paid."},
]
LABELED = {
    "id": "s-1",
    "task_id": "7",
    "attempt": 1,
    "variant": "v",
    "model": "gpt-x",
    "messages": CONVERSATION,
    "usage": {"prompt_tokens": 30, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 10}},
    "tools": [{"type": "function", "function": {"name": "pay", "annotations": {"destructiveHint": True}}}],
    "split": "dev",
    "reward": 0.5,
}


@pytest.mark.parametrize("form", ["lines", "array", "object", "pretty array"])
def test_every_form_gives_the_same_session(store: Store, tmp_path: Path, form: str) -> None:
    forms = {
        "lines": lines(LABELED),
        "array": json.dumps([LABELED]).encode(),
        "object": json.dumps(LABELED).encode(),
        "pretty array": json.dumps([LABELED], indent=1).encode(),
    }
    told = tell(store, tmp_path, forms[form])
    trial = told.trial
    assert told.imported.formats == {"openai_messages": 1}
    assert (trial.session_id, trial.task_id, trial.attempt, trial.variant) == ("s-1", "7", 1, "v")
    assert (trial.labels, trial.models) == ({"split": "dev", "reward": "0.5"}, ("gpt-x",))
    assert (kinds(trial), trial.final_answer) == ("amttm", "Both are paid.")
    assert [(call.call_id, call.arguments, call.result) for call in trial.tool_calls] == [
        ("a", {"n": 1}, "paid 1"),
        ("b", {"n": 2}, "paid 2"),
    ]
    assert trial.tool_calls[0].effect.effect_class == "destructive"
    assert trial.usage == Usage(input_tokens=30, output_tokens=4, cache_read_tokens=10)
    assert (trial.timed, trial.foreign_results) == (False, ())


def test_what_is_not_recorded_is_null(store: Store, tmp_path: Path) -> None:
    trial = tell(store, tmp_path, lines({"messages": [{"role": "user", "content": "hi"}]})).trial
    assert (trial.session_id, trial.task_id, trial.attempt, trial.variant, trial.models) == (None, None, None, None, ())
    assert (trial.usage, trial.final_answer, trial.claim.state) == (Usage(), None, "unavailable")


def test_sessions_without_an_id_are_told_apart_by_what_they_hold(store: Store, tmp_path: Path) -> None:
    other = [*CONVERSATION[:-1], {"role": "assistant", "content": "I could not pay."}]
    told = tell(store, tmp_path, lines({"messages": CONVERSATION}, {"messages": other}, {"messages": CONVERSATION}))
    assert sorted(str(trial.final_answer) for trial in told.trials) == ["Both are paid.", "I could not pay."]


def test_a_longer_recording_of_a_session_with_an_id_replaces_the_shorter(store: Store, tmp_path: Path) -> None:
    short = {"id": "s-1", "messages": CONVERSATION[:3]}
    told = tell(store, tmp_path, lines(short), lines({"id": "s-1", "messages": CONVERSATION}))
    assert (told.trial.final_answer, len(told.trial.tool_calls)) == ("Both are paid.", 2)


def test_ids_that_repeat_do_not_merge_different_calls(store: Store, tmp_path: Path) -> None:
    messages = [asks(("x", {"n": 1})), answers("x", "one"), asks(("x", {"n": 1})), answers("x", "two"), asks(("x", {}))]
    trial = tell(store, tmp_path, lines({"messages": messages})).trial
    assert called(trial.tool_calls) == [("pay", "x", "yes"), ("pay", "x", "yes"), ("pay", "x", "unknown")]
    assert [call.result for call in trial.tool_calls] == ["one", "two", None]


def test_a_line_that_is_no_session_is_named_and_the_others_are_kept(store: Store, tmp_path: Path) -> None:
    told = tell(store, tmp_path, lines(LABELED, {"note": 1}, {"messages": CONVERSATION}) + b'{"messages": [{"ro')
    assert [each.line for each in told.imported.rejected] == [2, 4]
    assert len(told.trials) == 2


def test_an_answer_that_names_another_call_proves_nothing(store: Store, tmp_path: Path) -> None:
    twice = [asks(("a", {"n": 1}), ("b", {"n": 2})), answers("b", "paid 2"), answers("b", "paid 2")]
    stray = [asks(("c", {"n": 3})), answers("z", "paid 9"), {"role": "assistant", "content": "Paid."}]
    trial = tell(store, tmp_path, lines({"messages": [*twice, *stray]})).trial
    assert [(call.call_id, call.executed, call.result) for call in trial.tool_calls] == [
        ("a", "unknown", None),
        ("b", "yes", "paid 2"),
        ("c", "unknown", None),
    ]


def test_an_answer_without_an_id_goes_to_the_first_open_call(store: Store, tmp_path: Path) -> None:
    messages = [asks(("a", {"n": 1}), ("b", {"n": 2})), {"role": "tool", "content": "one"}]
    trial = tell(store, tmp_path, lines({"messages": messages})).trial
    assert [(call.call_id, call.executed, call.result) for call in trial.tool_calls] == [
        ("a", "yes", "one"),
        ("b", "unknown", None),
    ]


def test_an_answer_that_comes_late_finds_its_call(store: Store, tmp_path: Path) -> None:
    user = {"role": "user", "content": "Are you there?"}
    messages = [asks(("a", {"n": 1}), ("b", {"n": 2})), user, asks(("a", {"n": 3})), user, answers("b", "paid 2")]
    trial = tell(store, tmp_path, lines({"messages": messages})).trial
    assert [(call.arguments, call.executed, call.result) for call in trial.tool_calls] == [
        ({"n": 1}, "unknown", None),
        ({"n": 2}, "yes", "paid 2"),
        ({"n": 3}, "unknown", None),
    ]


def test_an_error_in_anthropics_shape_is_an_error(store: Store, tmp_path: Path) -> None:
    asked = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "pay", "input": {"n": 1}}]}
    told = {"type": "tool_result", "tool_use_id": "a", "is_error": True, "content": "The card was declined."}
    trial = tell(store, tmp_path, lines({"messages": [asked, {"role": "user", "content": [told]}]})).trial
    assert called(trial.tool_calls) == [("pay", "a", "unknown")]
    assert trial.tool_calls[0].error == "The card was declined."


@pytest.mark.parametrize("parts", [1, 2])
def test_runs_that_share_an_id_are_not_mixed(store: Store, tmp_path: Path, parts: int) -> None:
    paid = {"id": "t", "messages": CONVERSATION}
    unasked = {"id": "t", "messages": [*CONVERSATION[:2], {"role": "assistant", "content": "I could not pay."}]}
    other = [*CONVERSATION[:3], answers("b", "declined"), {"role": "assistant", "content": "Neither is paid."}]
    recorded = lines(paid, {"id": "t", "messages": other}, {"id": "t", "messages": CONVERSATION[:5]})
    told = tell(store, tmp_path, *((recorded + lines(unasked),) if parts == 1 else (recorded, lines(unasked))))
    assert sorted((str(one.final_answer), [call.result for call in one.tool_calls]) for one in told.trials) == [
        ("Both are paid.", ["paid 1", "paid 2"]),
        ("I could not pay.", []),
        ("Neither is paid.", [None, "declined"]),
    ]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (
            {"input_tokens": 30, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 10}},
            Usage(input_tokens=30, output_tokens=4, cache_read_tokens=10),
        ),
        (
            {"input_tokens": 15, "output_tokens": 4, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 5},
            Usage(input_tokens=30, output_tokens=4, cache_read_tokens=10, cache_write_tokens=5),
        ),
        (
            {"prompt_tokens": 30, "completion_tokens": 4, "output_tokens_details": {"reasoning_tokens": 3}},
            Usage(input_tokens=30, output_tokens=4, reasoning_tokens=3),
        ),
    ],
)
def test_tokens_under_other_names_are_read(
    store: Store, tmp_path: Path, usage: dict[str, object], expected: Usage
) -> None:
    assert tell(store, tmp_path, lines({"messages": CONVERSATION, "usage": usage})).trial.usage == expected


@pytest.mark.parametrize("form", ["lines", "array"])
def test_sessions_without_messages_that_come_first_hide_none(store: Store, tmp_path: Path, form: str) -> None:
    rows = [{"id": "x", "messages": None}, {"id": "y", "messages": []}, {"id": "w", "messages": []}]
    rows.append({"id": "z", "messages": CONVERSATION})
    told = tell(store, tmp_path, lines(*rows) if form == "lines" else json.dumps(rows).encode())
    assert told.imported.formats == {"openai_messages": 1}
    assert [one.final_answer for one in told.trials if one.session_id == "z"] == ["Both are paid."]


def test_a_line_about_the_file_hides_no_session(store: Store, tmp_path: Path) -> None:
    told = tell(store, tmp_path, lines({"run": "r"}, {"messages": CONVERSATION}))
    assert ([each.line for each in told.imported.rejected], told.trial.final_answer) == ([1], "Both are paid.")
