"""One call counts once, however many spans and messages tell of it."""

from spanproof_collector.store import Store
from tests.factories import agent, asked, chat, log_record, logs, said, span, told, tool, traces
from tests.storing import trial_of

A, B = {"id": "A"}, {"id": "B"}
USER = said("user", "do it")


def test_a_call_told_by_ask_span_log_and_history_is_one(store: Store) -> None:
    ask = asked("pay", A, "c1")
    first, second = chat([USER], [ask]), chat([USER, ask, told("paid", "c1")], [said("assistant", "Paid.")])
    trial = trial_of(
        store,
        traces(
            span("run", agent(), seconds=9),
            span("chat", first, key="m1", parent="run"),
            span("pay", tool("pay", A, "paid", "c1"), parent="run", at=2),
            span("chat", second, key="m2", parent="run", at=4),
        ),
        logs(
            log_record("gen_ai.client.inference.operation.details", first, of="m1"),
            log_record("gen_ai.client.inference.operation.details", second, of="m2", at=4),
        ),
    )
    (call,) = trial.tool_calls
    assert (call.name, call.call_id, call.arguments, call.result) == ("pay", "c1", A, "paid")
    assert (call.arguments_source, call.result_source) == ("span", "span")


def test_arguments_and_result_are_recovered_from_messages_and_marked(store: Store) -> None:
    ask = asked("pay", A, "c1")
    trial = trial_of(
        store,
        traces(
            span("chat", chat([USER], [ask]), key="m1"),
            span("pay", tool("pay", call_id="c1"), parent="m1", at=2),
            span("chat", chat([USER, ask, told({"ok": True}, "c1")], []), key="m2", parent="m1", at=4),
        ),
    )
    (call,) = trial.tool_calls
    assert (call.arguments, call.arguments_source) == (A, "message")
    assert (call.result, call.result_source) == ({"ok": True}, "message")


def test_calls_are_listed_in_the_order_of_asking_not_of_running(store: Store) -> None:
    both = {
        "role": "assistant",
        "parts": [
            {"type": "tool_call", "name": "first", "id": "c1", "arguments": A},
            {"type": "tool_call", "name": "second", "id": "c2", "arguments": B},
        ],
    }
    trial = trial_of(
        store,
        traces(
            span("chat", chat([USER], [both]), key="m1"),
            span("second", tool("second", B, "2", "c2"), parent="m1", at=2),
            span("first", tool("first", A, "1", "c1"), parent="m1", at=3),
        ),
    )
    assert [(call.name, call.result) for call in trial.tool_calls] == [("first", "1"), ("second", "2")]


def test_spans_without_ids_match_by_equal_arguments_then_by_order(store: Store) -> None:
    def ask(arguments: dict[str, str], call_id: str) -> dict[str, object]:
        return {"type": "tool_call", "name": "look", "id": call_id, "arguments": arguments}

    trial = trial_of(
        store,
        traces(
            span(
                "chat",
                chat([USER], [{"role": "assistant", "parts": [ask(A, "c1"), ask(B, "c2"), ask(A, "c3")]}]),
                key="m1",
            ),
            span("look", tool("look", B, "b"), key="t1", parent="m1", at=2),
            span("look", tool("look", A, "a1"), key="t2", parent="m1", at=3),
            span("look", tool("look", A, "a2"), key="t3", parent="m1", at=4),
        ),
    )
    assert [(c.call_id, c.result) for c in trial.tool_calls] == [("c1", "a1"), ("c2", "b"), ("c3", "a2")]


def test_a_reused_call_id_with_other_arguments_is_another_call(store: Store) -> None:
    one, two = asked("pay", A, "call_0"), asked("pay", B, "call_0")
    trial = trial_of(
        store,
        traces(
            span("chat", chat([USER], [one]), key="m1"),
            span("chat", chat([USER, one, told("ok A", "call_0")], [two]), key="m2", parent="m1", at=2),
            span(
                "chat",
                chat([USER, one, told("ok A", "call_0"), two, told("ok B", "call_0")], [said("assistant", "Done.")]),
                key="m3",
                parent="m1",
                at=4,
            ),
        ),
    )
    assert [(call.arguments, call.result) for call in trial.tool_calls] == [(A, "ok A"), (B, "ok B")]


def test_the_same_call_asked_twice_is_two_calls(store: Store) -> None:
    one, two = asked("poll", A, "c1"), asked("poll", A, "c2")
    trial = trial_of(
        store,
        traces(
            span("chat", chat([USER], [one]), key="m1"),
            span("poll", tool("poll", A, "wait"), key="t1", parent="m1", at=1),
            span("chat", chat([USER, one, told("wait", "c1")], [two]), key="m2", parent="m1", at=2),
            span("poll", tool("poll", A, "ready"), key="t2", parent="m1", at=3),
        ),
    )
    assert [(c.call_id, c.result) for c in trial.tool_calls] == [("c1", "wait"), ("c2", "ready")]


def test_a_paused_call_that_goes_on_in_another_span_is_one_call(store: Store) -> None:
    trial = trial_of(
        store,
        traces(
            span("chat", chat([USER], [asked("issue_refund", A, "c1")]), key="m1"),
            span("issue_refund", tool("issue_refund", A), key="t1", parent="m1", at=2),
            span("issue_refund", tool("issue_refund", A, "refunded"), key="t2", parent="m1", at=60),
        ),
    )
    (call,) = trial.tool_calls
    assert (call.executed, call.effect.state, len(call.span_ids)) == ("yes", "reported", 2)


def test_protocol_spans_beneath_a_tool_span_tell_of_the_same_call(store: Store) -> None:
    mcp = {"mcp.method.name": "tools/call"}
    trial = trial_of(
        store,
        traces(
            span("execute_tool pay", tool("pay", A, "paid", "c1"), key="outer"),
            span("MCP send tools/call pay", mcp, key="client", parent="outer"),
            span("tools/call pay", tool("pay", **mcp), key="server", parent="client"),
        ),
    )
    (call,) = trial.tool_calls
    assert (call.call_id, call.executed) == ("c1", "yes")


def test_a_call_whose_asking_was_lost_is_still_counted_once(store: Store) -> None:
    ask = asked("pay", A, "c1")
    history = [USER, ask, told("paid", "c1")]
    trial = trial_of(
        store,
        traces(
            span("chat", chat(history, [said("assistant", "Paid.")]), key="m2", at=2),
            span(
                "chat",
                chat([*history, said("assistant", "Paid."), said("user", "thanks")], []),
                key="m3",
                parent="m2",
                at=4,
            ),
        ),
    )
    assert [(call.name, call.result) for call in trial.tool_calls] == [("pay", "paid")]


def test_calls_without_any_ids_pair_in_order(store: Store) -> None:
    one, two = asked("look", A), asked("look", B)
    trial = trial_of(
        store,
        traces(
            span("chat", chat([USER], [one]), key="m1"),
            span("chat", chat([USER, one, told("a")], [two]), key="m2", parent="m1", at=2),
            span("chat", chat([USER, one, told("a"), two, told("b")], []), key="m3", parent="m1", at=4),
        ),
    )
    assert [(call.arguments, call.result) for call in trial.tool_calls] == [(A, "a"), (B, "b")]
