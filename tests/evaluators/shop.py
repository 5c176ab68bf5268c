"""A shop's trials as export requests: what each test changes is a keyword."""

import hashlib
import json
from collections.abc import Mapping, Sequence

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanproof_instrumentation import semconv
from tests.factories import event, span, traces

SUITE = {
    "id": "shop",
    "tasks": [
        {
            "id": "refund",
            "required_tools": ["issue_refund"],
            "limits": {"max_tool_calls": 3},
            "checks": [{"kind": "rows", "table": "refunds", "where": {"order": "ORD-1"}, "exactly": 1}],
        }
    ],
}


def attempt(
    name: str,
    *,
    variant: str = "careful",
    refunds: Sequence[Mapping[str, object]] | None = ({"order": "ORD-1", "cents": 4900},),
    receipt: str | None = "verified",
    result: str | None = "refunded",
    claim: str | None = "success",
    score: float = 0.8,
    usd: str = "0.40",
    at: float = 0,
    suite: str = "shop",
    answer: str = "I refunded the order.",
) -> ExportTraceServiceRequest:
    """Return one attempt at a refund: an agent span, one call with or without a receipt, the world before and after."""
    labels: dict[str, object] = {
        semconv.TRIAL_ID: name,
        semconv.TASK_ID: "refund",
        semconv.VARIANT: variant,
        semconv.SUITE: suite,
    }
    events = [
        event(
            semconv.EVENT_QUALITY,
            {semconv.QUALITY_SCORE: score, semconv.QUALITY_GRADER: "rubric", semconv.QUALITY_REVISION: "1"},
            at=at + 3,
        ),
        event(
            semconv.EVENT_PROGRESS,
            {semconv.PROGRESS_KEY: "refunded", semconv.PROGRESS_DELTA: 1.0, semconv.PROGRESS_WINDOW: "active"},
            at=at + 2,
        ),
        _state("before", [], at=at),
    ]
    if refunds is not None:
        events.append(_state("after", refunds, at=at + 3))
    if claim is not None:
        events.append(event(semconv.EVENT_CLAIM, {semconv.CLAIM_STATE: claim}, at=at + 3))
    call: dict[str, object] = {
        **labels,
        semconv.OPERATION: "execute_tool",
        semconv.TOOL_NAME: "issue_refund",
        semconv.TOOL_CALL_ID: f"call-{name}",
        semconv.TOOL_ARGUMENTS: json.dumps({"order": "ORD-1"}),
        semconv.EFFECT_CLASS: "write",
        semconv.EFFECT_DESTINATION: "shop",
        semconv.EFFECT_RESOURCE: "ORD-1",
        semconv.EFFECT_OPERATION: "refund",
    }
    if result is not None:
        call[semconv.TOOL_RESULT] = json.dumps(result)
    receipts = []
    if receipt is not None:
        seen = {semconv.RECEIPT_STATE: receipt, semconv.RECEIPT_OBSERVER: "witness", semconv.RECEIPT_OBSERVED: "row 1"}
        receipts.append(event(semconv.EVENT_RECEIPT, seen, at=at + 2))
    return traces(
        span(
            "invoke_agent clerk",
            {
                **labels,
                semconv.OPERATION: "invoke_agent",
                semconv.AGENT_NAME: "clerk",
                semconv.COST_USD: usd,
                semconv.OUTPUT_MESSAGES: json.dumps(
                    [{"role": "assistant", "parts": [{"type": "text", "content": answer}], "finish_reason": "stop"}]
                ),
            },
            trace=name,
            key=f"{name}-agent",
            at=at,
            seconds=4,
            events=events,
        ),
        span(
            "execute_tool issue_refund",
            call,
            trace=name,
            key=f"{name}-call",
            parent=f"{name}-agent",
            at=at + 1,
            error=None if result is not None else "timeout",
            events=receipts,
        ),
    )


def _state(phase: str, refunds: Sequence[Mapping[str, object]], *, at: float) -> Span.Event:
    text = json.dumps({"tables": {"refunds": list(refunds)}})
    return event(
        semconv.EVENT_END_STATE,
        {
            semconv.END_STATE_PHASE: phase,
            semconv.END_STATE_STATE: text,
            semconv.END_STATE_DIGEST: hashlib.sha256(text.encode()).hexdigest(),
        },
        at=at,
    )
