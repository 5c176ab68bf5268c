import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanproof_instrumentation import (
    agent_span,
    claim,
    cost,
    effect,
    end_state,
    model_span,
    progress,
    quality,
    receipt,
    refusal,
    semconv,
    termination,
    tool_span,
    wait,
)
from tests.instrumentation.sink import run

Record = Callable[[], None]


def test_an_effect_stands_on_the_tool_span_even_where_another_span_is_current(spans: InMemorySpanExporter) -> None:
    with tool_span("refund"), trace.get_tracer("library").start_as_current_span("POST /refunds"):
        effect("write", destination="shop", resource="order/7", operation="refund", idempotency_key="k")
    post, refund = spans.get_finished_spans()
    assert not post.attributes
    assert {name: value for name, value in (refund.attributes or {}).items() if name.startswith("spanproof.")} == {
        semconv.EFFECT_CLASS: "write",
        semconv.EFFECT_DESTINATION: "shop",
        semconv.EFFECT_RESOURCE: "order/7",
        semconv.EFFECT_OPERATION: "refund",
        semconv.EFFECT_IDEMPOTENCY_KEY: "k",
    }


EVENTS: list[tuple[Record, str, Mapping[str, object]]] = [
    (
        lambda: receipt("verified", observer="sqlite", observed={"rows": 1}, pre_state="0", post_state="1"),
        semconv.EVENT_RECEIPT,
        {
            semconv.RECEIPT_STATE: "verified",
            semconv.RECEIPT_OBSERVER: "sqlite",
            semconv.RECEIPT_OBSERVED: '{"rows": 1}',
            semconv.RECEIPT_PRE_STATE: "0",
            semconv.RECEIPT_POST_STATE: "1",
        },
    ),
    (
        lambda: receipt("failed", destination="shop", resource="order/7", operation="refund", idempotency_key="k"),
        semconv.EVENT_RECEIPT,
        {
            semconv.RECEIPT_STATE: "failed",
            semconv.EFFECT_DESTINATION: "shop",
            semconv.EFFECT_RESOURCE: "order/7",
            semconv.EFFECT_OPERATION: "refund",
            semconv.EFFECT_IDEMPOTENCY_KEY: "k",
        },
    ),
    (
        lambda: claim("success", "Refunded."),
        semconv.EVENT_CLAIM,
        {semconv.CLAIM_STATE: "success", semconv.CLAIM_TEXT: "Refunded."},
    ),
    (
        lambda: wait("lead", "approve", datetime(2026, 1, 1, tzinfo=UTC), True),
        semconv.EVENT_WAIT,
        {
            semconv.WAIT_OWNER: "lead",
            semconv.WAIT_DECISION: "approve",
            semconv.WAIT_DEADLINE: 1_767_225_600_000_000_000,
            semconv.WAIT_RESUMABLE: True,
        },
    ),
    (
        lambda: refusal("limit", "policy"),
        semconv.EVENT_REFUSAL,
        {semconv.REFUSAL_REASON: "limit", semconv.REFUSAL_BY: "policy"},
    ),
    (
        lambda: progress("tests_green", 2),
        semconv.EVENT_PROGRESS,
        {semconv.PROGRESS_KEY: "tests_green", semconv.PROGRESS_DELTA: 2.0, semconv.PROGRESS_WINDOW: "active"},
    ),
    (
        lambda: quality(0.9, "tone", "3"),
        semconv.EVENT_QUALITY,
        {semconv.QUALITY_SCORE: 0.9, semconv.QUALITY_GRADER: "tone", semconv.QUALITY_REVISION: "3"},
    ),
    (
        lambda: end_state("after", '{"tables": {}}'),
        semconv.EVENT_END_STATE,
        {
            semconv.END_STATE_PHASE: "after",
            semconv.END_STATE_DIGEST: hashlib.sha256(b'{"tables": {}}').hexdigest(),
            semconv.END_STATE_STATE: '{"tables": {}}',
        },
    ),
]


@pytest.mark.parametrize(("record", "name", "attributes"), EVENTS)
def test_evidence_is_an_event_of_the_span_it_belongs_to(
    spans: InMemorySpanExporter, record: Record, name: str, attributes: Mapping[str, object]
) -> None:
    with tool_span("t"):
        record()
    (span,) = spans.get_finished_spans()
    assert [(event.name, dict(event.attributes or {})) for event in span.events] == [(name, attributes)]


