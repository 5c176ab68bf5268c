"""any-agent (mozilla.ai): the conventions' operations, contents under ``gen_ai.output`` and ``gen_ai.tool.args``."""

import json
from typing import ClassVar, Final

from spanproof_collector.dialects._dialect import Dialect, SpanView
from spanproof_collector.dialects._json import BrokenError, broken, count, loose, recorded, text
from spanproof_collector.dialects._messages import messages, unread
from spanproof_collector.dialects._values import dollars
from spanproof_collector.model.readings import (
    ABSENT,
    CallPart,
    Message,
    ModelCall,
    Part,
    Reading,
    Recorded,
    Text,
    ToolRun,
    Usage,
)
from spanproof_collector.model.values import Attributes
from spanproof_instrumentation import semconv

_OUTPUT: Final = "gen_ai.output"
_OUTPUT_TYPE: Final = "gen_ai.output.type"
_ARGUMENTS: Final = "gen_ai.tool.args"
_COSTS: Final = ("gen_ai.usage.input_cost", "gen_ai.usage.output_cost")


class AnyAgent(Dialect):
    """Spans of any-agent. Its agent spans are those of the conventions."""

    name: ClassVar = "any-agent"
    marks: ClassVar = frozenset({_OUTPUT, _ARGUMENTS})

    def read(self, span: SpanView) -> Reading | None:
        """What the span says, by its operation."""
        match span.attributes.get(semconv.OPERATION):
            case "call_llm":
                return _model_call(span.attributes, history=span.history)
            case "execute_tool":
                return _tool_run(span.attributes)
            case _:
                return None


def _model_call(attributes: Attributes, *, history: bool) -> ModelCall:
    given, cut = None, 0
    if history and attributes.get(semconv.INPUT_MESSAGES):
        try:
            given = messages(attributes[semconv.INPUT_MESSAGES])
            cut = unread(given)
        except BrokenError:
            cut = 1
    costs = [dollars(attributes.get(key)) for key in _COSTS]
    known = [amount for amount in costs if amount is not None]
    return ModelCall(
        operation="chat",
        request_model=text(attributes, semconv.REQUEST_MODEL),
        input=given,
        output=_output(attributes),
        usage=Usage(
            input_tokens=count(attributes, semconv.INPUT_TOKENS),
            output_tokens=count(attributes, semconv.OUTPUT_TOKENS),
        ),
        cost=sum(known[1:], known[0]) if known else None,
        truncated_values=cut,
    )


def _output(attributes: Attributes) -> tuple[Message, ...] | None:
    """Calls stand there as a list of names and arguments; anything else is the answer."""
    said = attributes.get(_OUTPUT)
    if said is None:
        return None
    opened = loose(said)
    parts: tuple[Part, ...] = ()
    if isinstance(opened, list) and opened and all(isinstance(item, dict) and "tool.name" in item for item in opened):
        parts = tuple(
            CallPart(name=str(item["tool.name"]), arguments=loose(item["tool.args"]) if "tool.args" in item else ABSENT)
            for item in opened
            if isinstance(item, dict)
        )
    else:
        parts = (Text(content=said if isinstance(said, str) else json.dumps(opened, ensure_ascii=False)),)
    return (Message(role="assistant", parts=parts),)


def _tool_run(attributes: Attributes) -> ToolRun:
    arguments, result = recorded(attributes, _ARGUMENTS), _result(attributes)
    return ToolRun(
        name=text(attributes, semconv.TOOL_NAME) or "",
        call_id=text(attributes, semconv.TOOL_CALL_ID),
        arguments=arguments,
        result=result,
        truncated_values=broken(arguments) + broken(result),
    )


def _result(attributes: Attributes) -> Recorded:
    result = recorded(attributes, _OUTPUT)
    return None if result == "null" and attributes.get(_OUTPUT_TYPE) == "json" else result
