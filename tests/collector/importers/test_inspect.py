import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest
from backports import zstd

from spanproof_collector.store import Store
from tests.collector.importers.recording import called, foreign, kinds, lines, tell, tell_folder

Events = list[dict[str, object]]


def at(second: int) -> str:
    return f"2024-01-01T00:00:{second:02}Z"


def begin(
    span: str, second: int, parent: str | None = None, kind: str | None = None, name: str = ""
) -> dict[str, object]:
    told: dict[str, object] = {
        "event": "span_begin",
        "id": span,
        "parent_id": parent,
        "name": name or span,
        "timestamp": at(second),
    }
    return told | ({"type": kind} if kind else {})


def model(
    second: int, span: str | None = None, text: str = "", calls: object = None, heard: object = (), **more: object
) -> dict[str, object]:
    message = {"id": f"m{second}", "role": "assistant", "content": text, "tool_calls": calls, "source": "generate"}
    return {
        "event": "model",
        "uuid": f"e{second}",
        "span_id": span,
        "model": "openai/gpt-4o",
        "timestamp": at(second),
        "completed": at(second + 1),
        "input": heard,
        "output": {
            "model": "gpt-4o-2024-08-06",
            "choices": [{"message": message, "stop_reason": "stop"}],
            "usage": {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110},
        },
    } | more


def asks(name: str, call_id: str, **arguments: object) -> dict[str, object]:
    return {"id": call_id, "function": name, "arguments": arguments, "type": "function"}


def tool(
    second: int, name: str, call_id: str, result: object = "ok", span: str | None = None, **more: object
) -> dict[str, object]:
    return {
        "event": "tool",
        "uuid": f"e{second}",
        "span_id": span,
        "id": call_id,
        "function": name,
        "arguments": {"n": second},
        "result": result,
        "timestamp": at(second),
        "completed": at(second + 1),
    } | more


def says(role: str, content: object, number: str, **more: object) -> dict[str, object]:
    return {"id": number, "role": role, "content": content} | more


def sample(events: Events, number: object = 1, epoch: int = 1, **more: object) -> dict[str, object]:
    return {
        "id": number,
        "epoch": epoch,
        "input": "Do it.",
        "target": "x",
        "messages": [],
        "output": {"model": "gpt-4o", "choices": []},
        "scores": {"match": {"value": "C", "answer": "x", "explanation": "equal"}},
        "events": events,
    } | more


EVAL = {"eval_id": "v1", "run_id": "r1", "task": "popularity", "task_id": "t1", "model": "openai/gpt-4o", "config": {}}


def log(*samples: object, status: str = "success", **more: object) -> dict[str, object]:
    return {"version": 2, "status": status, "eval": EVAL, "plan": {}, "samples": list(samples)} | more


PLAIN = [
    model(1, text="Let me look.", calls=[asks("search", "c1", q="x")]),
    tool(2, "search", "c1"),
    model(4, text="It is x."),
]


def packed(members: Mapping[str, object], method: int = 8) -> bytes:
    """Return an archive, its members packed by stored (0), deflate (8) or Zstandard (93)."""
    body, directory = io.BytesIO(), io.BytesIO()
    for name, content in members.items():
        raw = json.dumps(content).encode()
        deflated = zlib.compressobj(wbits=-15)
        data = {0: raw, 8: deflated.compress(raw) + deflated.flush(), 93: zstd.compress(raw)}[method]
        common = struct.pack("<3H2H3L2H", 45, 0, method, 0, 33, zlib.crc32(raw), len(data), len(raw), len(name), 0)
        directory.write(b"PK\x01\x02" + struct.pack("<H", 45) + common + struct.pack("<3H2L", 0, 0, 0, 0, body.tell()))
        directory.write(name.encode())
        body.write(b"PK\x03\x04" + common + name.encode() + data)
    start, listed = body.tell(), directory.getvalue()
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, len(members), len(members), len(listed), start, 0)
    return body.getvalue() + listed + end


def archive(*samples: dict[str, object]) -> dict[str, object]:
    header = {"version": 2, "status": "success", "eval": EVAL}
    inside = {f"samples/{each['id']}_epoch_{each['epoch']}.json": each for each in samples}
    return {"_journal/start.json": {"version": 2, "eval": EVAL}, **inside, "summaries.json": [], "header.json": header}


