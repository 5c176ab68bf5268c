"""Which spans form a trial."""

from spanproof_collector.model.filters import Filter
from spanproof_collector.store import Store
from spanproof_collector.trials import read_trials, reindex
from tests.factories import SECOND, T0, agent, asked, chat, said, span, told, tool, traces
from tests.storing import put, trial_of, trials_of

REFUND = {"order_id": "O-1"}


def test_spans_with_one_trial_label_are_one_trial_across_traces(store: Store) -> None:
    label = {"spanproof.trial.id": "t-1", "spanproof.task.id": "refund", "spanproof.trial.attempt": 2}
    trial = trial_of(
        store,
        traces(span("run", agent(**label), trace="a")),
        traces(span("tool", tool("pay", **label), trace="b", at=1)),
    )
    assert (trial.trial_id, trial.joined_by, len(trial.trace_ids)) == ("t-1", "label", 2)
    assert (trial.task_id, trial.attempt) == ("refund", 2)


def test_a_child_takes_the_label_of_its_nearest_ancestor(store: Store) -> None:
    found = trials_of(
        store,
        traces(
            span("suite", agent()),
            span("one", agent(**{"spanproof.trial.id": "t-1"}), parent="suite", at=1),
            span("tool one", tool("pay"), key="1", parent="one", at=2),
            span("two", agent(**{"spanproof.trial.id": "t-2"}), parent="suite", at=3),
            span("tool two", tool("mail"), key="2", parent="two", at=4),
        ),
    )
    assert {trial.trial_id: [call.name for call in trial.tool_calls] for trial in found} == {
        "t-1": ["pay"],
        "t-2": ["mail"],
    }


def test_labels_of_the_resource_hold_for_its_spans(store: Store) -> None:
    labeled = {
        "service.name": "cli",
        "spanproof.trial.id": "t-1",
        "spanproof.task.id": "fix",
        "spanproof.label.team": "a",
    }
    trial = trial_of(
        store,
        traces(span("run", agent(), trace="a"), resource=labeled),
        traces(span("pay", tool("pay") | {"spanproof.task.id": "other"}, trace="b", at=1), resource=labeled),
    )
    assert (trial.trial_id, trial.joined_by, trial.task_id, trial.labels) == ("t-1", "label", "fix", {"team": "a"})
    before = list(read_trials(store, Filter(tasks=("fix",))))
    reindex(store)
    assert list(read_trials(store, Filter(tasks=("fix",)))) == before == [trial]


def test_spans_of_one_session_are_one_trial_across_traces(store: Store) -> None:
    session = {"gen_ai.conversation.id": "c-1"}
    trial = trial_of(
        store,
        traces(span("turn 1", agent(**session), trace="a"), span("pay", tool("pay"), trace="a", parent="turn 1")),
        traces(span("turn 2", agent(**session), trace="b", at=5)),
    )
    assert (trial.trial_id, trial.session_id, trial.joined_by) == ("c-1", "c-1", "session")
    assert [call.name for call in trial.tool_calls] == ["pay"]


def test_the_conversation_id_outranks_the_session_id(store: Store) -> None:
    trial = trial_of(store, traces(span("run", agent(**{"session.id": "s", "gen_ai.conversation.id": "c"}))))
    assert trial.session_id == "c"


def test_without_session_or_label_a_trace_is_a_trial_and_no_session_is_invented(store: Store) -> None:
    found = trials_of(store, traces(span("run", agent(), trace="a")), traces(span("run", agent(), trace="b", key="r2")))
    assert [(trial.joined_by, trial.session_id) for trial in found] == [("trace", None)] * 2
    assert all(trial.trial_id == trial.trace_ids[0] for trial in found)


def test_a_session_splits_by_trace_on_request(store: Store) -> None:
    session = {"gen_ai.conversation.id": "c-1"}
    put(
        store,
        traces(span("turn 1", agent(**session), trace="a")),
        traces(span("turn 2", agent(**session), trace="b", at=5)),
    )
    assert [trial.session_id for trial in read_trials(store, unit="trace")] == ["c-1", "c-1"]


def _run(trace: str, at: float, *, call_id: str = "call-1") -> list[object]:
    """Two inferences as an LLM-only instrumentor writes them: a trace each, no session."""
    question = said("user", "Refund O-1")
    ask = asked("issue_refund", REFUND, call_id)
    return [
        traces(span("chat", chat([question], [ask]), trace=f"{trace}1", key=f"{trace}1", at=at)),
        traces(
            span(
                "chat",
                chat([question, ask, told("refunded", call_id)], [said("assistant", "I have refunded it.")]),
                trace=f"{trace}2",
                key=f"{trace}2",
                at=at + 2,
            )
        ),
    ]


def test_traces_without_a_session_join_by_a_shared_call(store: Store) -> None:
    trial = trial_of(store, *_run("a", 0))  # type: ignore[arg-type]
    assert (trial.joined_by, trial.session_id, len(trial.trace_ids)) == ("history", None, 2)
    (call,) = trial.tool_calls
    assert (call.result, call.result_source, call.executed) == ("refunded", "message", "yes")


def test_equal_conversations_run_twice_stay_two_trials(store: Store) -> None:
    found = trials_of(store, *_run("a", 0), *_run("b", 100))  # type: ignore[arg-type]
    assert [len(trial.trace_ids) for trial in found] == [2, 2]


def test_one_call_id_with_other_arguments_joins_nothing(store: Store) -> None:
    found = trials_of(
        store,
        traces(span("chat", chat([said("user", "x")], [asked("pay", {"n": 1}, "call-1")]), trace="a", key="1")),
        traces(
            span(
                "chat",
                chat([said("user", "y"), asked("pay", {"n": 2}, "call-1"), told("ok", "call-1")], []),
                trace="b",
                key="2",
                at=3,
            )
        ),
    )
    assert len(found) == 2


def test_a_conversation_without_tools_joins_where_its_history_is_extended(store: Store) -> None:
    hello, hi = said("user", "hello"), said("assistant", "hi")
    trial = trial_of(
        store,
        traces(span("chat", chat([hello], [hi]), trace="a", key="1")),
        traces(
            span("chat", chat([hello, hi, said("user", "bye")], [said("assistant", "bye")]), trace="b", key="2", at=2)
        ),
    )
    assert trial.joined_by == "history"


def test_a_resumed_run_without_session_joins_the_session_that_asked(store: Store) -> None:
    question, ask = said("user", "Refund"), asked("issue_refund", REFUND, "call-1")
    session = {"gen_ai.conversation.id": "c-1"}
    trial = trial_of(
        store,
        traces(
            span("run", agent(**session), trace="a"),
            span("chat", chat([question], [ask], **session), trace="a", key="1", parent="run"),
        ),
        traces(span("chat", chat([question, ask, told("ok", "call-1")], []), trace="b", key="2", at=9)),
    )
    assert (trial.trial_id, trial.session_id, trial.joined_by) == ("c-1", "c-1", "history")


def test_named_sessions_are_never_joined_by_history(store: Store) -> None:
    first, second = _run("a", 0)
    for request, session in ((first, "c-1"), (second, "c-2")):
        attribute = request.resource_spans[0].scope_spans[0].spans[0].attributes.add()  # type: ignore[attr-defined]
        attribute.key, attribute.value.string_value = "session.id", session
    assert len(trials_of(store, first, second)) == 2  # type: ignore[arg-type]


def test_a_filter_chooses_trials_and_never_cuts_one(store: Store) -> None:
    put(
        store,
        traces(
            span("run", agent("refunder", **{"session.id": "s-1", "spanproof.variant": "v1"}), trace="a", seconds=50),
            span("pay", tool("pay", {"amount": 12}, "paid"), trace="a", parent="run", at=40),
        ),
        traces(span("run", agent("other", **{"session.id": "s-2"}), trace="b", key="r2", at=100)),
    )

    def ids(wanted: Filter) -> list[str]:
        return [trial.trial_id for trial in read_trials(store, wanted)]

    assert ids(Filter(tools=("pay",))) == ["s-1"]
    assert ids(Filter(agents=("other",))) == ["s-2"]
    assert ids(Filter(variants=("v1", "v2"))) == ["s-1"]
    assert ids(Filter(sessions=("s-2",))) == ["s-2"]
    assert ids(Filter(trials=("s-2",))) == ["s-2"]
    assert ids(Filter(texts=("PAID",))) == ["s-1"]
    assert ids(Filter(until=T0 + 60 * SECOND)) == ["s-1"]
    assert ids(Filter(since=T0 + 30 * SECOND)) == ["s-2"]
    assert ids(Filter(projects=("default",), tools=("pay",), agents=("other",))) == []


def test_a_filter_finds_calls_and_models_that_only_messages_and_logs_tell_of(store: Store) -> None:
    from tests.factories import log_record, logs

    call = chat([said("user", "x")], [asked("pay", {"n": 1}, "c1")])
    put(store, traces(span("chat", call, trace="a")))
    put(store, logs(log_record("gen_ai.client.inference.operation.details", call, trace="b", of="lost")))
    assert len(list(read_trials(store, Filter(tools=("pay",))))) == 2
    assert len(list(read_trials(store, Filter(models=("test-model",))))) == 2


def test_a_log_record_follows_its_span_into_the_trial(store: Store) -> None:
    from tests.factories import log_record, logs

    found = trials_of(
        store,
        traces(
            span("run 1", agent(**{"spanproof.trial.id": "t-1"}), key="1"),
            span("run 2", agent(**{"spanproof.trial.id": "t-2"}), key="2", at=2),
        ),
        logs(log_record("gen_ai.evaluation.result", {"gen_ai.evaluation.name": "helpful"}, of="2", at=3)),
    )
    assert {t.trial_id: [r.name for r in t.foreign_results] for t in found} == {"t-1": [], "t-2": ["helpful"]}
