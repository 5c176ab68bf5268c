"""The attributes of the GenAI conventions, which most dialects share: read here, used by each as far as it goes."""

from typing import Final

from spanproof_collector.dialects._json import BrokenError, broken, count, loose, recorded, strings, text, unblocked
from spanproof_collector.dialects._messages import definitions, messages, messages_of, unread
from spanproof_collector.dialects._schema import read_schema
from spanproof_collector.dialects._usage import whole
from spanproof_collector.model.readings import (
    ABSENT,
    AgentRun,
    Message,
    ModelCall,
    Other,
    Reading,
    Retrieval,
    ToolDefinition,
    ToolRun,
    Usage,
)
from spanproof_collector.model.values import Attributes, Json, Value
from spanproof_instrumentation import semconv

INFERENCE = frozenset({"chat", "generate_content", "text_completion"})
AGENTS = frozenset({"invoke_agent", "invoke_workflow"})


def read_operation(attributes: Attributes, *, history: bool) -> Reading | None:
    """Return what a span says by ``gen_ai.operation.name``; ``None`` where it has none."""
    operation = attributes.get(semconv.OPERATION)
    if not isinstance(operation, str):
        return None
    if operation in INFERENCE:
        return model_call(attributes, operation, history=history)
    if operation in AGENTS:
        return agent_run(attributes, operation, history=history)
    match operation:
        case "execute_tool":
            return tool_run(attributes, history=history)
        case "retrieval":
            return Retrieval(
                query=text(attributes, semconv.RETRIEVAL_QUERY), source=text(attributes, semconv.DATA_SOURCE_ID)
            )
        case _:
            return Other(operation=operation)


def read_messages(attributes: Attributes, key: str) -> tuple[tuple[Message, ...] | None, int]:
    """Return the messages under a key, ``None`` where they were not captured, and how many values were cut."""
    value = attributes.get(key)
    older = _BEFORE.get(key, "") if value is None else ""
    if older in attributes:
        value = attributes[older]
    if value is None or value == "":
        return None, 0
    if isinstance(value, str) and key in attributes and (spelled := read_schema(value)) is not None:
        return spelled, 0
    try:
        read = messages(value) if key in attributes else messages_of(_with_roles(value, key))
    except BrokenError:
        return None, 1
    return read, unread(read)


_BEFORE: Final = {semconv.INPUT_MESSAGES: "gen_ai.prompt", semconv.OUTPUT_MESSAGES: "gen_ai.completion"}
"""What held messages in the versions before, as JSON."""


def _with_roles(value: Value, key: str) -> list[Json]:
    """Return older messages, which name no role where it goes without saying; a bare text is one."""
    role = "user" if key == semconv.INPUT_MESSAGES else "assistant"
    found = loose(value)
    told: list[Json] = []
    for item in found if isinstance(found, list) else [found]:
        message: dict[str, Json] = dict(item) if isinstance(item, dict) else {"content": item}
        inner = message.get("message")
        if isinstance(inner, dict):
            message = {**inner, "finish_reason": message.get("finish_reason")}
        message.setdefault("role", role)
        if "text" in message:
            message.setdefault("content", message["text"])
        told.append(message)
    return told


def _tools(attributes: Attributes) -> tuple[tuple[ToolDefinition, ...], int]:
    value = attributes.get(semconv.TOOL_DEFINITIONS)
    if value is None or value == "":
        return (), 0
    try:
        return definitions(value), 0
    except BrokenError:
        return (), 1


def usage(attributes: Attributes) -> Usage:
    """Return the tokens; ``None`` where a count was not recorded. By the conventions the input includes the cache."""
    cache_write = reasoning = total = None
    if not attributes.keys().isdisjoint(_SELDOM):
        cache_write, reasoning, total = (count(attributes, *keys) for keys in _SELDOM_COUNTED)
    return whole(
        input_tokens=count(attributes, semconv.INPUT_TOKENS, semconv.PROMPT_TOKENS),
        output_tokens=count(attributes, semconv.OUTPUT_TOKENS, semconv.COMPLETION_TOKENS),
        cache_read=count(attributes, semconv.CACHE_READ_TOKENS, semconv.OLD_CACHE_READ_TOKENS),
        cache_write=cache_write,
        reasoning=reasoning,
        total=total,
    )


_SELDOM_COUNTED: Final = (
    (semconv.CACHE_WRITE_TOKENS, semconv.CACHE_CREATION_TOKENS, *semconv.OLD_CACHE_WRITE_TOKENS),
    (semconv.REASONING_TOKENS, semconv.OLD_REASONING_TOKENS),
    semconv.TOTAL_TOKENS,
)
"""What is written to a cache, reasoning, and the total."""

_SELDOM: Final = frozenset(key for keys in _SELDOM_COUNTED for key in keys)


def model_call(attributes: Attributes, operation: str, *, history: bool = True) -> ModelCall:
    """Return an inference."""
    given, cut_in = read_messages(attributes, semconv.INPUT_MESSAGES) if history else (None, 0)
    answered, cut_out = read_messages(attributes, semconv.OUTPUT_MESSAGES)
    tools, cut_tools = _tools(attributes) if history else ((), 0)
    return ModelCall(
        operation=operation,
        provider=text(attributes, semconv.PROVIDER, semconv.SYSTEM),
        request_model=text(attributes, semconv.REQUEST_MODEL),
        response_model=text(attributes, semconv.RESPONSE_MODEL),
        response_id=text(attributes, semconv.RESPONSE_ID) if history else None,
        input=given,
        output=answered,
        tools=tools,
        finish_reasons=strings(attributes, semconv.FINISH_REASONS) if history else (),
        usage=usage(attributes),
        truncated_values=cut_in + cut_out + cut_tools,
    )


def agent_run(attributes: Attributes, operation: str, *, history: bool = True) -> AgentRun:
    """Return a run of an agent or workflow."""
    given, cut_in = read_messages(attributes, semconv.INPUT_MESSAGES) if history else (None, 0)
    answered, cut_out = read_messages(attributes, semconv.OUTPUT_MESSAGES)
    tools, cut_tools = _tools(attributes) if history else ((), 0)
    return AgentRun(
        operation=operation,
        name=text(attributes, semconv.AGENT_NAME, semconv.WORKFLOW_NAME),
        version=text(attributes, semconv.AGENT_VERSION),
        model=text(attributes, semconv.REQUEST_MODEL),
        input=given,
        output=answered,
        tools=tools,
        finish_reasons=strings(attributes, semconv.FINISH_REASONS),
        usage=usage(attributes),
        delegated=attributes.get(semconv.SUBAGENT) is True,
        truncated_values=cut_in + cut_out + cut_tools,
    )


def tool_run(attributes: Attributes, *, history: bool = True) -> ToolRun:
    """Return a run of a tool."""
    arguments = recorded(attributes, semconv.TOOL_ARGUMENTS)
    said = attributes.get(semconv.TOOL_RESULT) if history else None
    result = ABSENT if said is None else unblocked(loose(said))
    return ToolRun(
        name=text(attributes, semconv.TOOL_NAME) or "",
        call_id=text(attributes, semconv.TOOL_CALL_ID),
        arguments=arguments,
        result=result,
        by_user=attributes.get(semconv.TOOL_REQUESTOR) == "user",
        truncated_values=broken(arguments) + broken(result),
    )