def test_a_log_has_its_samples_with_labels_and_scores(store: Store, tmp_path: Path) -> None:
    told = tell(
        store, tmp_path, log(sample(PLAIN), sample(PLAIN, number="two", epoch=3, scores={"f1": {"value": 0.5}}))
    )
    assert told.imported.formats == {"inspect": 1}
    first, second = told.trials
    assert (first.task_id, first.attempt, first.suite, first.models) == ("1", 0, "popularity", ("gpt-4o-2024-08-06",))
    assert (second.task_id, second.attempt) == ("two", 2)
    assert (foreign(first), foreign(second)) == ({"match": (None, "C")}, {"f1": (0.5, None)})
    assert called(first.tool_calls) == [("search", "c1", "yes")]
    assert (kinds(first), first.final_answer, first.usage.input_tokens) == ("amtm", "It is x.", 200)
    assert (first.started_at, first.status) == (1704067201_000000000, "complete")


@pytest.mark.parametrize("method", [0, 8, 93], ids=["stored", "deflate", "zstd"])
def test_an_archive_holds_the_same_samples_as_the_log(store: Store, tmp_path: Path, method: int) -> None:
    content = packed(archive(sample(PLAIN), sample(PLAIN, number=2)), method)
    if method != 93:  # Python 3.11 reads no Zstandard
        assert zipfile.ZipFile(io.BytesIO(content)).testzip() is None
    told = tell(store, tmp_path, content, log(sample(PLAIN), sample(PLAIN, number=2)))
    assert told.imported.formats == {"inspect": 2}
    assert [trial.task_id for trial in told.trials] == ["1", "2"]
    assert told.imported.rejected == ()


@pytest.mark.parametrize("method", [8, 93], ids=["deflate", "zstd"])
def test_an_archive_that_is_cut_off_gives_the_samples_before_the_cut(store: Store, tmp_path: Path, method: int) -> None:
    whole = packed(archive(sample(PLAIN), sample(PLAIN, number=2)), method)
    told = tell(store, tmp_path, whole[: whole.index(b"samples/2_") + 200])
    assert [trial.task_id for trial in told.trials] == ["1"]
    assert ["no directory" in each.reason or "ends inside" in each.reason for each in told.imported.rejected] == [
        True
    ] * 2


def test_a_damaged_member_is_named_and_the_others_are_kept(store: Store, tmp_path: Path) -> None:
    whole = bytearray(packed(archive(sample(PLAIN), sample(PLAIN, number=2)), 93))
    place = whole.index(b"samples/2_epoch_1.json") + 40
    whole[place : place + 30] = b"\0" * 30
    told = tell(store, tmp_path, bytes(whole))
    assert [trial.task_id for trial in told.trials] == ["1"]
    assert [each.reason.split(":")[0] for each in told.imported.rejected] == ["samples/2_epoch_1.json"]


def test_agents_whose_events_are_interleaved_are_told_apart_by_their_spans(store: Store, tmp_path: Path) -> None:
    events: Events = [
        begin("root", 0),
        model(1, "root", "I start."),
        begin("a1", 2, "root", "agent", "first"),
        begin("a2", 2, "root", "agent", "second"),
        model(3, "a1", calls=[asks("look", "same")]),
        model(4, "a2", calls=[asks("write_file", "same")]),
        tool(5, "look", "same", "of the first", "a1"),
        tool(6, "write_file", "same", "of the second", "a2"),
        model(8, "root", "Both are done."),
    ]
    trial = tell(store, tmp_path, {"events": events}).trial
    assert sorted((c.name, c.result) for c in trial.tool_calls) == [
        ("look", "of the first"),
        ("write_file", "of the second"),
    ]
    assert (kinds(trial).count("a"), trial.final_answer, trial.agent_name) == (3, "Both are done.", None)


OLD_NESTED = [
    model(1),
    tool(2, "ask_helper", "c1", "helped", agent="helper", events=[model(3), tool(4, "do_work", "c2"), model(6)]),
    model(8, text="The end."),
]
NEW_NESTED = [
    model(1, calls=[asks("ask_helper", "c1")]),
    begin("tool-span", 2, None, "tool", "ask_helper"),
    begin("helper-span", 2, "tool-span", "agent", "helper"),
    model(3, "helper-span", calls=[asks("do_work", "c2")]),
    tool(4, "do_work", "c2", span="helper-span"),
    model(6, "helper-span", "helped"),
    tool(2, "ask_helper", "c1", "helped", "tool-span"),
    model(8, text="The end."),
]


@pytest.mark.parametrize("events", [OLD_NESTED, NEW_NESTED], ids=["events in the event", "spans"])
def test_an_agent_that_is_called_as_a_tool_is_no_external_effect(store: Store, tmp_path: Path, events: Events) -> None:
    trial = tell(store, tmp_path, {"events": events}).trial
    assert [(c.name, c.effect.effect_class, c.effect.state) for c in trial.tool_calls] == [
        ("ask_helper", "handoff", "none"),
        ("do_work", "unclassified", "reported"),
    ]
    assert (trial.final_answer, kinds(trial).count("m")) == ("The end.", 4)


