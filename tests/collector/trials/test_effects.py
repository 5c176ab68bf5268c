"""What a call may have changed, and what is known of it."""

import json

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanproof_collector.model.trials import EffectClass, Trial
from spanproof_collector.store import Store
from spanproof_collector.trials import infer_class
from tests.factories import agent, asked, chat, event, said, span, told, tool, traces
from tests.storing import trial_of

A = {"id": "A"}
KEYS: dict[str, object] = {
    "spanproof.effect.class": "write",
    "spanproof.effect.destination": "shop.db",
    "spanproof.effect.resource": "refunds/O-1",
}


def _one(store: Store, attributes: dict[str, object], *, error: str | None = None, **rest: object) -> Trial:
    return trial_of(store, traces(span("run", agent(), seconds=9), span("t", attributes, parent="run", error=error)))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lookup_order", "read"),
        ("getUserDetails", "read"),
        ("order_status", "read"),
        ("email_search", "read"),
        ("issue_refund", "write"),
        ("sendMail", "write"),
        ("book_flight", "write"),
        ("mcp__shop__refund_order", "write"),
        ("files.delete", "destructive"),
        ("drop-table", "destructive"),
        ("transfer_to_billing_agent", "handoff"),
        ("transfer_to_human_agents", "handoff"),
        ("transfer_to_savings", "write"),
        ("escalate_privileges", "unclassified"),
        ("transfer_funds", "write"),
        ("set_order_status", "write"),
        ("share_list", "write"),
        ("get_or_create_customer", "write"),
        ("find_and_replace", "write"),
        ("search_and_delete", "destructive"),
        ("check_and_charge", "write"),
        ("list_open_orders", "read"),
        ("get_transfer_history", "read"),
        ("execute_sql_query", "unclassified"),
        ("run_query", "unclassified"),
        ("bash", "unclassified"),
        ("", "unclassified"),
    ],
)
def test_a_name_suggests_a_class_or_none(name: str, expected: EffectClass) -> None:
    assert infer_class(name) == expected


def test_a_transfer_that_hands_over_nothing_but_a_reason_is_a_handoff() -> None:
    assert infer_class("transfer_to_billing", {}) == "handoff"
    assert infer_class("transfer_to_billing", {"reason": "wants a refund"}) == "handoff"
    assert infer_class("transfer_to_savings", {"amount": 5}) == "write"


def test_a_declared_class_outranks_hints_and_names(store: Store) -> None:
    trial = _one(store, tool("get_refund", A, "ok", **{"spanproof.effect.class": "write"}))
    effect = trial.tool_calls[0].effect
    assert (effect.effect_class, effect.class_source, effect.state) == ("write", "declared", "reported")


def test_mcp_annotations_outrank_names(store: Store) -> None:
    definitions = '[{"name": "do_it", "annotations": {"readOnlyHint": false, "destructiveHint": true}}]'
    trial = trial_of(
        store,
        traces(
            span("chat", chat([], [asked("do_it", A, "c1")], **{"gen_ai.tool.definitions": definitions}), key="m1"),
            span("do_it", tool("do_it", A, "ok", "c1"), parent="m1", at=2),
        ),
    )
    effect = trial.tool_calls[0].effect
    assert (effect.effect_class, effect.class_source) == ("destructive", "mcp")


def test_a_tool_that_says_it_worked_is_reported_and_not_verified(store: Store) -> None:
    call = _one(store, tool("pay", A, "paid")).tool_calls[0]
    assert (call.executed, call.effect.state, call.effect.reason) == ("yes", "reported", "tool_reported")


