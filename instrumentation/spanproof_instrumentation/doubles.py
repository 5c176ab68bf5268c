"""One model call that two libraries tell of: a framework that has spans of its own, over a client that has them too.

The inner span leaves only where it says what the outer does not. Other exporters of the agent get both.
"""

from typing import Final

from opentelemetry.sdk.trace import ReadableSpan

from spanproof_instrumentation import semconv

_MODEL_CALLS: Final = frozenset({"chat", "text_completion", "generate_content"})
_TOLD: Final = (
    semconv.INPUT_MESSAGES,
    semconv.OUTPUT_MESSAGES,
    semconv.TOOL_DEFINITIONS,
    semconv.SYSTEM_INSTRUCTIONS,
    semconv.INPUT_TOKENS,
    semconv.OUTPUT_TOKENS,
)


def same_model_call(inner: ReadableSpan, outer: ReadableSpan) -> bool:
    """Say whether a model call and the one directly around it are told by two libraries."""
    scopes = [span.instrumentation_scope.name if span.instrumentation_scope else "" for span in (inner, outer)]
    return scopes[0] != scopes[1] and all(_operation(span) in _MODEL_CALLS for span in (inner, outer))


def tells_all_of(outer: ReadableSpan, inner: ReadableSpan) -> bool:
    """Say whether the outer span has everything that a reader of the inner one would look for."""
    given = outer.attributes or {}
    return all(name in given for name in _TOLD if name in (inner.attributes or {}))


def _operation(span: ReadableSpan) -> object:
    return (span.attributes or {}).get(semconv.OPERATION)
