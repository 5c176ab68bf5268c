"""Evidence in the namespace ``spanproof.*``, on whichever span it stands, whatever the span's dialect."""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias, get_args

from spanproof_collector.dialects._json import amount, count, loose, text
from spanproof_collector.model.spans import Span, SpanEvent
from spanproof_collector.model.trials import (
    ClaimState,
    EffectClass,
    EndState,
    Progress,
    Quality,
    Receipt,
    RecordedChanges,
    Refusal,
    Wait,
)
from spanproof_collector.model.values import Attributes, Json
from spanproof_instrumentation import semconv

_CLASSES = frozenset(get_args(EffectClass)) - {"unclassified"}
_CLAIMS = frozenset(get_args(ClaimState)) - {"unavailable"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredClaim:
    """What the agent declared in so many words."""

    state: ClaimState
    text: str | None
    span_id: str
    time: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredEffect:
    """What a tool span says of the change that it intends."""

    effect_class: EffectClass | None
    destination: str | None
    resource: str | None
    operation: str | None
    idempotency_key: str | None


Evidence: TypeAlias = Receipt | DeclaredClaim | Wait | Refusal | Progress | Quality | EndState | RecordedChanges


def _number(attributes: Attributes, key: str) -> float | None:
    value = attributes.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _flag(attributes: Attributes, key: str) -> bool | None:
    value = attributes.get(key)
    return value if isinstance(value, bool) else None


def effect(attributes: Attributes) -> DeclaredEffect:
    """Return what a span declares of its effect."""
    declared = text(attributes, semconv.EFFECT_CLASS)
    return DeclaredEffect(
        effect_class=declared if declared in _CLASSES else None,  # type: ignore[arg-type]
        destination=text(attributes, semconv.EFFECT_DESTINATION),
        resource=text(attributes, semconv.EFFECT_RESOURCE),
        operation=text(attributes, semconv.EFFECT_OPERATION),
        idempotency_key=text(attributes, semconv.EFFECT_IDEMPOTENCY_KEY),
    )


def task(attributes: Attributes) -> Json:
    """Return the definition of a trial's task, as an importer found it; ``None`` where it found none."""
    return loose(attributes.get(semconv.TASK_DEFINITION))


def cost(attributes: Attributes) -> Decimal | None:
    """Return the billed cost of a span in USD; ``None`` where none was recorded or it is no amount."""
    return amount(attributes.get(semconv.COST_USD))


def _of_event(event: SpanEvent, span_id: str) -> Evidence | None:
    got = event.attributes
    match event.name:
        case semconv.EVENT_RECEIPT:
            state = got.get(semconv.RECEIPT_STATE)
            if state not in ("verified", "failed"):
                return None
            return Receipt(
                state=state,  # type: ignore[arg-type]
                observer=text(got, semconv.RECEIPT_OBSERVER),
                observed=text(got, semconv.RECEIPT_OBSERVED),
                pre_state=text(got, semconv.RECEIPT_PRE_STATE),
                post_state=text(got, semconv.RECEIPT_POST_STATE),
                destination=text(got, semconv.EFFECT_DESTINATION),
                resource=text(got, semconv.EFFECT_RESOURCE),
                operation=text(got, semconv.EFFECT_OPERATION),
                idempotency_key=text(got, semconv.EFFECT_IDEMPOTENCY_KEY),
                span_id=span_id,
                time=event.time,
            )
        case semconv.EVENT_CLAIM:
            claimed = got.get(semconv.CLAIM_STATE)
            if claimed not in _CLAIMS:
                return None
            return DeclaredClaim(
                state=claimed,  # type: ignore[arg-type]
                text=text(got, semconv.CLAIM_TEXT),
                span_id=span_id,
                time=event.time,
            )
        case semconv.EVENT_WAIT:
            return Wait(
                owner=text(got, semconv.WAIT_OWNER),
                decision=text(got, semconv.WAIT_DECISION),
                deadline=count(got, semconv.WAIT_DEADLINE),
                resumable=_flag(got, semconv.WAIT_RESUMABLE),
                span_id=span_id,
                time=event.time,
            )
        case semconv.EVENT_REFUSAL:
            return Refusal(
                reason=text(got, semconv.REFUSAL_REASON),
                by=text(got, semconv.REFUSAL_BY),
                span_id=span_id,
                time=event.time,
            )
        case semconv.EVENT_PROGRESS:
            delta, window = _number(got, semconv.PROGRESS_DELTA), got.get(semconv.PROGRESS_WINDOW, "active")
            key = text(got, semconv.PROGRESS_KEY)
            if delta is None or key is None or window not in ("active", "waiting", "stale_collector"):
                return None
            return Progress(key=key, delta=delta, window=window, span_id=span_id, time=event.time)  # type: ignore[arg-type]
        case semconv.EVENT_QUALITY:
            score = _number(got, semconv.QUALITY_SCORE)
            grader, revision = text(got, semconv.QUALITY_GRADER), text(got, semconv.QUALITY_REVISION)
            if score is None or not 0 <= score <= 1 or grader is None or revision is None:
                return None
            return Quality(score=score, grader=grader, revision=revision, span_id=span_id, time=event.time)
        case semconv.EVENT_END_STATE:
            return _end_state(got, span_id, event.time)
        case semconv.EVENT_RECORDED_CHANGES:
            return RecordedChanges(
                actual=loose(got.get(semconv.CHANGES_ACTUAL)),
                gold=loose(got.get(semconv.CHANGES_GOLD)),
                calls=loose(got.get(semconv.CHANGES_CALLS)),
                by=text(got, semconv.CHANGES_BY),
                span_id=span_id,
                time=event.time,
            )
        case _:
            return None


def _end_state(attributes: Attributes, span_id: str, time: int) -> EndState | None:
    phase, state = attributes.get(semconv.END_STATE_PHASE), text(attributes, semconv.END_STATE_STATE)
    if phase not in ("before", "after") or state is None:
        return None
    digest = text(attributes, semconv.END_STATE_DIGEST)
    return EndState(
        phase=phase,  # type: ignore[arg-type]
        state=state,
        digest=digest,
        digest_matches=None if digest is None else digest == _sha256(state),
        span_id=span_id,
        time=time,
    )


def _sha256(state: str) -> str:
    return hashlib.sha256(state.encode("utf-8", "surrogatepass")).hexdigest()


def of_span(span: Span) -> Iterator[Evidence]:
    """Return the evidence in a span's events. An event whose fields are not of its kind is no evidence."""
    for event in span.events:
        found = _of_event(event, span.span_id)
        if found is not None:
            yield found


_LABELS = (
    semconv.PROJECT,
    semconv.TASK_ID,
    semconv.TRIAL_ID,
    semconv.ATTEMPT,
    semconv.VARIANT,
    semconv.SUITE,
    semconv.LABEL_PREFIX,
    # how a recording was written down is no evidence either
    semconv.TIME_SYNTHETIC,
    semconv.TOOL_REQUESTOR,
    semconv.SUBAGENT,
    semconv.RECORDED_TURNS,
    semconv.TASK_DEFINITION,
)


def present(span: Span) -> bool:
    """True when a span carries evidence of ours. Labels are none: they are stamped on every span of a trial."""
    return any(key.startswith("spanproof.") and not key.startswith(_LABELS) for key, _ in span.pairs) or any(
        event.name.startswith("spanproof.") for event in span.events
    )