@pytest.mark.parametrize(
    ("error_type", "message", "executed", "state"),
    [
        ("TimeoutError", "timed out", "unknown", "unknown"),
        ("_OTHER", "details are redacted", "unknown", "unknown"),
        ("tool_error", "", "unknown", "unknown"),
        ("ValidationError", "1 validation error for RefundResponse", "unknown", "unknown"),
        ("OperationalError", "connection lost during COMMIT, schema public", "unknown", "unknown"),
        ("ToolError", "Invalid arguments for tool pay: amount is required", "no", "none"),
        ("-32602", "Invalid params", "no", "none"),
        ("ToolNotFound", "unknown tool: pay", "no", "none"),
    ],
)
def test_a_failed_write_is_unknown_unless_it_never_began(
    store: Store, error_type: str, message: str, executed: str, state: str
) -> None:
    call = _one(store, tool("pay", A, **{"error.type": error_type}), error=message).tool_calls[0]
    assert (call.executed, call.effect.state) == (executed, state)


def test_a_write_without_a_result_is_unknown(store: Store) -> None:
    call = _one(store, tool("pay", A)).tool_calls[0]
    assert (call.executed, call.effect.state, call.effect.reason) == ("unknown", "unknown", "no_result")


def test_a_write_whose_content_was_not_captured_is_unknown(store: Store) -> None:
    call = _one(store, tool("pay")).tool_calls[0]
    assert (call.effect.state, call.effect.reason, call.arguments_source) == ("unknown", "not_recorded", None)


def test_a_read_has_no_effect_whatever_became_of_it(store: Store) -> None:
    assert _one(store, tool("lookup", A), error="timed out").tool_calls[0].effect.state == "none"


def test_an_error_told_in_the_result_of_a_message_is_unknown(store: Store) -> None:
    ask = asked("pay", A, "c1")
    trial = trial_of(
        store,
        traces(
            span("chat", chat([said("user", "x")], [ask]), key="m1"),
            span(
                "chat", chat([said("user", "x"), ask, told("Error: timed out", "c1")], []), key="m2", parent="m1", at=2
            ),
        ),
    )
    assert (trial.tool_calls[0].effect.state, trial.tool_calls[0].effect.reason) == ("unknown", "error_text")


def test_a_call_that_a_person_denied_did_not_run(store: Store) -> None:
    ask = asked("pay", A, "c1")
    trial = trial_of(
        store,
        traces(
            span("chat", chat([said("user", "x")], [ask]), key="m1"),
            span("pay", tool("pay", A), parent="m1", at=1),
            span(
                "chat",
                chat([said("user", "x"), ask, told("Tool execution was not approved.", "c1")], []),
                key="m2",
                parent="m1",
                at=2,
            ),
        ),
    )
    assert (trial.tool_calls[0].executed, trial.tool_calls[0].effect.state) == ("no", "refused")


def test_a_result_that_speaks_of_a_denial_is_still_a_result(store: Store) -> None:
    call = _one(store, tool("submit_claim", A, "The request was denied by the insurer, case 12 closed.")).tool_calls[0]
    assert (call.executed, call.effect.state) == ("yes", "reported")


def test_a_deliberate_refusal_is_no_failure(store: Store) -> None:
    refused = event(
        "spanproof.refusal", {"spanproof.refusal.reason": "over the limit", "spanproof.refusal.by": "policy"}
    )
    trial = trial_of(store, traces(span("pay", tool("pay", A), events=[refused])))
    call = trial.tool_calls[0]
    assert (call.executed, call.effect.state, call.error) == ("no", "refused", "over the limit")
    assert [item.by for item in trial.refusals] == ["policy"]


@pytest.mark.parametrize("state", ["verified", "failed"])
def test_a_receipt_settles_the_effect_over_what_the_tool_said(store: Store, state: str) -> None:
    receipt = event("spanproof.receipt", {"spanproof.receipt.state": state, "spanproof.receipt.observer": "sqlite"})
    trial = trial_of(store, traces(span("pay", tool("pay", A, "paid", **KEYS), events=[receipt])))
    call = trial.tool_calls[0]
    assert (call.effect.state, call.effect.reason, call.effect.resolved_by) == (state, "receipt", call.span_ids[0])


