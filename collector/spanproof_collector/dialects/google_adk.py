"""Google's Agent Development Kit: the conventions, and its older attributes ``gcp.vertex.agent.*``."""

import re
from typing import ClassVar, Final

from spanproof_collector.dialects._dialect import Dialect, SpanView
from spanproof_collector.dialects._gemini import Contents, members
from spanproof_collector.dialects._json import BrokenError, broken, count, recorded, strings, structure, text
from spanproof_collector.dialects._messages import definitions, messages, schema_of, unread
from spanproof_collector.model.readings import (
    ABSENT,
    Absent,
    AgentRun,
    Message,
    ModelCall,
    Other,
    Reading,
    ToolDefinition,
    ToolRun,
    Usage,
)
from spanproof_collector.model.values import Attributes, Json
from spanproof_instrumentation import semconv

_REQUEST: Final = "gcp.vertex.agent.llm_request"
_RESPONSE: Final = "gcp.vertex.agent.llm_response"
_ARGUMENTS: Final = "gcp.vertex.agent.tool_call_args"
_RESULT: Final = "gcp.vertex.agent.tool_response"
_NOT_SPECIFIED: Final = "<not specified>"
_MERGED: Final = "(merged tools)"
_WAITS: Final = re.compile(r"requires (confirmation|approval)", re.IGNORECASE)
_REJECTED: Final = re.compile(r"tool call (is|was) rejected", re.IGNORECASE)


_contents: Final = Contents()


def _usage(attributes: Attributes) -> Usage:
    """Thoughts are part of the output, cached tokens of the input: it adds them up itself."""
    return Usage(
        input_tokens=count(attributes, semconv.INPUT_TOKENS),
        output_tokens=count(attributes, semconv.OUTPUT_TOKENS),
        cache_read_tokens=count(attributes, semconv.CACHE_READ_TOKENS),
        cache_write_tokens=count(attributes, semconv.CACHE_WRITE_TOKENS, semconv.CACHE_CREATION_TOKENS),
        reasoning_tokens=count(attributes, semconv.REASONING_TOKENS, "gen_ai.usage.experimental.reasoning_tokens"),
    )


def _opened(attributes: Attributes, key: str) -> tuple[dict[str, Json], int]:
    """The object under a key, and 1 where it was cut. ``{}`` stands for content that was not to be captured."""
    value = attributes.get(key)
    if value is None:
        return {}, 0
    try:
        return members(structure(value)), 0
    except BrokenError:
        return {}, 1


def _conventional(attributes: Attributes, key: str) -> tuple[tuple[Message, ...] | None, int]:
    value = attributes.get(key)
    if value is None or value == "":
        return None, 0
    try:
        read = messages(value)
    except BrokenError:
        return None, 1
    return read, unread(read)


def _tools(attributes: Attributes) -> tuple[ToolDefinition, ...]:
    try:
        return definitions(attributes[semconv.TOOL_DEFINITIONS]) if attributes.get(semconv.TOOL_DEFINITIONS) else ()
    except BrokenError:
        return ()


def _declared(request: dict[str, Json]) -> tuple[ToolDefinition, ...]:
    groups = members(request.get("config")).get("tools")
    found = []
    for group in groups if isinstance(groups, list) else []:
        declared = members(group).get("function_declarations")
        for item in declared if isinstance(declared, list) else []:
            name = members(item).get("name")
            if isinstance(name, str) and name:
                found.append(ToolDefinition(name=name, parameters=schema_of(members(item))))
    return tuple(found)


