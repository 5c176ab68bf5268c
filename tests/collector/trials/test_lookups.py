"""Reconciling reads: what a later read says of a write, and where it says nothing."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanproof_collector.dialects import canonical
from spanproof_collector.model.readings import Absent
from spanproof_collector.model.tool_catalogue import EMPTY, ToolCatalogue
from spanproof_collector.model.trials import ToolCall
from spanproof_collector.model.values import Json
from spanproof_collector.store import Store
from spanproof_collector.trials import parse_catalogue, read_trials
from spanproof_collector.trials.effects.answers import (
    holds_arguments,
    holds_values,
    opened,
    says_absent,
    shows_fields,
)
from spanproof_collector.trials.effects.identity import scalars
from tests.factories import agent, event, span, tool, traces
from tests.storing import put

CHARGE = {"order_id": "A", "amount": 5, "idempotency_key": "k-1"}
PLAIN = {"order_id": "A", "amount": 5}
CATALOGUE = parse_catalogue(
    """
tools:
  - name: charge
    class: write
    destination: payments
    lookups:
      - {tool: "*_charge", match: {order_id: order_id}, shows: {status: [succeeded], amount: {argument: amount}}}
  - name: add_item
    class: write
    lookups: [{tool: find_items, match: {name: item.name}}]
  - name: drop_item
    class: destructive
    lookups: [{tool: find_items, match: {name: name}}]
  - {name: touch_everything, class: destructive}
  - name: create_ticket
    class: write
    lookups: [{tool: get_ticket, match: {id: {result: ticket.id}}}]
