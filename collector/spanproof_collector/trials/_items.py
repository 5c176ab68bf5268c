"""One span with what it says, and how two tellings of one inference or one tool run become one."""

from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from spanproof_collector.dialects import word
from spanproof_collector.model.readings import Absent, ModelCall, Reading, ToolRun
from spanproof_collector.model.spans import Span, SpanEvent
from spanproof_instrumentation import semconv

_TRACEBACK: Final = "Traceback (most recent call last)"
"""Some senders put a whole traceback behind the error."""


def _exception(event: SpanEvent) -> str:
    if event.name != "exception":
        return ""
    told = [value for key in ("exception.type", "exception.message") if (value := word(event.attributes, key))]
    return ": ".join(told)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSpan:
    """A span and what it says. ``depth`` is its distance from the root that is known."""

    span: Span
    reading: Reading | None
    depth: int

    @property
    def failed(self) -> bool:
        """True where the span's status is ERROR, or its dialect tells of a failure."""
        return self.span.status == "ERROR" or getattr(self.reading, "error", None) is not None

    @property
    def error(self) -> str:
        """What is said of the failure: by the dialect, the status, or an exception's event."""
        told = getattr(self.reading, "error", None) or self.span.status_message
        told = told or next((said for event in reversed(self.span.events) if (said := _exception(event))), "")
        return told.partition(_TRACEBACK)[0].strip() or told

    def read_as(self, reading: Reading) -> "ReadSpan":
        """The same span, read otherwise."""
        return ReadSpan(span=self.span, reading=reading, depth=self.depth)

    @property
    def timed(self) -> bool:
        """False where the span's times only keep the order of a recording that has none."""
        return self.span.attributes.get(semconv.TIME_SYNTHETIC) is not True

    @property
    def order(self) -> tuple[int, int, str]:
        """Start, then depth, then id: the order of steps, whatever the order of arrival."""
        return (self.span.start, self.depth, self.span.span_id)


def merged(call: ModelCall, told: ModelCall) -> ModelCall:
    """Fill what the span lacks from its log record."""
    usage = replace(
        call.usage,
        **{
            name: getattr(told.usage, name)
            for name in call.usage.__struct_fields__
            if getattr(call.usage, name) is None
        },
    )
    return replace(
        call,
        provider=call.provider or told.provider,
        request_model=call.request_model or told.request_model,
        response_model=call.response_model or told.response_model,
        response_id=call.response_id or told.response_id,
        input=told.input if call.input is None else call.input,
        output=told.output if call.output is None else call.output,
        tools=call.tools or told.tools,
        finish_reasons=call.finish_reasons or told.finish_reasons,
        usage=usage,
        cost=told.cost if call.cost is None else call.cost,
        # what the log record holds whole is not lost
        truncated_values=min(call.truncated_values, told.truncated_values)
        if told.input or told.output
        else call.truncated_values,
    )


def merged_run(run: ToolRun, told: ToolRun) -> ToolRun:
    """Fill what the span of a tool lacks from a log record of the same call."""
    return replace(
        run,
        name=run.name or told.name,
        call_id=run.call_id or told.call_id,
        arguments=told.arguments if isinstance(run.arguments, Absent) else run.arguments,
        result=told.result if isinstance(run.result, Absent) else run.result,
        done=run.done or told.done,
        error=run.error or told.error,
        exit_code=told.exit_code if run.exit_code is None else run.exit_code,
        stopped=run.stopped or told.stopped,
        truncated_values=run.truncated_values + told.truncated_values,
    )
