"""What the senders of one run send: agents' traces, in pieces, shuffled, some of them twice and some of them poorer."""

import random
from dataclasses import dataclass
from typing import Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from tests.factories import SECOND, T0, agent, asked, chat, said, told, tool

_TRACES: Final = 4
_TURNS: Final = 2
_SCOPE: Final = InstrumentationScope("test.agent", "1")
_RESOURCE: Final = Resource({"service.name": "shop-agent", "service.version": "1"})
_CONTEXT: Final = TraceFlags(TraceFlags.SAMPLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """The spans of one export request, and which sender sends it."""

    spans: tuple[ReadableSpan, ...]
    sender: int


def exports(name: str, seed: int, senders: int) -> list[Export]:
    """Return what is sent in one run; the same arguments give the same bytes.

    Args:
        name: makes ids and sessions those of this run.
        seed: says the rest.
        senders: how many there are.
    """
    source = random.Random(seed)
    spans: list[ReadableSpan] = []
    for number in range(_TRACES):
        # Two traces of a session, and traces of their own.
        session = f"session {name} {number // 2}" if number < 2 else None
        spans += _trace(source, f"{name} {number}", session)
    poorer = [_without_attributes(span) for span in source.sample(spans, 4)]
    sent = [*spans, *poorer, *source.sample(spans, 3)]
    source.shuffle(sent)
    found = []
    while sent:
        count = source.randint(1, 4)
        found.append(Export(spans=tuple(sent[:count]), sender=source.randrange(senders)))
        sent = sent[count:]
    return found


def _trace(source: random.Random, name: str, session: str | None) -> list[ReadableSpan]:
    trace_id = source.getrandbits(128) | 1
    root = _context(source, trace_id)
    start = T0 + source.randrange(10**6) * SECOND
    labels: dict[str, object] = {"spanproof.task.id": "refund"}
    if session is not None:
        labels["gen_ai.conversation.id"] = session
    said_so_far = [said("user", f"Refund the orders of {name}. " + "Be careful with every one of them. " * 20)]
    spans = []
    for turn in range(_TURNS):
        call_id = f"call {name} {turn}"
        ask = asked("issue_refund", {"order": f"O-{turn}"}, call_id)
        at = start + (1 + 2 * turn) * SECOND
        spans.append(_span(source, root, "chat", chat(said_so_far, [ask], **labels), at, SpanKind.CLIENT))
        failed = source.random() < 0.3
        answer = None if failed else {"refunded": f"O-{turn}", "text": "It was done as asked. " * 40}
        attributes = tool("issue_refund", {"order": f"O-{turn}"}, answer, call_id, **labels)
        receipt = Event("spanproof.receipt", {"spanproof.receipt.state": "verified"}, at + SECOND)
        spans.append(
            _span(
                source,
                root,
                "issue_refund",
                attributes,
                at + SECOND // 2,
                events=[] if failed else [receipt],
                error=failed,
            )
        )
        said_so_far = [*said_so_far, ask, told(answer or "error", call_id)]
    claim = Event("spanproof.claim", {"spanproof.claim.state": "success"}, start + 8 * SECOND)
    spans.append(_span(source, None, "invoke_agent", agent(**labels), start, events=[claim], context=root, seconds=9))
    return spans


def _span(
    source: random.Random,
    parent: SpanContext | None,
    name: str,
    attributes: dict[str, object],
    start: int,
    kind: SpanKind = SpanKind.INTERNAL,
    *,
    events: list[Event] | None = None,
    error: bool = False,
    context: SpanContext | None = None,
    seconds: int = 1,
) -> ReadableSpan:
    trace_id = parent.trace_id if parent else context.trace_id if context else 0
    return ReadableSpan(
        name=name,
        context=context or _context(source, trace_id),
        parent=parent,
        resource=_RESOURCE,
        attributes=attributes,  # type: ignore[arg-type]
        events=events or [],
        kind=kind,
        status=Status(StatusCode.ERROR, "timed out") if error else Status(StatusCode.UNSET),
        start_time=start,
        end_time=start + seconds * SECOND,
        instrumentation_scope=_SCOPE,
    )


def _context(source: random.Random, trace_id: int) -> SpanContext:
    return SpanContext(trace_id, source.getrandbits(64) | 1, False, _CONTEXT)


def _without_attributes(span: ReadableSpan) -> ReadableSpan:
    """Return the span as an earlier, poorer version of it would be."""
    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        kind=span.kind,
        status=span.status,
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )
