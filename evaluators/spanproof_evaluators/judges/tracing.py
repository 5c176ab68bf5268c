"""Spans of the judges' own calls: GenAI spans under a service name that nobody's trials have."""

from collections.abc import Sequence
from typing import Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from spanproof_instrumentation import semconv

SERVICE: Final = "spanproof-judge"


class _Kept(SpanExporter):
    """Keeps ended spans until somebody takes them."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Keep them."""
        self.spans.extend(spans)
        return SpanExportResult.SUCCESS


class JudgeTraces:
    """Where the spans of one run gather: no content, which the journal has; tokens, models, times and errors."""

    def __init__(self, project: str) -> None:
        """Let spans gather under a project that lists of trials leave out."""
        self._kept = _Kept()
        # a resource of this run alone: variables that name the agent's service are not the judge's
        resource = Resource({semconv.SERVICE_NAME: SERVICE, semconv.PROJECT: project})
        self.provider = TracerProvider(resource=resource, span_limits=SpanLimits(), shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self._kept))

    def take(self) -> list[ReadableSpan]:
        """Return the spans that ended since the last time."""
        spans, self._kept.spans = self._kept.spans, []
        return spans