def test_a_later_reconciling_read_settles_an_unknown_effect(store: Store) -> None:
    receipt = event(
        "spanproof.receipt",
        {
            "spanproof.receipt.state": "verified",
            "spanproof.effect.destination": "shop.db",
            "spanproof.effect.resource": "refunds/O-1",
        },
        at=5,
    )
    trial = trial_of(
        store,
        traces(
            span("run", agent(), seconds=9),
            span("pay", tool("pay", A, **KEYS), parent="run", error="timed out"),
            span("get_refund", tool("get_refund", A, "found"), parent="run", at=5, events=[receipt]),
        ),
    )
    pay, read = trial.tool_calls
    assert (pay.effect.state, pay.effect.resolved_by) == ("verified", read.span_ids[0])
    assert read.effect.state == "none"


REFUND_SEEN = {
    "spanproof.receipt.state": "verified",
    "spanproof.effect.destination": "shop.db",
    "spanproof.effect.resource": "refunds/O-1",
    "spanproof.receipt.pre_state": "0 rows",
    "spanproof.receipt.post_state": "1 row",
}


def test_a_read_that_saw_what_a_write_did_is_still_a_read(store: Store) -> None:
    trial = trial_of(
        store,
        traces(
            span("run", agent(), seconds=9),
            span("pay", tool("pay", A, **KEYS), parent="run", error="timed out"),
            span(
                "get_refund",
                tool("get_refund", A, "found", **KEYS | {"spanproof.effect.class": "read"}),
                parent="run",
                at=5,
                events=[event("spanproof.receipt", REFUND_SEEN, at=5)],
            ),
        ),
    )
    pay, read = trial.tool_calls
    assert (pay.effect.state, read.effect.effect_class, read.effect.state) == ("verified", "read", "none")


def test_one_row_seen_proves_one_of_two_attempts_without_a_key(store: Store) -> None:
    trial = trial_of(
        store,
        traces(
            span("run", agent(), seconds=9),
            span("pay", tool("pay", A, call_id="c1", **KEYS), key="p1", parent="run", error="timed out"),
            span("pay", tool("pay", A, "ok", call_id="c2", **KEYS), key="p2", parent="run", at=2),
            span(
                "get_refund",
                tool("get_refund", A, "found"),
                parent="run",
                at=5,
                events=[event("spanproof.receipt", REFUND_SEEN, at=5)],
            ),
        ),
    )
    assert [call.effect.state for call in trial.tool_calls] == ["unknown", "verified", "none"]


def test_what_a_second_attempt_found_in_place_is_the_work_of_the_first(store: Store) -> None:
    found = event("spanproof.receipt", REFUND_SEEN | {"spanproof.receipt.post_state": "0 rows"}, at=3)
    added = event("spanproof.receipt", REFUND_SEEN | {"spanproof.receipt.observed": "row 2"}, at=3)
    trial = trial_of(
        store,
        traces(
            span("run", agent(), seconds=9),
            span("pay", tool("pay", A, call_id="c1", **KEYS), key="p1", parent="run", error="timed out"),
            span(
                "pay", tool("pay", A, "ok", call_id="c2", **KEYS), key="p2", parent="run", at=2, events=[found, added]
            ),
        ),
    )
    assert [call.effect.state for call in trial.tool_calls] == ["verified", "verified"]
    assert [[receipt.observed for receipt in call.receipts] for call in trial.tool_calls] == [[None], ["row 2"]]


def test_an_idempotency_key_makes_two_attempts_one_effect(store: Store) -> None:
    keyed = KEYS | {"spanproof.effect.idempotency_key": "k1"}
    seen = event("spanproof.receipt", REFUND_SEEN | {"spanproof.effect.idempotency_key": "k1"}, at=5)
    trial = trial_of(
        store,
        traces(
            span("run", agent(), seconds=9),
            span("pay", tool("pay", A, call_id="c1", **keyed), key="p1", parent="run", error="timed out"),
            span("pay", tool("pay", A, "ok", call_id="c2", **keyed), key="p2", parent="run", at=2),
            span("get_refund", tool("get_refund", A, "found"), parent="run", at=5, events=[seen]),
        ),
    )
    assert [call.effect.state for call in trial.tool_calls] == ["verified", "verified", "none"]


