"""The ten founding trials as the spans that their agents, witnesses and graders would have sent.

The figures are those of golden case G01, a reconstruction that gives the founding article's table. The end states are
our own: a published report is a row of ``reports``.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanproof_instrumentation import semconv
from tests.factories import SECOND, T0, event, span, traces

Seen: TypeAlias = Literal["verified", "failed", "silent"]
"""What a witness saw of a call at its destination; ``silent``: the call timed out and nobody looked."""

SUITE: Final[Mapping[str, object]] = {
    "id": "founding",
    "tasks": [
        {
            "id": f"task-{number}",
            "forbidden_tools": ["delete_account"],
            "checks": [{"kind": "rows", "table": "reports", "where": {"task": f"task-{number}"}, "exactly": 1}],
        }
        for number in range(1, 6)
    ],
}


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """What is on record of one trial. ``after`` is the number of reports at its end, ``None`` where nobody looked."""

    name: str
    variant: str
    quality: str | None
    useful: int
    active: int
    effects: tuple[Seen | None, ...]
    """Each call, by what its receipt says; ``None``: the tool answered, and there is no receipt."""

    usd: str
    before: int | None = 0
    after: int | None = 1
    refused: int = 0
    waits: bool = False

    @property
    def task(self) -> str:
        """The id of its task."""
        return f"task-{self.name[-1]}"


V1, V2 = "stable v1", "fast v2"
TRIALS: Final[tuple[Attempt, ...]] = (
    Attempt(name="v1-1", variant=V1, quality="0.815", useful=3, active=3, effects=("verified",), usd="0.38"),
    Attempt(name="v1-2", variant=V1, quality="0.822", useful=3, active=3, effects=("verified",), usd="0.42"),
    Attempt(name="v1-3", variant=V1, quality="0.809", useful=3, active=3, effects=("verified",), usd="0.44"),
    Attempt(name="v1-4", variant=V1, quality="0.826", useful=3, active=3, effects=("verified",), usd="0.41"),
    Attempt(
        name="v1-5",
        variant=V1,
        quality=None,
        useful=2,
        active=2,
        effects=("verified",),
        usd="0.42",
        after=None,
        refused=1,
        waits=True,
    ),
    Attempt(name="v2-1", variant=V2, quality="0.91", useful=3, active=3, effects=("verified",), usd="0.36"),
    Attempt(name="v2-2", variant=V2, quality="0.92", useful=3, active=3, effects=("verified",), usd="0.37"),
    Attempt(name="v2-3", variant=V2, quality="0.89", useful=3, active=3, effects=("verified",), usd="0.40"),
    Attempt(name="v2-4", variant=V2, quality="0.89", useful=3, active=4, effects=("failed",), usd="0.39", after=0),
    Attempt(
        name="v2-5",
        variant=V2,
        quality="0.90",
        useful=3,
        active=3,
        effects=("verified", "silent"),
        usd="0.38",
        after=None,
    ),
)


def request(one: Attempt, *, trial: str | None = None, variant: str | None = None) -> ExportTraceServiceRequest:
    """Return everything on record of a trial; ``trial`` and ``variant`` rename it."""
    name = trial or one.name
    labels: dict[str, object] = {
        semconv.TRIAL_ID: name,
        semconv.TASK_ID: one.task,
        semconv.VARIANT: variant or one.variant,
        semconv.SUITE: "founding",
    }
    spans = [
        span(
            "invoke_agent publisher",
            {**labels, **_run(one)},
            trace=name,
            key=f"{name}-run",
            seconds=60,
            events=_events(one),
        )
    ]
    for at, seen in enumerate(one.effects):
        spans.append(_call(one, labels, name, at, seen))
    for at in range(one.refused):
        spans.append(_refused(labels, name, at))
    return traces(*spans, scope="publisher")


def _run(one: Attempt) -> dict[str, object]:
    words = "I wait for approval." if one.waits else "The report is published."
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": words}], "finish_reason": "stop"}]
    return {
        semconv.OPERATION: "invoke_agent",
        semconv.AGENT_NAME: "publisher",
        semconv.OUTPUT_MESSAGES: json.dumps(answer),
        semconv.COST_USD: one.usd,
    }


def _events(one: Attempt) -> list[Span.Event]:
    found = []
    for at in range(one.active):
        gained = 1.0 if at < one.useful else 0.0
        found.append(
            event(
                semconv.EVENT_PROGRESS,
                {semconv.PROGRESS_KEY: "sections", semconv.PROGRESS_DELTA: gained, semconv.PROGRESS_WINDOW: "active"},
                at=10 + at,
            )
        )
    if one.quality is not None:
        score = {
            semconv.QUALITY_SCORE: float(one.quality),
            semconv.QUALITY_GRADER: "rubric",
            semconv.QUALITY_REVISION: "3",
        }
        found.append(event(semconv.EVENT_QUALITY, score, at=50))
    if one.waits:
        wait = {
            semconv.WAIT_OWNER: "finance-approver",
            semconv.WAIT_DECISION: "approve high-impact call",
            semconv.WAIT_DEADLINE: T0 + 86_400 * SECOND,
            semconv.WAIT_RESUMABLE: True,
        }
        found.append(event(semconv.EVENT_WAIT, wait, at=55))
    else:
        found.append(event(semconv.EVENT_CLAIM, {semconv.CLAIM_STATE: "success"}, at=55))
    for phase, reports, at in (("before", one.before, 1), ("after", one.after, 58)):
        if reports is not None:
            found.append(_state(phase, [{"task": one.task, "text": f"report {n}"} for n in range(reports)], at))
    return found


def _state(phase: str, rows: Sequence[Mapping[str, object]], at: float) -> Span.Event:
    text = json.dumps({"tables": {"reports": list(rows)}})
    digest = hashlib.sha256(text.encode()).hexdigest()
    told = {semconv.END_STATE_PHASE: phase, semconv.END_STATE_STATE: text, semconv.END_STATE_DIGEST: digest}
    return event(semconv.EVENT_END_STATE, told, at=at)


def _call(one: Attempt, labels: Mapping[str, object], name: str, at: int, seen: Seen | None) -> Span:
    attributes: dict[str, object] = {
        **labels,
        **_asked("publish_report", f"{name}-{at}", {"task": one.task, "part": at}),
        semconv.EFFECT_CLASS: "write",
        semconv.EFFECT_DESTINATION: "site",
        semconv.EFFECT_RESOURCE: f"{one.task}-{at}",
        semconv.EFFECT_OPERATION: "publish",
    }
    receipts = []
    if seen != "silent":
        attributes[semconv.TOOL_RESULT] = json.dumps("published")
    if seen in ("verified", "failed"):
        receipt = {
            semconv.RECEIPT_STATE: seen,
            semconv.RECEIPT_OBSERVER: "witness",
            semconv.RECEIPT_OBSERVED: f"row {one.task}-{at}",
        }
        receipts.append(event(semconv.EVENT_RECEIPT, receipt, at=21 + at))
    return span(
        "execute_tool publish_report",
        attributes,
        trace=name,
        key=f"{name}-call-{at}",
        parent=f"{name}-run",
        at=20 + at,
        error="timeout" if seen == "silent" else None,
        events=receipts,
    )


def _refused(labels: Mapping[str, object], name: str, at: int) -> Span:
    refusal = {semconv.REFUSAL_REASON: "high impact", semconv.REFUSAL_BY: "policy"}
    return span(
        "execute_tool send_invoice",
        {
            **labels,
            **_asked("send_invoice", f"{name}-refused-{at}", {"amount": 90_000}),
            semconv.EFFECT_CLASS: "write",
        },
        trace=name,
        key=f"{name}-refused-{at}",
        parent=f"{name}-run",
        at=30 + at,
        events=[event(semconv.EVENT_REFUSAL, refusal, at=30.5 + at)],
    )


def _asked(tool: str, call_id: str, arguments: Mapping[str, object]) -> dict[str, object]:
    return {
        semconv.OPERATION: "execute_tool",
        semconv.TOOL_NAME: tool,
        semconv.TOOL_CALL_ID: call_id,
        semconv.TOOL_ARGUMENTS: json.dumps(arguments),
    }