def test_a_compaction_is_no_step_and_what_is_heard_again_is_not_said_again(store: Store, tmp_path: Path) -> None:
    opening = [says("system", "You help.", "s"), says("user", "Do it.", "u")]
    events: Events = [
        model(1, text="A", heard=opening),
        {"event": "compaction", "uuid": "x", "timestamp": at(3), "type": "summary"},
        model(4, text="B", heard=opening),
        model(6, text="C", heard=[*opening, says("assistant", "B", "m4"), says("user", "Go on.", "v")]),
    ]
    trial = tell(store, tmp_path, {"events": events}).trial
    assert (kinds(trial), trial.final_answer) == ("ammm", "C")


def test_of_branches_only_the_path_that_went_on_is_the_final_one(store: Store, tmp_path: Path) -> None:
    events: Events = [
        begin("main", 0, None, "agent", "worker"),
        model(1, "main", "I search."),
        begin("b1", 2, "main", "branch"),
        model(3, "b1", "One way."),
        tool(4, "analyze", "c1", span="b1"),
        begin("b2", 5, "main", "branch"),
        model(6, "b2", "Another way."),
        tool(7, "analyze", "c2", span="b2"),
        model(9, "main", "Judged."),
        model(12, "b2", "Too late."),
    ]
    trial = tell(store, tmp_path, {"events": events}).trial
    assert (trial.final_answer, trial.agent_name) == ("Judged.", "worker")
    assert [c.call_id for c in trial.tool_calls] == ["c1", "c2"]
    assert trial.usage.input_tokens == 500


def test_a_damaged_picture_in_a_result_is_a_placeholder(store: Store, tmp_path: Path) -> None:
    broken = "data:image/png;base64,iVBORw0KGgo…cut"
    shown = [{"type": "text", "text": "A screen."}, {"type": "image", "image": broken}]
    events = [model(1, calls=[asks("screenshot", "c1")]), tool(2, "screenshot", "c1", shown), model(4, text="I see.")]
    trial = tell(store, tmp_path, log(sample(events))).trial
    result = trial.tool_calls[0].result
    assert isinstance(result, list)
    assert result[0] == {"type": "text", "text": "A screen."}
    assert "iVBOR" not in json.dumps(result)
    assert isinstance(result[1], dict)
    assert (result[1]["type"], result[1]["mime_type"], result[1]["omitted"]) == ("image", "image/png", True)


def test_inferences_of_scorers_are_none_of_the_agents(store: Store, tmp_path: Path) -> None:
    judged: Events = [
        begin("scoring", 6, None, "scorers"),
        begin("s1", 6, "scoring", "scorer"),
        model(7, "s1", "GRADE: C"),
    ]
    stepped: Events = [
        {"event": "step", "action": "begin", "type": "scorer", "name": "m", "timestamp": at(6)},
        model(7, text="GRADE: C"),
        {"event": "step", "action": "end", "type": "scorer", "name": "m", "timestamp": at(9)},
    ]
    told = tell(store, tmp_path, log(sample([*PLAIN, *judged]), sample([*PLAIN, *stepped], number=2)))
    assert [(kinds(t), t.final_answer, t.usage.input_tokens) for t in told.trials] == [("amtm", "It is x.", 200)] * 2


@pytest.mark.parametrize(
    ("error", "executed"),
    [
        ({"type": "approval", "message": "not allowed"}, "no"),
        ({"type": "parsing", "message": "no valid arguments"}, "no"),
        ({"type": "timeout", "message": "took too long"}, "unknown"),
        ({"type": "permission", "message": "denied on disk"}, "unknown"),
    ],
)
def test_errors_tell_calls_that_never_ran_from_calls_that_failed(
    store: Store, tmp_path: Path, error: dict[str, str], executed: str
) -> None:
    events = [model(1, calls=[asks("pay", "c1")]), tool(2, "pay", "c1", "", error=error), model(4, text="Sorry.")]
    trial = tell(store, tmp_path, log(sample(events))).trial
    assert [(c.executed, c.error) for c in trial.tool_calls] == [(executed, error["message"])]


def test_a_call_that_an_approver_rejected_never_ran(store: Store, tmp_path: Path) -> None:
    approval: dict[str, object] = {
        "event": "approval",
        "call": asks("pay", "c1"),
        "approver": "human",
        "decision": "reject",
        "timestamp": at(2),
    }
    events: Events = [
        model(1, calls=[asks("pay", "c1"), asks("pay", "c2")]),
        approval,
        tool(3, "pay", "c1", ""),
        tool(4, "pay", "c2"),
    ]
    trial = tell(store, tmp_path, log(sample(events))).trial
    assert [(c.call_id, c.executed, c.effect.state) for c in trial.tool_calls] == [
        ("c1", "no", "refused"),
        ("c2", "yes", "reported"),
    ]
    assert [refusal.by for refusal in trial.refusals] == ["human"]