def test_a_receipt_for_another_resource_settles_nothing(store: Store) -> None:
    receipt = event(
        "spanproof.receipt",
        {
            "spanproof.receipt.state": "verified",
            "spanproof.effect.destination": "shop.db",
            "spanproof.effect.resource": "refunds/O-2",
        },
        at=5,
    )
    trial = trial_of(
        store,
        traces(
            span("pay", tool("pay", A, **KEYS), error="timed out"),
            span("check", {"gen_ai.operation.name": "plan"}, parent="pay", at=5, events=[receipt]),
        ),
    )
    assert trial.tool_calls[0].effect.state == "unknown"
    assert len(trial.receipts) == 1


def test_the_latest_receipt_stands(store: Store) -> None:
    seen = [
        event("spanproof.receipt", {"spanproof.receipt.state": "failed"}, at=1),
        event("spanproof.receipt", {"spanproof.receipt.state": "verified"}, at=2),
    ]
    trial = trial_of(store, traces(span("pay", tool("pay", A, "ok", **KEYS), events=seen[::-1])))
    assert trial.tool_calls[0].effect.state == "verified"


def test_a_read_that_changed_state_is_an_effect(store: Store) -> None:
    receipt = event(
        "spanproof.receipt",
        {
            "spanproof.receipt.state": "verified",
            "spanproof.receipt.pre_state": "3 unread",
            "spanproof.receipt.post_state": "0 unread",
        },
    )
    trial = trial_of(store, traces(span("read_mail", tool("read_mail", A, "3 mails"), events=[receipt])))
    effect = trial.tool_calls[0].effect
    assert (effect.effect_class, effect.class_source, effect.state) == ("write", "observed", "verified")


def test_a_receipt_without_a_state_is_no_receipt(store: Store) -> None:
    trial = trial_of(store, traces(span("pay", tool("pay", A, "ok"), events=[event("spanproof.receipt", {})])))
    assert trial.tool_calls[0].effect.state == "reported"
    assert trial.receipts == ()


@pytest.mark.parametrize(
    "result",
    [
        "Error: the payment service timed out",
        "An error occurred while running the tool. Please try again.",
        {"error": "timed out"},
        {"status": "timeout"},
        {"ok": False},
        [{"type": "text", "text": "TimeoutError: no answer"}],
        [{"type": "text", "text": "Error: timed out"}, {"type": "text", "text": "try again"}],
        {"status": "timed_out"},
        {"status": "cancelled", "message": "by the user"},
        {"statusCode": 503},
        {"result": {"error": "timeout"}},
        "The refund request timed out",
        "HTTP 504 Gateway Timeout",
        "500 Internal Server Error",
        "Connection reset by peer",
        "Tool call cancelled by user",
        "Permission denied",
    ],
)
def test_a_result_that_tells_of_an_error_leaves_the_effect_unknown(store: Store, result: object) -> None:
    call = _one(store, tool("pay", A, result)).tool_calls[0]
    assert (call.executed, call.effect.state, call.effect.reason) == ("unknown", "unknown", "error_text")


@pytest.mark.parametrize("answer", ["User declined the offer; refund of $20 issued", "Denied boarding: refund issued"])
def test_an_answer_that_begins_like_a_refusal_and_goes_on_is_a_result(store: Store, answer: str) -> None:
    ask = asked("pay", A, "c1")
    trial = trial_of(store, traces(span("chat", chat([said("user", "x"), ask, told(answer, "c1")], []))))
    assert (trial.tool_calls[0].executed, trial.tool_calls[0].effect.state) == ("yes", "reported")


@pytest.mark.parametrize("placeholder", ["[REDACTED]", "<redacted>", "***"])
def test_a_placeholder_is_no_result(store: Store, placeholder: str) -> None:
    call = _one(store, tool("pay", A, placeholder)).tool_calls[0]
    assert (call.executed, call.effect.state) == ("unknown", "unknown")