""",
    name="test.yaml",
)


def calls_of(store: Store, *spans: Span, catalogue: ToolCatalogue = EMPTY) -> list[ToolCall]:
    put(store, traces(span("run", agent(), seconds=99), *spans))
    (trial,) = read_trials(store, catalogue=catalogue)
    return list(trial.tool_calls)


def ran(
    name: str, arguments: object, result: object = None, *, at: float, error: str | None = None, **names: object
) -> Span:
    """Return a call that ran ``at`` seconds after the start, in a span that is named after that."""
    declared = {f"spanproof.effect.{key}": value for key, value in names.items()}
    return span(name, tool(name, arguments, result, **declared), key=f"s{at}", parent="run", at=at, error=error)


def settled(store: Store, *spans: Span, catalogue: ToolCatalogue = EMPTY) -> tuple[str, str, bool]:
    """Return state and reason of the first call, and whether a read settled it."""
    first, *rest = calls_of(store, *spans, catalogue=catalogue)
    by = first.effect.resolved_by
    return first.effect.state, first.effect.reason, by is not None and by in {one.span_ids[0] for one in rest}


# --- with a catalogue -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        pytest.param({"status": "succeeded", "amount": 5.0}, "verified", id="there, as it was meant to be"),
        pytest.param(
            [{"status": "failed", "amount": 5}, {"status": "succeeded", "amount": 5}], "verified", id="one is"
        ),
        pytest.param({"status": "succeeded", "amount": 6}, "failed", id="another amount"),
        pytest.param({"status": "succeeded", "amount": "5"}, "failed", id="a text is no number"),
        pytest.param({"status": "declined", "amount": 5}, "failed", id="declined"),
        pytest.param({"status": "processing", "amount": 5}, "unknown", id="not decided yet"),
        pytest.param({"status": "succeeded"}, "unknown", id="a field is not there"),
        pytest.param("Charge A: succeeded, 5", "unknown", id="words show nothing"),
        pytest.param([], "failed", id="none"),
        pytest.param("null", "failed", id="null"),
        pytest.param("No charges found", "failed", id="words that there is none"),
        pytest.param({"error": "charge not found"}, "failed", id="an error that there is none"),
        pytest.param({"error": "internal error"}, "unknown", id="another error"),
        pytest.param("Error: timed out", "unknown", id="no answer"),
    ],
)
def test_a_catalogued_lookup_settles_what_its_answer_shows(store: Store, answer: object, state: str) -> None:
    found = settled(
        store,
        ran("charge", PLAIN, at=1, error="timed out"),
        ran("get_charge", {"order_id": "A"}, answer, at=3),
        catalogue=CATALOGUE,
    )
    assert found == (state, "error" if state == "unknown" else "looked_up", state != "unknown")


def test_the_reads_that_looked_are_named_whatever_they_saw(store: Store) -> None:
    first, *reads = calls_of(
        store,
        ran("charge", PLAIN, at=1, error="timed out"),
        ran("get_charge", {"order_id": "A"}, {"status": "processing"}, at=3),
        ran("get_charge", {"order_id": "B"}, {"status": "succeeded", "amount": 5}, at=5),
        ran("find_charge", {"order_id": "A", "deep": True}, {"status": "succeeded", "amount": 5}, at=7),
        ran("get_charge", {"order_id": "A"}, at=9, error="timed out"),
        catalogue=CATALOGUE,
    )
    assert first.effect.looked_up_by == (reads[0].span_ids[0], reads[2].span_ids[0])
    assert (first.effect.state, first.effect.resolved_by, first.executed) == ("verified", reads[2].span_ids[0], "yes")


@pytest.mark.parametrize(
    ("spans", "why"),
    [
        ([ran("get_charge", {"order_id": "A"}, [], at=0)], "before the write"),
        ([ran("get_charge", {"order_id": "A"}, [], at=1.5)], "before the write was over"),
        ([ran("get_charge", {"order_id": "B"}, [], at=3)], "another order"),
        ([ran("get_charge", {"order": "A"}, [], at=3)], "another argument"),
        ([ran("get_charge", {"order_id": 0}, [], at=3)], "another type"),
        ([ran("get_charge", None, [], at=3)], "arguments not recorded"),
        ([ran("get_orders", {"order_id": "A"}, [], at=3)], "a read that the catalogue does not name"),
        ([ran("touch_everything", {}, "ok", at=3), ran("get_charge", {"order_id": "A"}, [], at=5)], "changed between"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_read_of_something_else_or_at_another_time_settles_nothing(store: Store, spans: list[Span], why: str) -> None:
    calls = calls_of(store, ran("charge", PLAIN, at=1, error="timed out"), *spans, catalogue=CATALOGUE)
    (write,) = [one for one in calls if one.name == "charge"]
    assert (write.effect.state, write.effect.resolved_by) == ("unknown", None), why


def test_the_last_read_that_shows_anything_stands(store: Store) -> None:
    look = {"order_id": "A"}
    found = settled(
        store,
        ran("charge", PLAIN, at=1, error="timed out"),
        ran("get_charge", look, [], at=3),
        ran("get_charge", look, {"status": "succeeded", "amount": 5}, at=5),
        ran("get_charge", look, "Error: timed out", at=7),
        catalogue=CATALOGUE,
    )
    assert found == ("verified", "looked_up", True)


def test_one_thing_seen_proves_the_latest_of_two_attempts(store: Store) -> None:
    calls = calls_of(
        store,
        ran("charge", PLAIN, at=1, error="timed out"),
        ran("charge", PLAIN, "ok", at=3),
        ran("get_charge", {"order_id": "A"}, {"status": "succeeded", "amount": 5}, at=5),
        catalogue=CATALOGUE,
    )
    assert [one.effect.state for one in calls] == ["unknown", "verified", "none"]


def test_that_nothing_is_there_tells_of_every_attempt(store: Store) -> None:
    calls = calls_of(
        store,
        ran("charge", PLAIN, at=1, error="timed out"),
        ran("charge", PLAIN, "ok", at=3),
        ran("get_charge", {"order_id": "A"}, [], at=5),
        catalogue=CATALOGUE,
    )
    assert [one.effect.state for one in calls] == ["failed", "failed", "none"]


def test_without_fields_to_hold_an_object_about_the_thing_shows_that_it_is_there(store: Store) -> None:
    item = {"item": {"name": "tea"}}
    found = settled(
        store,
        ran("add_item", item, at=1, error="timed out"),
        ran("find_items", {"name": "tea"}, [{"name": "coffee"}, {"name": "tea", "count": 1}], at=3),
        catalogue=CATALOGUE,
    )
    assert found == ("verified", "looked_up", True)


def test_a_list_of_other_things_shows_nothing(store: Store) -> None:
    found = settled(
        store,
        ran("add_item", {"item": {"name": "tea"}}, at=1, error="timed out"),
        ran("find_items", {"name": "tea"}, [{"name": "coffee"}], at=3),
        catalogue=CATALOGUE,
    )
    assert found[0] == "unknown"


@pytest.mark.parametrize(("answer", "state"), [([], "verified"), ({"name": "tea"}, "failed")])
def test_what_was_to_be_deleted_is_looked_up_the_other_way_round(store: Store, answer: object, state: str) -> None:
    found = settled(
        store,
        ran("drop_item", {"name": "tea"}, at=1, error="timed out"),
        ran("find_items", {"name": "tea"}, answer, at=3),
        catalogue=CATALOGUE,
    )
    assert found == (state, "looked_up", True)


@pytest.mark.parametrize(
    ("number", "answer", "state"),
    [(7, {"id": 7, "title": "x"}, "verified"), (7, [], "failed"), (8, {"id": 8}, "reported")],
)
def test_what_a_tool_made_is_looked_up_by_the_id_that_it_returned(
    store: Store, number: int, answer: object, state: str
) -> None:
    found = settled(
        store,
        ran("create_ticket", {"title": "x"}, {"ticket": {"id": 7}}, at=1),
        ran("get_ticket", {"id": number}, answer, at=3),
        catalogue=CATALOGUE,
    )
    assert found[0] == state


def test_a_look_contradicts_a_tool_that_said_it_worked(store: Store) -> None:
    found = settled(
        store, ran("charge", PLAIN, "paid", at=1), ran("get_charge", {"order_id": "A"}, [], at=3), catalogue=CATALOGUE
    )
    assert found == ("failed", "looked_up", True)


def test_a_receipt_outranks_a_look_and_a_refusal_is_not_looked_up(store: Store) -> None:
    seen = event("spanproof.receipt", {"spanproof.receipt.state": "verified"}, at=1)
    refused = event("spanproof.refusal", {"spanproof.refusal.by": "policy"}, at=2)
    wrote = ran("charge", PLAIN, "paid", at=1)
    wrote.events.append(seen)
    denied = ran("charge", {"order_id": "B", "amount": 5}, at=2)
    denied.events.append(refused)
    looks = [ran("get_charge", {"order_id": each}, [], at=at) for at, each in ((4, "A"), (6, "B"))]
    calls = calls_of(store, wrote, denied, *looks, catalogue=CATALOGUE)
    assert [(one.effect.state, one.effect.reason) for one in calls[:2]] == [
        ("verified", "receipt"),
        ("refused", "refused"),
    ]


# --- without one ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        ({"id": "ch_1", "idempotency_key": "k-1", "status": "succeeded"}, "verified"),
        ([{"key": "k-0"}, {"key": "k-1", "amount": 5}], "verified"),
        ({"id": "ch_1", "status": "succeeded"}, "unknown"),
        ({"idempotency_key": "k-1", "status": "failed"}, "unknown"),
        ({"idempotency_key": "k-1", "found": False}, "failed"),
        ({"id": "ch_1", "metadata": {"idempotency_key": "k-1"}, "status": "succeeded"}, "verified"),
        ({"id": "ch_1", "metadata": {"idempotency_key": "k-1"}, "status": "failed"}, "unknown"),
        ({"idempotency_key": "k-1", "charge": {"status": "pending"}}, "unknown"),
        ({"items": [{"key": "k-0", "status": "failed"}, {"key": "k-1", "status": "ok"}]}, "verified"),
        ({"items": [{"key": "k-0", "status": "ok"}, {"key": "k-1", "status": "failed"}]}, "unknown"),
        ([{"type": "text", "text": '{"idempotency_key": "k-1"}'}], "verified"),
        ([{"type": "text", "text": "[]"}], "failed"),
        ({"content": [{"type": "text", "text": "{"}], "structuredContent": {"key": "k-1"}}, "verified"),
        ([{"type": "text", "text": "charge k-1 went well"}], "unknown"),
        ([], "failed"),
    ],
)
def test_one_idempotency_key_on_both_is_a_look(store: Store, answer: object, state: str) -> None:
    asked = {"idempotency_key": "k-1"}
    found = settled(store, ran("charge", CHARGE, at=1, error="timed out"), ran("get_charge", asked, answer, at=3))
    assert found[0] == state


NAMED = {"destination": "shop.db", "resource": "refunds/A"}


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        ({"order_id": "A", "amount": 5}, "verified"),
        ({"order_id": "A", "amount": 6}, "unknown"),
        ({"order_id": "A"}, "unknown"),
        ([], "failed"),
    ],
)
def test_one_destination_and_resource_named_by_both_is_a_look(store: Store, answer: object, state: str) -> None:
    found = settled(
        store,
        ran("pay", PLAIN, at=1, error="timed out", **NAMED),
        ran("check", {"order_id": "A"}, answer, at=3, **NAMED, **{"class": "read"}),
    )
    assert found[0] == state


def test_names_and_arguments_that_are_only_alike_settle_nothing(store: Store) -> None:
    """An order that was there before holds its own id and amount: that shows nothing of the refund."""
    answer = {"order_id": "A", "amount": 5, "status": "refunded"}
    first, _ = calls_of(
        store, ran("refund_order", PLAIN, at=1, error="timed out"), ran("get_order", {"order_id": "A"}, answer, at=3)
    )
    assert (first.effect.state, first.effect.looked_up_by) == ("unknown", ())


def test_without_a_catalogue_a_deletion_is_not_settled_by_a_look(store: Store) -> None:
    found = settled(
        store,
        ran("delete_row", {"id": 1}, at=1, error="timed out", **NAMED),
        ran("get_row", {"id": 1}, [], at=3, **NAMED, **{"class": "read"}),
    )
    assert found[0] == "unknown"


def test_calls_of_one_answer_may_have_run_at_once(store: Store) -> None:
    """Known from messages alone, nobody can say which of them ran first."""
    parts = [
        {"type": "tool_call", "id": "c1", "name": "charge", "arguments": CHARGE},
        {"type": "tool_call", "id": "c2", "name": "get_charge", "arguments": {"idempotency_key": "k-1"}},
    ]
    answers = [
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "Error: timed out"}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c2", "response": []}]},
    ]
    asked = [{"role": "assistant", "parts": parts}]
    chats = [
        {"gen_ai.operation.name": "chat", "gen_ai.input.messages": "[]", "gen_ai.output.messages": json.dumps(asked)},
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": json.dumps([*asked, *answers]),
            "gen_ai.output.messages": "[]",
        },
    ]
    spans = [span("chat", chat, key=f"m{at}", parent="run", at=at) for at, chat in enumerate(chats)]
    first, second = calls_of(store, *spans)
    assert (second.name, second.result) == ("get_charge", [])
    assert (first.effect.state, first.effect.looked_up_by) == ("unknown", ())


_ANSWERS: st.SearchStrategy[Json] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["k", "pending", "not found", "\ud800", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["status", "error", "found", "id", "content", "type", "text"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(answer=_ANSWERS)
def test_whatever_an_answer_is_it_shows_that_something_is_there_or_that_it_is_not_or_neither(answer: Json) -> None:
    told = opened(answer)
    there = (holds_values(told, ["k"]), holds_arguments(told, {"id": "k"}), shows_fields(told, {"id": "k"}, {}))
    assert set(there) <= {True, False, None}
    if says_absent(told):
        assert True not in there
    if there[1]:
        assert there[0]
        assert not isinstance(told, Absent)
        assert "k" in list(scalars(told))
    # what is put around an answer changes nothing of it
    text = json.dumps(answer) if isinstance(answer, dict | list) else None
    if text is not None:
        found = opened([{"type": "text", "text": text}])
        assert not isinstance(found, Absent)
        assert canonical(found) == canonical(json.loads(text))


def test_an_answer_that_nests_deep_is_walked() -> None:
    deep: Json = "k"
    for _ in range(50_000):
        deep = {"id": [deep]}
    assert holds_values(deep, ["k"]) is None
    assert holds_values({"id": "k", "more": deep}, ["k"]) is True
    assert not says_absent(deep)
    assert opened("[" * 50_000) == "[" * 50_000


@pytest.mark.parametrize(
    ("answer", "absent"),
    [
        (None, True),
        ({}, True),
        ({"results": [], "total": 0}, True),
        ({"results": [], "page": "none"}, False),
        ("not found", True),
        ("Error: 404 Not Found", True),
        ("Order A was not found", True),
        ("The charge does not exist.", True),
        ("No such order: A", True),
        ("There are no refunds found for this order", True),
        ({"status": "not_found"}, True),
        ({"error": {"code": "NOT_FOUND", "message": "Not found"}}, True),
        ("No errors found", False),
        ({"errors": []}, False),
        ({"errors": [], "results": []}, True),
        ("Host payments.local not found", False),
        ("404 page not found", False),
        ("API key not found", False),
        ("", False),
        ("0", False),
        (0, False),
        (False, False),
        ("error " * 30, False),
        ("The missing parcel was found, it is not lost. Charge recorded.", False),
        ({"status": "ok"}, False),
    ],
)
def test_an_answer_says_that_nothing_is_there_only_in_so_many_words(answer: object, absent: bool) -> None:
    assert says_absent(answer) is absent  # type: ignore[arg-type]  # JSON, as a table holds it
