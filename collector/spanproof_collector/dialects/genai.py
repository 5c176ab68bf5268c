"""The GenAI semantic conventions: attributes on spans, and the same on inference detail events."""

from collections.abc import Iterable
from typing import ClassVar

from msgspec.structs import replace

from spanproof_collector.dialects._conventions import model_call, read_operation
from spanproof_collector.dialects._dialect import Dialect, LogReading, LogView, SpanView
from spanproof_collector.dialects._json import number, text
from spanproof_collector.dialects._told_by_events import with_events
from spanproof_collector.model.readings import Reading, ToolRun
from spanproof_collector.model.spans import IMPORTED
from spanproof_collector.model.trials import ForeignResult
from spanproof_collector.model.values import Attributes
from spanproof_instrumentation import semconv


class GenAI(Dialect):
    """Spans with ``gen_ai.operation.name``; log events of inference details and evaluation results."""

    name: ClassVar = "genai"
    marks: ClassVar = frozenset({semconv.OPERATION})
    log_events: ClassVar = (semconv.EVENT_INFERENCE_DETAILS, semconv.EVENT_EVALUATION_RESULT)

    def read(self, span: SpanView) -> Reading | None:
        """What the span says, by its operation; what it lacks, its events may say."""
        reading = read_operation(span.attributes, history=span.history)
        if span.events:
            reading = with_events(reading, span)
        if isinstance(reading, ToolRun) and span.scope == IMPORTED:
            return replace(reading, truncated_values=0)  # a recording is no exporter: nothing cuts its values
        return reading

    def read_log(self, log: LogView) -> LogReading | None:
        """Inference details repeat a span's attributes; an evaluation result is somebody else's word."""
        attributes = log.attributes
        match log.event_name:
            case semconv.EVENT_INFERENCE_DETAILS:
                return model_call(attributes, text(attributes, semconv.OPERATION) or "chat")
            case semconv.EVENT_EVALUATION_RESULT if semconv.EVALUATION_EVALUATOR in attributes:
                return None  # a word of ours that was published: no evidence, or judging a trial would change it
            case semconv.EVENT_EVALUATION_RESULT:
                return _evaluation(attributes, log.span_id)
            case _:
                return None

    def foreign(self, span: SpanView) -> Iterable[ForeignResult]:
        """Evaluation results that were recorded as span events."""
        for event in span.events:
            if event.name == semconv.EVENT_EVALUATION_RESULT:
                yield _evaluation(event.attributes, span.span_id)


def _evaluation(attributes: Attributes, span_id: str) -> ForeignResult:
    return ForeignResult(
        name=text(attributes, semconv.EVALUATION_NAME) or "",
        score=number(attributes.get(semconv.EVALUATION_SCORE)),
        label=text(attributes, semconv.EVALUATION_LABEL),
        explanation=text(attributes, semconv.EVALUATION_EXPLANATION),
        error_type=text(attributes, semconv.ERROR_TYPE),
        span_id=span_id or None,
    )
