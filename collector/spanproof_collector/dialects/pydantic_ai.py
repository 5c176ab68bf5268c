"""Pydantic AI: the conventions, marks of its own for deferred and invalid calls, and whole conversations on runs."""

from typing import ClassVar, Final

from msgspec.structs import replace

from spanproof_collector.dialects._conventions import read_messages, read_operation
from spanproof_collector.dialects._dialect import Dialect, SpanView
from spanproof_collector.dialects._join import canonical
from spanproof_collector.dialects._json import amount, broken, count, loose, recorded, text, unblocked
from spanproof_collector.model.readings import (
    Absent,
    AgentRun,
    CallPart,
    Message,
    ModelCall,
    Reading,
    Text,
    ToolRun,
)
from spanproof_collector.model.values import Attributes, Json

_DEFERRAL: Final = "pydantic_ai.tool.deferral.name"
_FAILURE_STAGE: Final = "pydantic_ai.tool.failure_stage"
_ALL_MESSAGES: Final = "pydantic_ai.all_messages"
_FINAL_RESULT: Final = "final_result"
_PARAMETERS: Final = "model_request_parameters"
_REASONING: Final = "gen_ai.usage.details.reasoning_tokens"


class PydanticAI(Dialect):
    """Spans of the scope ``pydantic-ai``, or with marks of its own."""

    name: ClassVar = "pydantic_ai"
    marks: ClassVar = frozenset({_DEFERRAL, _FAILURE_STAGE, _ALL_MESSAGES, _PARAMETERS})
    scopes: ClassVar = ("pydantic-ai",)

    def read(self, span: SpanView) -> Reading | None:
        """What the span says, by its operation."""
        attributes = span.attributes
        reading = read_operation(attributes, history=span.history)
        match reading:
            case ToolRun():
                return _tool_run(attributes, reading)
            case ModelCall():
                reasoning = count(attributes, _REASONING)
                spent = reading.usage.reasoning_tokens
                return replace(
                    reading,
                    output=_without_output_tools(reading.output, attributes),
                    cost=amount(attributes.get("operation.cost")),
                    usage=replace(reading.usage, reasoning_tokens=reasoning if spent is None else spent),
                )
            case AgentRun():
                return _agent_run(attributes, reading, history=span.history)
            case _:
                return reading


def _tool_run(attributes: Attributes, run: ToolRun) -> ToolRun:
    if isinstance(run.arguments, Absent):  # version 2
        arguments = recorded(attributes, "tool_arguments")
        run = replace(run, arguments=arguments, truncated_values=run.truncated_values + broken(arguments))
    if isinstance(run.result, Absent) and "tool_response" in attributes:
        result = unblocked(loose(attributes["tool_response"]))
        run = replace(run, result=result, truncated_values=run.truncated_values + broken(result))
    if attributes.get(_FAILURE_STAGE) == "validation":
        return replace(run, stopped="invalid")
    # a call that is deferred for any other reason is run elsewhere: nothing is known of it but its result
    return replace(run, stopped="deferred") if attributes.get(_DEFERRAL) == "ApprovalRequired" else run


def _without_output_tools(said: tuple[Message, ...] | None, attributes: Attributes) -> tuple[Message, ...] | None:
    """The tool by which a model hands over a structured answer is no tool of the agent: its arguments are words."""
    if not said or _PARAMETERS not in attributes:
        return said
    parameters = loose(attributes[_PARAMETERS])
    tools = parameters.get("output_tools") if isinstance(parameters, dict) else None
    names = {tool.get("name") for tool in tools if isinstance(tool, dict)} if isinstance(tools, list) else set()
    if not names:
        return said
    return tuple(
        replace(
            message,
            parts=tuple(
                Text(content=_as_text(part.arguments)) if isinstance(part, CallPart) and part.name in names else part
                for part in message.parts
            ),
        )
        for message in said
    )


def _as_text(value: "Json | Absent") -> str:
    return "" if isinstance(value, Absent) else value if isinstance(value, str) else canonical(value)


def _agent_run(attributes: Attributes, run: AgentRun, *, history: bool) -> AgentRun:
    conversation, cut = read_messages(attributes, _ALL_MESSAGES)
    said = text(attributes, _FINAL_RESULT)
    last = conversation[-1:] if conversation else ()
    waits = any(isinstance(part, CallPart) for message in last for part in message.parts)
    output = last if last and (waits or last[0].role == "assistant") else None
    if said is not None and not waits:
        output = (Message(role="assistant", parts=(Text(content=said),)),)
    given = conversation[:-1] if conversation and history else None
    return replace(
        run,
        name=run.name or text(attributes, "agent_name"),
        model=run.model or text(attributes, "model_name"),
        input=run.input or given,
        output=run.output or output,
        truncated_values=run.truncated_values + cut,
    )
