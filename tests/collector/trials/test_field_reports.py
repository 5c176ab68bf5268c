"""What users of other tools reported about sessions, tool calls and dialects, each as it would have been right.

| report | test |
|---|---|
| 28: a thread id that is not found, a trace under the wrong thread | ``test_28_…`` |
| 29: no conversation id, so no session at all | ``test_29_…`` |
| 30: a session cannot be evaluated as one | ``test_30_…`` |
| 32: what tools were given and gave back, in span events, is never shown | ``test_32_…`` |
| 33: tools are said not to have been called though they ran | ``test_33_…``; in every dialect: ``test_dialects.py`` |
| 36: tool spans missing, events without a span id, flat traces | ``test_36_…`` |
| 37: nothing links an inference to the tool span that it caused | ``test_37_…`` |
"""

import json

import pytest

from spanproof_collector.model.filters import Filter
from spanproof_collector.store import Store
from spanproof_collector.trials import read_trials
from tests.factories import agent, asked, chat, event, log_record, logs, said, span, told, tool, trace_id, traces
from tests.storing import put, trial_of, trials_of

A = {"id": "A"}
USER = said("user", "do it")


@pytest.mark.parametrize(
    ("attributes", "session"),
    [
        ({"gen_ai.conversation.id": "c", "session.id": "s"}, "c"),
        ({"session.id": "s", "langfuse.session.id": "l"}, "s"),
        ({"langfuse.session.id": "l"}, "l"),
        ({"gen_ai.conversation.id": "", "session.id": "s"}, "s"),
    ],
)
def test_28_the_conventions_session_comes_first(attributes: dict[str, object], session: str, store: Store) -> None:
    trial = trial_of(store, traces(span("run", agent() | attributes)))
    assert (trial.session_id, trial.joined_by) == (session, "session")


def test_28_a_span_belongs_to_its_own_session_and_not_to_its_traces(store: Store) -> None:
    found = trials_of(
        store,
        traces(
            span("one", agent() | {"gen_ai.conversation.id": "s-1"}),
            span("two", agent() | {"gen_ai.conversation.id": "s-2"}, at=2),
        ),
    )
    assert [(trial.session_id, [step.name for step in trial.steps]) for trial in found] == [
        ("s-1", ["one"]),
        ("s-2", ["two"]),
    ]


def test_29_a_trace_without_any_id_is_a_trial_of_its_own_and_its_session_is_not_invented(store: Store) -> None:
    trial = trial_of(store, traces(span("run", agent())))
    assert (trial.trial_id, trial.session_id, trial.joined_by) == (trace_id("a").hex(), None, "trace")


def test_30_a_session_of_several_traces_is_one_trial(store: Store) -> None:
    session = {"gen_ai.conversation.id": "s"}
    put(
        store,
        traces(span("first", agent() | session), span("pay", tool("pay", A, "ok", "c1"), parent="first", at=0.2)),
        traces(span("second", agent() | session, trace="b", at=60)),
    )
    (trial,) = read_trials(store, Filter(sessions=("s",)))
    assert [step.name for step in trial.steps] == ["first", "pay", "second"]
    assert len(trial.trace_ids) == 2
    assert len(list(read_trials(store, unit="trace"))) == 2


def test_32_what_a_tool_was_given_and_gave_back_is_read_from_span_events(store: Store) -> None:
    events = (
        event("gen_ai.tool.message", {"content": json.dumps(A), "role": "tool", "id": "c1"}),
        event("gen_ai.choice", {"message": json.dumps([{"text": "paid"}]), "id": "c1"}),
    )
    bare = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay"}
    (call,) = trial_of(store, traces(span("pay", bare, events=events))).tool_calls
    assert (call.call_id, call.arguments, call.result, call.executed) == ("c1", A, "paid", "yes")
    assert (call.arguments_source, call.result_source) == ("span", "span")


def test_33_a_tool_that_only_messages_tell_of_was_called(store: Store) -> None:
    ask = asked("pay", A, "c1")
    put(
        store,
        traces(span("chat", chat([USER], [ask]), key="m1", trace="a")),
        traces(span("chat", chat([USER, ask, told("paid", "c1")], [said("assistant", "Done.")]), trace="b", at=2)),
    )
    (trial,) = read_trials(store)
    (call,) = trial.tool_calls
    assert (call.name, call.executed, call.result_source, trial.joined_by) == ("pay", "yes", "message", "history")


def test_36_a_flat_trace_without_tool_spans_is_tolerated_and_its_gaps_are_told(store: Store) -> None:
    first = {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["tool_calls"]}
    second = {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["stop"]}
    trial = trial_of(store, traces(span("chat", first, key="m1"), span("chat", second, key="m2", at=2)))
    assert trial.tool_calls == ()
    assert (trial.completeness.calls_whole, trial.completeness.content) == (False, "not_captured")
    assert trial.completeness.unmetered_calls == 2


def test_36_events_that_name_no_span_still_tell_of_their_inference(store: Store) -> None:
    details = chat([USER], [asked("pay", A, "c1")])
    trial = trial_of(
        store,
        traces(span("run", agent(), seconds=9)),
        logs(log_record("gen_ai.client.inference.operation.details", details, at=1)),
    )
    (call,) = trial.tool_calls
    assert (call.name, call.arguments, call.executed) == ("pay", A, "unknown")


def test_37_a_tool_span_is_linked_to_the_inference_that_asked_by_call_id(store: Store) -> None:
    trial = trial_of(
        store,
        traces(
            span("run", agent(), seconds=20),
            span("chat", chat([USER], [asked("pay", A, "c1")]), key="m1", parent="run"),
            span("chat", chat([USER], [asked("pay", A, "c2")]), key="m2", parent="run", at=2),
            span("pay", tool("pay", A, "late", "c1"), key="x1", parent="run", at=6),
            span("pay", tool("pay", A, "soon", "c2"), key="x2", parent="run", at=4),
        ),
    )
    models = [step.span_id for step in trial.steps if step.kind == "model_call"]
    assert [(call.result, call.asked_by) for call in trial.tool_calls] == [("late", models[0]), ("soon", models[1])]


def test_37_without_content_the_latest_inference_before_it_asked(store: Store) -> None:
    bare = {"gen_ai.operation.name": "chat"}
    trial = trial_of(
        store,
        traces(
            span("run", agent(), seconds=20),
            span("chat", bare, key="m1", parent="run"),
            span("look", tool("look"), parent="run", at=2),
            span("chat", bare, key="m2", parent="run", at=4),
            span("chat", bare, key="m3", parent="run", at=6, error="gone"),
            span("pay", tool("pay"), parent="run", at=8),
            span("chat", bare, key="m4", parent="run", at=10),
        ),
    )
    models = [step.span_id for step in trial.steps if step.kind == "model_call"]
    assert [(call.name, call.asked_by) for call in trial.tool_calls] == [("look", models[0]), ("pay", models[1])]


def test_37_a_tool_that_ran_before_any_inference_was_asked_for_by_none(store: Store) -> None:
    trial = trial_of(
        store,
        traces(
            span("run", agent(), seconds=20),
            span("pay", tool("pay", A, "ok"), parent="run", at=1),
            span("chat", chat([USER], [said("assistant", "Done.")]), key="m1", parent="run", at=4),
        ),
    )
    assert [call.asked_by for call in trial.tool_calls] == [None]