@pytest.mark.parametrize(
    "result",
    [
        "No errors found",
        "Order 500 shipped to 12 Main Street",
        {"status": "succeeded", "error": None},
        {"status": "cancelled", "order_id": "W1", "items": []},
        {"errors": []},
        "",
        [],
    ],
)
def test_a_result_that_only_mentions_errors_is_a_result(store: Store, result: object) -> None:
    call = _one(store, tool("pay", A, result)).tool_calls[0]
    assert (call.executed, call.effect.state) == ("yes", "reported")


def test_a_result_that_was_encoded_twice_is_opened(store: Store) -> None:
    call = _one(store, tool("pay", A, '"{\\"id\\": 7}"')).tool_calls[0]
    assert call.result == {"id": 7}


# --- what an environment showed ---------------------------------------------------------------------------------------


def _replayed(store: Store, calls: object, *spans: Span) -> Trial:
    """A trial of these spans whose recording says of each call whether it changed the environment."""
    told = {"spanproof.recorded_changes.actual": "[]", "spanproof.recorded_changes.calls": json.dumps(calls)}
    root = span("run", agent(), seconds=99, events=[event("spanproof.recorded_changes", told, at=99)])
    return trial_of(store, traces(root, *spans))


def _ran(name: str, at: int, result: object = "ok", **attributes: object) -> Span:
    return span(name, tool(name, A, result, **attributes), key=f"s{at}", parent="run", at=at)


def _row(number: int, name: str, *, changed: bool) -> dict[str, object]:
    return {"call": number, "tool": name, "changed": changed}


def _states(trial: Trial) -> list[tuple[str, str, str]]:
    return [(call.effect.effect_class, call.effect.state, call.effect.reason) for call in trial.tool_calls]


def test_an_environment_that_was_watched_settles_every_call(store: Store) -> None:
    names = ["pay", "look_up", "frobnicate", "pay", "read_mail", "twiddle"]
    changed = [True, False, False, False, True, True]
    rows = [_row(at, name, changed=did) for at, (name, did) in enumerate(zip(names, changed, strict=True))]
    trial = _replayed(store, rows, *(_ran(name, at) for at, name in enumerate(names)))
    assert _states(trial) == [
        ("write", "verified", "recorded_change"),
        ("read", "none", "read"),
        ("unclassified", "none", "no_recorded_change"),
        ("write", "failed", "no_recorded_change"),
        ("write", "verified", "recorded_change"),
        ("write", "verified", "recorded_change"),
    ]
    effects = [call.effect for call in trial.tool_calls]
    assert [(effect.class_source, effect.taken_for) for effect in effects[4:]] == [
        ("observed", "read"),
        ("observed", "unclassified"),
    ]
    assert effects[0].resolved_by == trial.recorded_changes[0].span_id


def test_a_call_that_ended_in_an_error_and_changed_the_environment_took_place(store: Store) -> None:
    broken = span("pay", tool("pay", A), key="s1", parent="run", at=1, error="timed out")
    call = _replayed(store, [_row(0, "pay", changed=True)], broken).tool_calls[0]
    assert (call.executed, call.effect.state) == ("yes", "verified")


def test_a_refused_call_stays_refused_and_a_receipt_outranks_what_was_replayed(store: Store) -> None:
    denied = _ran("pay", 1, None)
    denied.events.append(event("spanproof.refusal", {"spanproof.refusal.by": "policy"}, at=1))
    seen = _ran("pay", 3)
    seen.events.append(event("spanproof.receipt", {"spanproof.receipt.state": "verified"}, at=3))
    rows = [_row(0, "pay", changed=False), _row(1, "pay", changed=False)]
    assert [each[1:] for each in _states(_replayed(store, rows, denied, seen))] == [
        ("refused", "refused"),
        ("verified", "receipt"),
    ]


