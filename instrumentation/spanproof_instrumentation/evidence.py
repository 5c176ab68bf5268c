"""Evidence that no convention covers: effects, receipts, claims, waits, refusals, progress, quality, cost, end states.

Each function writes on the tool span, the agent span or the current span, as fits; an event without any span gets a
small span of its own. Values are checked when they are given: a wrong one is logged once and nothing of that call is
recorded. Evidence is what the developer declares, so it does not depend on the capture of content.
"""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Final, Literal, get_args

from opentelemetry import trace
from opentelemetry.trace import Span
from opentelemetry.util.types import AttributeValue

from spanproof_instrumentation import semconv
from spanproof_instrumentation.barrier import quiet
from spanproof_instrumentation.content import as_text
from spanproof_instrumentation.spans import current_agent, current_tool, inside_tool, tracer

EffectClass = Literal["read", "write", "destructive", "handoff"]
ReceiptState = Literal["verified", "failed"]
ClaimState = Literal["success", "partial", "failure", "none"]
Window = Literal["active", "waiting", "stale_collector"]
Reason = Literal["completed", "budget_exhausted", "infrastructure", "cancelled"]
Phase = Literal["before", "after"]
Observed = str | int | float | Mapping[str, object] | Sequence[object]
"""What was seen: a text, or anything that JSON can hold."""

_NANOSECONDS: Final = 1_000_000_000


@quiet
def effect(
    class_: EffectClass,
    *,
    destination: str | None = None,
    resource: str | None = None,
    operation: str | None = None,
    idempotency_key: str | None = None,
) -> None:
    """Declare which external change the current tool call intends."""
    span = current_tool() or trace.get_current_span()
    if not span.is_recording():
        if inside_tool():
            return  # nobody keeps spans here: no provider, or a sampler that left this one out
        raise LookupError("effect() belongs inside a tool call, and no span is open")
    span.set_attributes(
        _given(
            {
                semconv.EFFECT_CLASS: _one_of("class_", class_, get_args(EffectClass)),
                semconv.EFFECT_DESTINATION: _text("destination", destination),
                semconv.EFFECT_RESOURCE: _text("resource", resource),
                semconv.EFFECT_OPERATION: _text("operation", operation),
                semconv.EFFECT_IDEMPOTENCY_KEY: _text("idempotency_key", idempotency_key),
            }
        )
    )


@quiet
def receipt(
    state: ReceiptState,
    *,
    observer: str | None = None,
    observed: Observed | None = None,
    pre_state: Observed | None = None,
    post_state: Observed | None = None,
    destination: str | None = None,
    resource: str | None = None,
    operation: str | None = None,
    idempotency_key: str | None = None,
) -> None:
    """Record what was seen at the destination by somebody who looked there, not what the tool answered.

    Inside a tool call it is that call's receipt; elsewhere name the effect it belongs to by destination, resource,
    operation and idempotency key.
    """
    _event(
        semconv.EVENT_RECEIPT,
        {
            semconv.RECEIPT_STATE: _one_of("state", state, get_args(ReceiptState)),
            semconv.RECEIPT_OBSERVER: _text("observer", observer),
            semconv.RECEIPT_OBSERVED: _seen(observed),
            semconv.RECEIPT_PRE_STATE: _seen(pre_state),
            semconv.RECEIPT_POST_STATE: _seen(post_state),
            semconv.EFFECT_DESTINATION: _text("destination", destination),
            semconv.EFFECT_RESOURCE: _text("resource", resource),
            semconv.EFFECT_OPERATION: _text("operation", operation),
            semconv.EFFECT_IDEMPOTENCY_KEY: _text("idempotency_key", idempotency_key),
        },
        current_tool(),
    )


@quiet
def claim(state: ClaimState, text: str | None = None) -> None:
    """Record what the agent declares about its task."""
    _event(
        semconv.EVENT_CLAIM,
        {
            semconv.CLAIM_STATE: _one_of("state", state, get_args(ClaimState)),
            semconv.CLAIM_TEXT: _text("text", text),
        },
        current_agent(),
    )


@quiet
def wait(owner: str, decision: str, deadline: int | datetime, resumable: bool) -> None:
    """Record a pause for somebody's decision. The deadline is in Unix nanoseconds, or a datetime with a time zone."""
    _event(
        semconv.EVENT_WAIT,
        {
            semconv.WAIT_OWNER: _required("owner", owner),
            semconv.WAIT_DECISION: _required("decision", decision),
            semconv.WAIT_DEADLINE: _time("deadline", deadline),
            semconv.WAIT_RESUMABLE: _flag("resumable", resumable),
        },
    )


