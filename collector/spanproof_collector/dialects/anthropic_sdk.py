"""The Anthropic SDK's own spans: the conventions' attributes, and a few names of its own."""

from typing import ClassVar, Final

from msgspec.structs import replace

from spanproof_collector.dialects._conventions import read_operation
from spanproof_collector.dialects._dialect import Dialect, SpanView
from spanproof_collector.dialects._json import broken, count, loose, strings, unblocked
from spanproof_collector.model.readings import Absent, ModelCall, Reading, ToolRun

_RESULT: Final = "anthropic.tool_result.content"
_STOP_REASON: Final = "anthropic.message.stop_reason"
_TRUNCATED: Final = "anthropic.content.truncated"


class AnthropicSdk(Dialect):
    """Spans of the scopes ``com.anthropic.sdk.*``, or with a tool's result or a stop reason under its names.

    In thread mode the input messages are only what is new since the call before; calls and results are joined by id.
    """

    name: ClassVar = "anthropic"
    marks: ClassVar = frozenset({_RESULT, _STOP_REASON})
    scopes: ClassVar = ("com.anthropic.sdk.",)

    def read(self, span: SpanView) -> Reading | None:
        """What the span says, by its operation."""
        attributes = span.attributes
        reading = read_operation(attributes, history=span.history)
        marked = attributes.get(_TRUNCATED)
        # a flag, or how many parts were taken out
        cut = count(attributes, _TRUNCATED) or int(marked is True or marked == "true")
        match reading:
            case ModelCall():
                return replace(
                    reading,
                    finish_reasons=reading.finish_reasons or strings(attributes, _STOP_REASON),
                    truncated_values=reading.truncated_values + cut,
                )
            case ToolRun():
                said = attributes.get(_RESULT)
                if not isinstance(reading.result, Absent) or said is None:
                    return replace(reading, truncated_values=reading.truncated_values + cut)
                result = unblocked(loose(said))
                return replace(reading, result=result, truncated_values=reading.truncated_values + broken(result) + cut)
            case _:
                return reading
