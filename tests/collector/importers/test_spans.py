"""What becomes of a recorded session: ids, times, order, and how a longer recording replaces a shorter one."""

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from spanproof_collector.importers._session import Call, Inference, Labels, Run, Said, Session, Turn, Verdict
from spanproof_collector.importers._spans import request_of
from spanproof_collector.model.readings import Usage
from spanproof_collector.model.trials import Trial
from spanproof_collector.model.values import Json
from spanproof_collector.otlp import Origin
from spanproof_collector.pipeline import Writer
from spanproof_collector.store import Store
from spanproof_collector.trials import read_trials

AT = 1_767_000_000_000_000_000
SECOND = 1_000_000_000


def trial_of(store: Store, *sessions: Session) -> Trial:
    for session in sessions:
        writer = Writer(store)
        request = request_of(session, "made_up")
        writer.add(request, request.SerializeToString(), Origin("import:made_up", "a.json"))
        writer.flush()
    (trial,) = read_trials(store)
    return trial


def answer(words: str | None = None, *calls: Call, at: int | None = None, **more: object) -> Inference:
    return Inference(text=words, calls=calls, at=at, **more)  # type: ignore[arg-type]


def session(*turns: Turn, **more: object) -> Session:
    return Session(identity=("s",), turns=turns, **more)  # type: ignore[arg-type]


def called(trial: Trial) -> list[tuple[str, object, object]]:
    return [(call.name, call.arguments, call.result) for call in trial.tool_calls]


def test_recorded_times_stay_and_those_that_are_not_there_are_null(store: Store) -> None:
    trial = trial_of(
        store,
        session(
            Said(role="user", text="hi", at=AT),
            answer("let me see", Call(name="look", result="x", at=AT + 2 * SECOND), at=AT + SECOND),
            answer("done"),
        ),
    )
    assert [(step.started_at, step.timed) for step in trial.steps[:3]] == [
        (AT, True),
        (AT + SECOND, True),
        (AT + 2 * SECOND, True),
    ]
    assert (trial.started_at, trial.timed, trial.steps[3].timed) == (AT, True, False)


def test_a_session_without_times_keeps_its_order_and_says_that_it_has_none(store: Store) -> None:
    names = [f"step{n}" for n in random.Random(7).sample(range(100), 20)]
    turns = [
        turn for name in names for turn in (Said(role="user", text=name), answer(None, Call(name=name, result=name)))
    ]
    trial = trial_of(store, session(*turns))
    assert [call.name for call in trial.tool_calls] == names
    assert (trial.timed, any(step.timed for step in trial.steps)) == (False, False)


def test_equal_times_keep_the_order_of_the_recording(store: Store) -> None:
    names = [f"step{n}" for n in random.Random(8).sample(range(100), 20)]
    trial = trial_of(store, session(*(answer(None, Call(name=name, result=1), at=AT) for name in names)))
    assert [call.name for call in trial.tool_calls] == names
    assert [step.kind for step in trial.steps] == ["agent_call", *["model_call", "tool_call"] * 20]


def test_calls_that_share_an_id_keep_each_its_own_answer(store: Store) -> None:
    trial = trial_of(
        store,
        session(
            answer(None, Call(name="get", call_id="1", arguments={"id": "a"}, result="A")),
            answer(None, Call(name="get", call_id="1", arguments={"id": "b"})),
            answer(
                None,
                Call(name="get", call_id="1", arguments={"id": "b"}, result="B"),
                Call(name="get", call_id="1", arguments={"id": "b"}, error="gone"),
            ),
        ),
    )
    assert [(call.arguments, call.result, call.error) for call in trial.tool_calls] == [
        ({"id": "a"}, "A", None),
        ({"id": "b"}, None, None),
        ({"id": "b"}, "B", None),
        ({"id": "b"}, None, "gone"),
    ]


def test_arguments_that_are_no_json_and_results_of_every_shape_come_back_as_they_were(store: Store) -> None:
    given: list[Json] = [{"a": [1, None, {"b": "ü"}]}, "not { json", "[1, 2", 5, True, [1, 2], ""]
    calls = [Call(name=f"t{n}", arguments=value, result=value) for n, value in enumerate(given)]
    trial = trial_of(store, session(answer(None, *calls)))
    assert [call.arguments for call in trial.tool_calls] == given
    assert [call.result for call in trial.tool_calls] == given
    assert trial.completeness.truncated_values == 0


def test_a_longer_recording_of_a_session_replaces_the_shorter_one_in_either_order(store: Store) -> None:
    short = session(
        Said(role="user", text="do it", at=AT),
        answer("working", Call(name="do", result="ok"), at=AT + SECOND),
        Said(role="user", text="a long last word of the user " * 50, at=AT + 2 * SECOND),
        cut=True,
    )
    long = replace(short, turns=(*short.turns, answer("done", at=AT + 3 * SECOND)), cut=False)
    for first, second in ((short, long), (long, short)):
        trial = trial_of(store, first, second)
        assert (trial.status, trial.final_answer, trial.ended_at) == ("complete", "done", AT + 3 * SECOND)
        assert len(trial.tool_calls) == 1
        assert sum(step.kind == "model_call" for step in trial.steps) == 2


def test_a_recording_that_breaks_off_gives_no_claim(store: Store) -> None:
    trial = trial_of(store, session(Said(role="user", text="do it"), answer("All done."), cut=True))
    assert (trial.status, trial.status_reason) == ("incomplete", "recording_cut")
    assert (trial.claim.state, trial.claim.rule) == ("unavailable", "recording_cut")


def test_how_a_session_ended_counts_only_while_nothing_follows(store: Store) -> None:
    stopped = session(answer("working", Call(name="do"), at=AT), termination="cancelled")
    trial = trial_of(store, stopped)
    assert (trial.status, trial.status_reason) == ("aborted", "cancelled")
    trial = trial_of(store, replace(stopped, turns=(*stopped.turns, answer("done", at=AT + SECOND)), termination=None))
    assert (trial.status, trial.final_answer) == ("complete", "done")


def test_what_another_agent_says_and_calls_is_its_own(store: Store) -> None:
    """Its last words are no answer of the session, and a call of its is another one than the call that started it."""
    inner = Run(agent="helper", turns=(answer(None, Call(name="task", arguments={}, result="inner")), answer("found")))
    trial = trial_of(
        store,
        session(
            answer(None, Call(name="task", arguments={}, result="outer", runs=(inner,))),
            Run(agent="watcher", turns=(answer("the watcher's words"),)),
            agent_name="main",
        ),
    )
    assert called(trial) == [("task", {}, "outer"), ("task", {}, "inner")]
    assert trial.tool_calls[0].effect.effect_class == "handoff"
    assert (trial.final_answer, trial.agent_name) == (None, "main")


def test_calls_of_the_user_are_no_calls_of_the_agent(store: Store) -> None:
    trial = trial_of(
        store,
        session(
            answer(None, Call(name="look", result="x")),
            Call(name="toggle", arguments={"on": True}, result="on", requestor="user"),
            answer("fine"),
        ),
    )
    assert [call.name for call in trial.tool_calls] == ["look"]
    (own,) = trial.user_calls
    assert (own.name, own.arguments, own.result, own.executed) == ("toggle", {"on": True}, "on", "yes")
    assert [step.kind for step in trial.steps].count("tool_call") == 1


def test_labels_and_the_word_of_others_come_along(store: Store) -> None:
    trial = trial_of(
        store,
        session(
            answer("ok"),
            labels=Labels(task_id="7", attempt=2, variant="v", suite="s", facts={"split": "dev", "n": 3, "no": None}),
            verdicts=(Verdict(name="reward", score=0.5, label="half"),),
            model="m-1",
        ),
    )
    assert (trial.task_id, trial.attempt, trial.variant, trial.suite) == ("7", 2, "v", "s")
    assert trial.labels == {"split": "dev", "n": "3"}
    assert trial.models == ("m-1",)
    assert [(each.name, each.score, each.label) for each in trial.foreign_results] == [("reward", 0.5, "half")]


def test_tokens_of_the_session_count_where_no_inference_has_its_own(store: Store) -> None:
    whole = Usage(input_tokens=10, output_tokens=5)
    assert trial_of(store, session(answer("ok"), usage=whole)).usage == whole
    metered = answer("ok", usage=Usage(input_tokens=3, output_tokens=1))
    again = Session(identity=("s",), turns=(metered,), usage=whole)
    assert trial_of(store, again).usage == Usage(input_tokens=3, output_tokens=1)


def test_sessions_are_told_apart_by_format_and_identity() -> None:
    def trace(format_name: str, *identity: str) -> bytes:
        request = request_of(Session(identity=identity, turns=(answer("x"),)), format_name)
        return request.resource_spans[0].scope_spans[0].spans[0].trace_id

    assert trace("a", "1") == trace("a", "1")
    assert len({trace("a", "1"), trace("b", "1"), trace("a", "2"), trace("a", "1", "2")}) == 4


def test_conversations_that_are_alike_stay_apart(store: Store, tmp_path: Path) -> None:
    """Without a session id, equal openings and equal call ids would look like one going on where the other stopped."""
    turns: Sequence[Turn] = (
        Said(role="user", text="hi"),
        answer(None, Call(name="get", call_id="1", arguments={}, result=1)),
    )
    writer = Writer(store)
    for number in range(3):
        request = request_of(Session(identity=(str(number),), turns=(*turns, answer(f"{number}"))), "made_up")
        writer.add(request, request.SerializeToString(), Origin("import:made_up", f"{number}.json"))
    writer.flush()
    assert sorted(str(trial.final_answer) for trial in read_trials(store)) == ["0", "1", "2"]


def test_the_span_of_the_session_ends_with_the_longest_recording(store: Store) -> None:
    """Of two recordings of equal size a hash would choose; a longer session's own span is always the richer."""
    for name in map(str, range(8)):
        short = Session(identity=(name,), session_id=name, turns=(answer("a", at=AT), answer("b", at=AT + SECOND)))
        long = replace(short, turns=(*short.turns, answer("c", at=AT + 2 * SECOND)))
        for each in (long, short):
            writer = Writer(store)
            request = request_of(each, "made_up")
            writer.add(request, request.SerializeToString(), Origin("import:made_up", "a.json"))
            writer.flush()
    assert {trial.steps[0].ended_at for trial in read_trials(store)} == {AT + 2 * SECOND}


def test_a_price_that_changed_over_time_is_none_where_the_time_is_not_recorded(store: Store) -> None:
    used = Usage(input_tokens=1000, output_tokens=100)
    writer = Writer(store)
    for name, model, at in (("steady", "gpt-4o", None), ("changed", "o3", None), ("timed", "o3", AT)):
        turns = (answer("ok", usage=used, model=model, at=at),)
        request = request_of(Session(identity=(name,), session_id=name, turns=turns), "made_up")
        writer.add(request, request.SerializeToString(), Origin("import:made_up", name))
    writer.flush()
    costs = {trial.session_id: trial.cost for trial in read_trials(store)}
    assert (costs["steady"].covered, costs["timed"].covered) == (True, True)
    assert (costs["changed"].usd, costs["changed"].covered) == (None, False)
    assert "no time, and the price of o3 changed" in str(costs["changed"].reason)