@quiet
def refusal(reason: str, by: str) -> None:
    """Record that a call was refused on purpose, and by whom or what."""
    _event(
        semconv.EVENT_REFUSAL,
        {semconv.REFUSAL_REASON: _required("reason", reason), semconv.REFUSAL_BY: _required("by", by)},
        current_tool(),
    )


@quiet
def progress(key: str, delta: float, window: Window = "active") -> None:
    """Record one window of work and the evidence gained in it; 0 is a window without any."""
    _event(
        semconv.EVENT_PROGRESS,
        {
            semconv.PROGRESS_KEY: _required("key", key),
            semconv.PROGRESS_DELTA: _number("delta", delta),
            semconv.PROGRESS_WINDOW: _one_of("window", window, get_args(Window)),
        },
    )


@quiet
def quality(score: float, grader: str, revision: str) -> None:
    """Record a quality score between 0 and 1, with the grader and its revision."""
    number = _number("score", score)
    if not 0 <= number <= 1:
        raise ValueError(f"score={score!r} is not between 0 and 1")
    _event(
        semconv.EVENT_QUALITY,
        {
            semconv.QUALITY_SCORE: number,
            semconv.QUALITY_GRADER: _required("grader", grader),
            semconv.QUALITY_REVISION: _required("revision", revision),
        },
    )


@quiet
def cost(usd: Decimal | str | float) -> None:
    """Record what the work of the current span alone was billed at, in US dollars."""
    _attribute(semconv.COST_USD, _money("usd", usd), trace.get_current_span())


@quiet
def termination(reason: Reason) -> None:
    """Record why the run ended."""
    _attribute(semconv.TERMINATION_REASON, _one_of("reason", reason, get_args(Reason)), current_agent())


@quiet
def end_state(phase: Phase, state_json: str) -> None:
    """Record a snapshot of the world, before or after a trial, with its digest.

    The text is JSON: ``{"tables": {name: [row, …]}, "files": {path: text}}``.
    """
    record_state(phase, state_json, None)


def record_state(phase: Phase, state_json: str, diff_json: str | None) -> None:
    """Record a snapshot and, where it is known, what changed since the one before.

    Raises:
        ValueError, TypeError: the phase is none, or the text no JSON.
    """
    import hashlib  # slow to load, and few agents record an end state

    state = _required("state_json", state_json)
    json.loads(state)
    _event(
        semconv.EVENT_END_STATE,
        {
            semconv.END_STATE_PHASE: _one_of("phase", phase, get_args(Phase)),
            semconv.END_STATE_DIGEST: hashlib.sha256(state.encode()).hexdigest(),
            semconv.END_STATE_STATE: state,
            semconv.END_STATE_DIFF: diff_json,
        },
    )


def _event(name: str, attributes: Mapping[str, AttributeValue | None], place: Span | None = None) -> None:
    span = place or trace.get_current_span()
    if span.is_recording():
        span.add_event(name, _given(attributes))
        return
    with tracer().start_as_current_span(name) as own:
        own.add_event(name, _given(attributes))


def _attribute(name: str, value: AttributeValue, place: Span | None) -> None:
    span = place or trace.get_current_span()
    if span.is_recording():
        span.set_attribute(name, value)
        return
    with tracer().start_as_current_span(name) as own:
        own.set_attribute(name, value)


def _given(attributes: Mapping[str, AttributeValue | None]) -> dict[str, AttributeValue]:
    return {name: value for name, value in attributes.items() if value is not None}


def _required(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError(f"{name}={value!r} must be a text that is not empty")
    return value


def _text(name: str, value: object) -> str | None:
    return None if value is None else _required(name, value)


def _one_of(name: str, value: object, allowed: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name}={value!r} must be one of {', '.join(allowed)}")
    return value


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise TypeError(f"{name}={value!r} must be a finite number")
    return float(value)


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name}={value!r} must be True or False")
    return value


def _time(name: str, value: object) -> int:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return int(value.timestamp()) * _NANOSECONDS + value.microsecond * 1000
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name}={value!r} must be Unix nanoseconds, or a datetime with a time zone")
    return value


def _money(name: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (Decimal, str, int, float)):
        raise TypeError(f"{name}={value!r} must be an amount of money")
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f"{name}={value!r} is no decimal number") from None
    if not amount.is_finite() or amount < 0:
        raise ValueError(f"{name}={value!r} must be finite and not negative")
    return format(amount, "f")


def _seen(value: Observed | None) -> str | None:
    return None if value is None else as_text(value)
