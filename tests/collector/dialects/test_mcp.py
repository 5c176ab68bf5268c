"""Model Context Protocol: two sides of a call beneath the agent's own, or the server's side alone."""

import pytest

from spanproof_collector.store import Store
from tests.factories import agent, span, tool, traces
from tests.storing import trial_of, trials_of

SESSION = {"gen_ai.conversation.id": "c-1"}


def _served(name: str, **more: object) -> dict[str, object]:
    return {"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name} | more


def test_agent_client_and_server_tell_of_one_call(store: Store) -> None:
    trial = trial_of(
        store,
        traces(span("tools/call pay", _served("pay"), key="server", parent="client", at=2)),  # arrives first
        traces(
            span("run", agent(**SESSION), seconds=9),
            span("execute_tool pay", tool("pay", {"id": 1}, "paid", "c1"), key="agent", parent="run", at=1),
            span("MCP send tools/call pay", {"mcp.method.name": "tools/call"}, key="client", parent="agent", at=1.5),
        ),
    )
    (call,) = trial.tool_calls
    assert (call.call_id, call.result, call.effect.state) == ("c1", "paid", "reported")


@pytest.mark.parametrize(
    ("more", "error", "executed", "state"),
    [
        ({}, None, "yes", "reported"),
        ({"error.type": "tool_error"}, "", "unknown", "unknown"),
        ({"error.type": "tool_error"}, None, "unknown", "unknown"),
        ({"error.type": "-32602", "rpc.response.status_code": "-32602"}, "", "no", "none"),
        ({"rpc.response.status_code": -32603}, None, "unknown", "unknown"),
    ],
)
def test_the_server_says_whether_its_tool_ran(
    more: dict[str, object], error: str | None, executed: str, state: str, store: Store
) -> None:
    trial = trial_of(
        store,
        traces(
            span("run", agent(**SESSION)), span("tools/call pay", _served("pay", **more), parent="run", error=error)
        ),
    )
    (call,) = trial.tool_calls
    assert (call.executed, call.effect.state) == (executed, state)


def test_the_clients_side_alone_proves_nothing(store: Store) -> None:
    client = span("MCP send tools/call pay", {"mcp.method.name": "tools/call"}, parent="run")
    (call,) = trial_of(store, traces(span("run", agent(**SESSION)), client)).tool_calls
    assert (call.name, call.executed, call.effect.state) == ("pay", "unknown", "unknown")


def test_a_protocols_own_trace_goes_to_the_run_during_which_it_happened(store: Store) -> None:
    notice = span("notifications/initialized", {"mcp.method.name": "notifications/initialized"}, trace="n", at=2)
    (trial,) = trials_of(store, traces(span("run", agent(**SESSION), seconds=9)), traces(notice))
    assert (trial.session_id, len(trial.trace_ids), trial.joined_by) == ("c-1", 2, "session")


def test_where_two_runs_went_on_a_protocols_own_trace_is_neithers(store: Store) -> None:
    notice = span("notifications/initialized", {"mcp.method.name": "notifications/initialized"}, trace="n", at=2)
    runs = [span("run", agent(**{"gen_ai.conversation.id": name}), trace=name, key=name, seconds=9) for name in "xy"]
    found = trials_of(store, traces(*runs), traces(notice))
    assert sorted(len(trial.trace_ids) for trial in found) == [1, 1, 1]