def test_limits_and_errors_say_how_a_sample_ended(store: Store, tmp_path: Path) -> None:
    told = tell(
        store,
        tmp_path,
        log(
            sample(PLAIN, number=1, limit={"type": "token", "limit": 1000}),
            sample(PLAIN, number=2, limit={"type": "operator", "limit": 1}),
            sample(PLAIN, number=3, error={"message": "sandbox died", "traceback": "…"}),
            sample([*PLAIN, {"event": "sample_limit", "type": "time", "message": "…", "timestamp": at(9)}], number=4),
        ),
    )
    assert [trial.status_reason for trial in told.trials] == [
        "budget_exhausted",
        "cancelled",
        "infrastructure",
        "budget_exhausted",
    ]


def test_attachments_and_pooled_messages_are_put_in_their_places(store: Store, tmp_path: Path) -> None:
    attached = {"abc": "a long text"}
    pool = [says("system", "You help.", "s"), says("user", "attachment://abc", "u")]
    events: Events = [
        model(1, heard=[], input_refs=[[0, 2]], calls=[asks("read", "c1")]),
        tool(2, "read", "c1", "attachment://abc"),
        model(4, text="attachment://abc"),
    ]
    newer = sample(events, attachments=attached, events_data={"messages": pool, "calls": []})
    older = sample(
        [], number=2, attachments={}, transcript={"events": [model(1, text="tc://abc")], "content": attached}
    )
    told = tell(store, tmp_path, log(newer, older))
    assert [trial.final_answer for trial in told.trials] == ["a long text", "a long text"]
    assert told.trials[0].tool_calls[0].result == "a long text"


def test_a_sample_without_events_tells_its_messages(store: Store, tmp_path: Path) -> None:
    messages = [
        says("user", "Do it.", "u"),
        says("assistant", "I look.", "a", tool_calls=[asks("look", "c1", q=1), asks("look", "c2", q=2)]),
        says("tool", "seen", "t", tool_call_id="c2", function="look"),
        says("tool", "", "t2", tool_call_id="c1", function="look", error={"type": "timeout", "message": "too slow"}),
        says("assistant", "It is x.", "b"),
    ]
    usage = {"openai/gpt-4o": {"input_tokens": 30, "output_tokens": 3, "total_tokens": 33}}
    trial = tell(store, tmp_path, log(sample([], messages=messages, model_usage=usage))).trial
    assert [(c.call_id, c.arguments, c.result, c.error) for c in trial.tool_calls] == [
        ("c1", {"q": 1}, None, "too slow"),
        ("c2", {"q": 2}, "seen", None),
    ]
    assert (trial.final_answer, trial.usage.input_tokens) == ("It is x.", 30)


@pytest.mark.parametrize("given", [10, 110], ids=["beside", "within"])
def test_cached_tokens_are_part_of_the_input_whichever_way_they_were_counted(
    store: Store, tmp_path: Path, given: int
) -> None:
    usage = {"input_tokens": given, "output_tokens": 5, "total_tokens": 115, "input_tokens_cache_read": 100}
    output = {"model": "m", "choices": [{"message": says("assistant", "x", "a")}], "usage": usage}
    trial = tell(store, tmp_path, {"events": [model(1) | {"output": output}]}).trial
    assert (trial.usage.input_tokens, trial.usage.cache_read_tokens) == (110, 100)


def test_events_in_an_array_and_one_a_line_are_the_same_stream(store: Store, tmp_path: Path) -> None:
    told = tell(store, tmp_path, PLAIN, lines(*PLAIN))
    assert told.imported.formats == {"inspect": 2}
    assert len(told.trials) == 1


def test_a_log_without_samples_is_a_log_without_sessions(store: Store, tmp_path: Path) -> None:
    header = log(status="started")
    del header["samples"]
    told = tell(store, tmp_path, header)
    assert (told.imported.formats, told.trials, told.imported.rejected) == ({"inspect": 1}, [], ())


def test_an_inference_that_was_under_way_leaves_the_sample_incomplete(store: Store, tmp_path: Path) -> None:
    pending = model(6) | {"pending": True, "output": {"model": "", "choices": []}}
    trial = tell(store, tmp_path, log(sample([*PLAIN, pending], output=None), status="started")).trial
    assert (trial.status, kinds(trial)) == ("incomplete", "amtm")


@pytest.mark.parametrize("name", ["run.eval", "run.traj"])
def test_a_file_that_by_its_name_should_be_one_is_named_where_it_is_none(
    store: Store, tmp_path: Path, name: str
) -> None:
    told = tell_folder(store, tmp_path, {name: b"\0not a recording", "notes.txt": b"nothing"})
    assert [(each.path, each.reason) for each in told.imported.rejected] == [(name, "no known format recognizes it")]
