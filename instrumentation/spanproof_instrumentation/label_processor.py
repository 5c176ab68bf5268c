"""A span processor that stamps the labels of the trial on every span, whoever starts it."""

from collections.abc import Mapping

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from spanproof_instrumentation.barrier import attempt
from spanproof_instrumentation.labels import labels_of


class LabelProcessor(SpanProcessor):
    """Stamps labels at the start of a span.

    ``inherited`` are the labels that the process was started with: threads that lost their context still get them.
    """

    def __init__(self, inherited: Mapping[str, str | int]) -> None:
        self._inherited = dict(inherited)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Stamp the labels; runs inside any library that starts a span."""
        attempt(None, self._stamp, span, parent_context)

    def on_end(self, span: ReadableSpan) -> None:
        """Do nothing."""

    def _stamp(self, span: Span, parent_context: Context | None) -> None:
        found = self._inherited | labels_of(parent_context)
        if found:
            span.set_attributes(found)