@pytest.mark.parametrize(
    "rows",
    [
        [_row(0, "mail", changed=True)],
        [_row(7, "pay", changed=True)],
        [_row(-1, "pay", changed=True)],
        [_row(0, "pay", changed=True), _row(0, "pay", changed=True)],
        [{"tool": "mail", "changed": True}],
        [{"call": True, "tool": "pay", "changed": True}],
        [{"call": 0, "tool": "pay", "changed": 1}],
        [_row(0, "pay", changed=True), "torn"],
        {"call": 0},
        [],
    ],
)
def test_a_record_that_does_not_fit_the_calls_settles_nothing(store: Store, rows: object) -> None:
    assert _states(_replayed(store, rows, _ran("pay", 1), _ran("look_up", 3)))[0] == (
        "write",
        "reported",
        "tool_reported",
    )


def test_a_record_that_fits_in_two_ways_settles_nothing(store: Store) -> None:
    """The first call was refused: does the record count it, or only what ran?"""
    denied = _ran("pay", 1, None)
    denied.events.append(event("spanproof.refusal", {}, at=1))
    rows = [_row(0, "pay", changed=True), _row(1, "pay", changed=False)]
    trial = _replayed(store, rows, denied, _ran("pay", 3), _ran("pay", 5))
    assert [call.effect.state for call in trial.tool_calls] == ["refused", "reported", "reported"]


def test_a_record_may_count_the_users_calls_with_the_agents(store: Store) -> None:
    rows = [_row(0, "toggle_data", changed=True), _row(2, "pay", changed=True)]
    by_user = {"spanproof.tool.requestor": "user"}
    trial = _replayed(store, rows, _ran("toggle_data", 1, **by_user), _ran("look_up", 3), _ran("pay", 5))
    assert [call.effect.state for call in trial.tool_calls] == ["none", "verified"]
    assert [(call.name, call.effect.state) for call in trial.user_calls] == [("toggle_data", "verified")]


# --- requests that a tool made --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("requests", "state"),
    [
        pytest.param([({"http.request.method": "POST"}, "connection reset")], "unknown", id="no response"),
        pytest.param([({}, "connection reset")], "unknown", id="nobody says what it asked for"),
        pytest.param(
            [({"http.request.method": "POST", "http.response.status_code": 500}, "500")], "reported", id="a response"
        ),
        pytest.param([({"http.request.method": "GET"}, "connection reset")], "reported", id="a read"),
        pytest.param([({"db.operation.name": "select"}, "connection reset")], "reported", id="a query"),
        pytest.param([({"db.operation.name": "INSERT"}, "connection reset")], "unknown", id="an insert"),
        pytest.param(
            [({"http.request.method": "POST"}, "connection reset"), ({"http.request.method": "POST"}, None)],
            "reported",
            id="made again, and answered",
        ),
        pytest.param([({"http.request.method": "POST"}, None)], "reported", id="it went well"),
    ],
)
def test_a_request_of_a_tool_that_failed_without_a_response_leaves_its_effect_open(
    store: Store, requests: list[tuple[dict[str, object], str | None]], state: str
) -> None:
    """The tool says that all went well; the span of its outbound request knows better."""
    spans = [span("run", agent(), seconds=9), span("pay", tool("pay", A, "paid"), parent="run", seconds=8)]
    for at, (attributes, error) in enumerate(requests):
        made = span("POST", attributes, key=f"q{at}", parent="pay", at=at, error=error)
        made.kind = Span.SPAN_KIND_CLIENT
        spans.append(made)
    call = trial_of(store, traces(*spans)).tool_calls[0]
    assert (call.executed, call.effect.state) == ("yes", state)
    assert call.effect.reason == ("unanswered" if state == "unknown" else "tool_reported")


def test_an_inference_that_failed_within_a_tool_is_no_request_of_the_tools(store: Store) -> None:
    failed = span("chat", chat(None, None), parent="pay", error="connection reset")
    failed.kind = Span.SPAN_KIND_CLIENT
    trial = trial_of(
        store, traces(span("run", agent(), seconds=9), span("pay", tool("pay", A, "paid"), parent="run"), failed)
    )
    assert trial.tool_calls[0].effect.state == "reported"