def _model_call(attributes: Attributes, *, history: bool) -> ModelCall:
    given, cut_in = _conventional(attributes, semconv.INPUT_MESSAGES) if history else (None, 0)
    answered, cut_out = _conventional(attributes, semconv.OUTPUT_MESSAGES)
    request, cut_request = _opened(attributes, _REQUEST) if history else ({}, 0)
    response, cut_response = _opened(attributes, _RESPONSE)
    if given is None and request.get("contents") is not None:
        given = _contents.messages(request["contents"])
    if answered is None and response.get("content") is not None:
        reason = response.get("finish_reason")
        answered = (_contents.message(response["content"], reason if isinstance(reason, str) else None),)
    return ModelCall(
        operation="generate_content",
        provider=_provider(attributes),
        request_model=text(attributes, semconv.REQUEST_MODEL),
        response_model=text(attributes, semconv.RESPONSE_MODEL),
        response_id=text(attributes, semconv.RESPONSE_ID),
        input=given,
        output=answered,
        tools=(_tools(attributes) or _declared(request)) if history else (),
        finish_reasons=strings(attributes, semconv.FINISH_REASONS),
        usage=_usage(attributes),
        truncated_values=cut_in + cut_out + cut_request + cut_response,
    )


def _provider(attributes: Attributes) -> str | None:
    """Who answered: the kit writes its own name there, or that of its model's class."""
    named = text(attributes, semconv.PROVIDER, semconv.SYSTEM)
    return "gcp.gemini" if named == "gemini" else None if named == "gcp.vertex.agent" else named


def _tool_run(attributes: Attributes, name: str) -> ToolRun:
    arguments = recorded(attributes, semconv.TOOL_ARGUMENTS)
    result = recorded(attributes, semconv.TOOL_RESULT)
    if isinstance(arguments, Absent) and isinstance(result, Absent):
        arguments, result = recorded(attributes, _ARGUMENTS), recorded(attributes, _RESULT)
        if result == {}:  # content was not to be captured: both are written so
            arguments, result = arguments if arguments != {} else ABSENT, ABSENT
    if result == {"result": _NOT_SPECIFIED}:
        result = ABSENT
    call_id = text(attributes, semconv.TOOL_CALL_ID)
    said = members(None if isinstance(result, Absent) else result).get("error")
    waits = isinstance(said, str) and _WAITS.search(said)
    rejected = isinstance(said, str) and _REJECTED.search(said)
    return ToolRun(
        name=name,
        call_id=None if call_id == _NOT_SPECIFIED else call_id,
        arguments=arguments,
        result=ABSENT if waits or rejected else result,  # whatever the model was told of it
        stopped="deferred" if waits else "denied" if rejected else None,
        truncated_values=broken(arguments) + broken(result),
    )


class GoogleADK(Dialect):
    """Spans of the scope ``gcp.vertex.agent``."""

    name: ClassVar = "google_adk"
    scopes: ClassVar = ("gcp.vertex.agent",)
    marks: ClassVar = frozenset({_REQUEST, _ARGUMENTS, "gcp.vertex.agent.invocation_id", "gcp.vertex.agent.event_id"})
    session_keys: ClassVar = ("gcp.vertex.agent.session_id",)

    def read(self, span: SpanView) -> Reading | None:
        """What the span says, by its operation; before version 1.36 of the conventions an inference has none.

        After several calls at once it writes a span that only holds all their answers together: no call of its own.
        """
        attributes = span.attributes
        operation = text(attributes, semconv.OPERATION)
        name = text(attributes, semconv.TOOL_NAME)
        if operation == "execute_tool" or (operation is None and name and _ARGUMENTS in attributes):
            return Other(operation="merged_tools") if name == _MERGED else _tool_run(attributes, name or "")
        match operation:
            case "generate_content" | "chat" | "text_completion":
                return _model_call(attributes, history=span.history)
            case "invoke_agent" | "invoke_workflow":
                given, cut_in = _conventional(attributes, semconv.INPUT_MESSAGES) if span.history else (None, 0)
                answered, cut_out = _conventional(attributes, semconv.OUTPUT_MESSAGES)
                return AgentRun(
                    operation=operation,
                    name=text(attributes, semconv.AGENT_NAME, semconv.WORKFLOW_NAME),
                    input=given,
                    output=answered,
                    truncated_values=cut_in + cut_out,
                )
            case None if _REQUEST in attributes:
                return _model_call(attributes, history=span.history)
            case _:
                return Other(operation=operation or span.name.partition(" ")[0])