@pytest.mark.parametrize(("record", "name", "attributes"), EVENTS)
def test_evidence_without_a_span_gets_a_small_one_of_its_own(
    spans: InMemorySpanExporter, record: Record, name: str, attributes: Mapping[str, object]
) -> None:
    record()
    (span,) = spans.get_finished_spans()
    assert (span.name, [event.name for event in span.events]) == (name, [name])


def test_a_claim_inside_a_tool_stands_on_the_agent_span(spans: InMemorySpanExporter) -> None:
    with agent_span("a"), tool_span("finish"):
        claim("partial")
        termination("budget_exhausted")
    finish, agent = spans.get_finished_spans()
    assert not finish.events
    assert [event.name for event in agent.events] == [semconv.EVENT_CLAIM]
    assert (agent.attributes or {})[semconv.TERMINATION_REASON] == "budget_exhausted"


@pytest.mark.parametrize(
    ("amount", "text"), [(Decimal("0.0500"), "0.0500"), ("0.1", "0.1"), (0.00001, "0.00001"), (2, "2")]
)
def test_a_cost_is_a_decimal_text_on_the_span_that_was_billed(
    spans: InMemorySpanExporter, amount: Decimal | str | float, text: str
) -> None:
    with agent_span("a"), model_span("m"):
        cost(amount)
    model, agent = spans.get_finished_spans()
    assert (model.attributes or {})[semconv.COST_USD] == text
    assert semconv.COST_USD not in (agent.attributes or {})


WRONG: list[tuple[Record, str]] = [
    (lambda: effect("wrote"), "class_='wrote' must be one of"),  # type: ignore[arg-type]
    (lambda: effect("write", idempotency_key=7), "idempotency_key=7"),  # type: ignore[arg-type]
    (lambda: receipt(True), "state=True"),  # type: ignore[arg-type]
    (lambda: receipt("verified", observer=1), "observer=1"),  # type: ignore[arg-type]
    (lambda: claim("done"), "state='done'"),  # type: ignore[arg-type]
    (lambda: wait("", "approve", 1, True), "owner=''"),
    (lambda: wait("lead", "approve", 1.5, True), "deadline=1.5"),  # type: ignore[arg-type]
    (lambda: wait("lead", "approve", datetime(2026, 1, 1), True), "time zone"),
    (lambda: wait("lead", "approve", 1, "yes"), "resumable='yes'"),  # type: ignore[arg-type]
    (lambda: refusal("", "policy"), "reason=''"),
    (lambda: progress("k", True), "delta=True"),
    (lambda: progress("k", float("nan")), "delta=nan"),
    (lambda: progress("k", 1, "idle"), "window='idle'"),  # type: ignore[arg-type]
    (lambda: quality(1.2, "g", "1"), "score=1.2"),
    (lambda: cost("-1"), "usd='-1'"),
    (lambda: cost("one"), "usd='one'"),
    (lambda: termination("bored"), "reason='bored'"),  # type: ignore[arg-type]
    (lambda: end_state("after", "{"), "JSONDecodeError"),
    (lambda: claim(), "missing 1 required positional argument"),  # type: ignore[call-arg]
]


@pytest.mark.parametrize(("record", "said"), WRONG)
def test_wrong_evidence_is_told_once_and_nothing_of_it_is_recorded(
    spans: InMemorySpanExporter, caplog: pytest.LogCaptureFixture, record: Record, said: str
) -> None:
    with agent_span("a"), tool_span("t"):
        record()
        record()
    assert [said in message for message in caplog.messages] == [True]
    for span in spans.get_finished_spans():
        assert not span.events
        assert not [name for name in span.attributes or {} if name.startswith("spanproof.")]


def test_an_effect_outside_of_any_call_is_told(spans: InMemorySpanExporter, caplog: pytest.LogCaptureFixture) -> None:
    effect("write")
    assert not spans.get_finished_spans()
    assert "belongs inside a tool call" in caplog.text


def test_evidence_where_nobody_keeps_spans_is_silent() -> None:
    done = run(
        "from spanproof_instrumentation import claim, effect, receipt, tool_span\n"
        "with tool_span('t'):\n    effect('write'); receipt('verified'); claim('success')\n"
    )
    assert (done.returncode, done.stderr) == (0, "")
