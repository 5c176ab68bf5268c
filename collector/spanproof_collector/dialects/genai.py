"""The GenAI semantic conventions: attributes on spans, and the same on inference detail events."""

import json
import math
from collections.abc import Iterable
from typing import ClassVar, Final

from spanproof_collector.dialects._dialect import Dialect, LogReading, LogView, SpanView
from spanproof_collector.dialects._json import BrokenError, broken, count, loose, recorded, strings, text, unblocked
from spanproof_collector.dialects._messages import definitions, messages, unread
from spanproof_collector.model.readings import (
    ABSENT,
    AgentRun,
    Message,
    ModelCall,
    Other,
    Reading,
    Recorded,
    Retrieval,
    ToolDefinition,
    ToolRun,
    Usage,
)
from spanproof_collector.model.spans import IMPORTED
from spanproof_collector.model.trials import ForeignResult
from spanproof_collector.model.values import Attributes, Json, Value
from spanproof_instrumentation import semconv

_INFERENCE = frozenset({"chat", "generate_content", "text_completion"})
_AGENTS = frozenset({"invoke_agent", "invoke_workflow"})

# What the Anthropic SDK's own spans call the result of a tool and the reason to stop.
_ANTHROPIC_RESULT: Final = "anthropic.tool_result.content"
_ANTHROPIC_STOP_REASON: Final = "anthropic.message.stop_reason"


_BEFORE: Final = {semconv.INPUT_MESSAGES: "gen_ai.prompt", semconv.OUTPUT_MESSAGES: "gen_ai.completion"}
"""What held messages in the versions before, as JSON."""


def _messages(attributes: Attributes, key: str) -> tuple[tuple[Message, ...] | None, int]:
    value = attributes.get(key)
    older = value is None and _BEFORE[key] in attributes
    if older:
        value = attributes[_BEFORE[key]]
    if value is None or value == "":
        return None, 0
    try:
        read = messages(_with_roles(value, key) if older else value)
    except BrokenError:
        return None, 1
    return read, unread(read)


def _with_roles(value: Value, key: str) -> str:
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
    return json.dumps(told)


def _tools(attributes: Attributes) -> tuple[tuple[ToolDefinition, ...], int]:
    value = attributes.get(semconv.TOOL_DEFINITIONS)
    if value is None or value == "":
        return (), 0
    try:
        return definitions(value), 0
    except BrokenError:
        return (), 1


def _finite(value: Value) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if known and isinstance(value, int | float) else None


def usage(attributes: Attributes) -> Usage:
    """Return the tokens; ``None`` where a count was not recorded."""
    return Usage(
        input_tokens=count(attributes, semconv.INPUT_TOKENS),
        output_tokens=count(attributes, semconv.OUTPUT_TOKENS),
        cache_read_tokens=count(attributes, semconv.CACHE_READ_TOKENS),
        cache_write_tokens=count(attributes, semconv.CACHE_WRITE_TOKENS, semconv.CACHE_CREATION_TOKENS),
        reasoning_tokens=count(attributes, semconv.REASONING_TOKENS),
    )


def _model_call(attributes: Attributes, operation: str, *, history: bool = True) -> ModelCall:
    given, cut_in = _messages(attributes, semconv.INPUT_MESSAGES) if history else (None, 0)
    answered, cut_out = _messages(attributes, semconv.OUTPUT_MESSAGES)
    tools, cut_tools = _tools(attributes) if history else ((), 0)
    return ModelCall(
        operation=operation,
        provider=text(attributes, semconv.PROVIDER, semconv.SYSTEM),
        request_model=text(attributes, semconv.REQUEST_MODEL),
        response_model=text(attributes, semconv.RESPONSE_MODEL),
        response_id=text(attributes, semconv.RESPONSE_ID),
        input=given,
        output=answered,
        tools=tools,
        finish_reasons=strings(attributes, semconv.FINISH_REASONS) or strings(attributes, _ANTHROPIC_STOP_REASON),
        usage=usage(attributes),
        truncated_values=cut_in + cut_out + cut_tools,
    )


def _agent_run(attributes: Attributes, operation: str, *, history: bool) -> AgentRun:
    given, cut_in = _messages(attributes, semconv.INPUT_MESSAGES) if history else (None, 0)
    answered, cut_out = _messages(attributes, semconv.OUTPUT_MESSAGES)
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


def _result(attributes: Attributes) -> Recorded:
    for key in (semconv.TOOL_RESULT, _ANTHROPIC_RESULT):
        value = attributes.get(key)
        if value is not None:
            return unblocked(loose(value))
    return ABSENT


def _evaluation(attributes: Attributes, span_id: str) -> ForeignResult:
    return ForeignResult(
        name=text(attributes, semconv.EVALUATION_NAME) or "",
        score=_finite(attributes.get(semconv.EVALUATION_SCORE)),
        label=text(attributes, semconv.EVALUATION_LABEL),
        explanation=text(attributes, semconv.EVALUATION_EXPLANATION),
        error_type=text(attributes, semconv.ERROR_TYPE),
        span_id=span_id or None,
    )


class GenAI(Dialect):
    """Spans with ``gen_ai.operation.name``; log events of inference details and evaluation results."""

    name: ClassVar = "genai"
    marks: ClassVar = frozenset({semconv.OPERATION})
    log_events: ClassVar = (semconv.EVENT_INFERENCE_DETAILS, semconv.EVENT_EVALUATION_RESULT)

    def read(self, span: SpanView) -> Reading | None:
        """What the span says, by its operation."""
        attributes, history = span.attributes, span.history
        operation = attributes.get(semconv.OPERATION)
        if not isinstance(operation, str):
            return None
        if operation in _INFERENCE:
            return _model_call(attributes, operation, history=history)
        if operation in _AGENTS:
            return _agent_run(attributes, operation, history=history)
        match operation:
            case "execute_tool":
                arguments = recorded(attributes, semconv.TOOL_ARGUMENTS)
                result = _result(attributes)
                return ToolRun(
                    name=text(attributes, semconv.TOOL_NAME) or "",
                    call_id=text(attributes, semconv.TOOL_CALL_ID),
                    arguments=arguments,
                    result=result,
                    by_user=attributes.get(semconv.TOOL_REQUESTOR) == "user",
                    # a recording is no exporter: nothing cuts its values
                    truncated_values=0 if span.scope == IMPORTED else broken(arguments) + broken(result),
                )
            case "retrieval":
                return Retrieval(
                    query=text(attributes, semconv.RETRIEVAL_QUERY), source=text(attributes, semconv.DATA_SOURCE_ID)
                )
            case _:
                return Other(operation=operation)

    def read_log(self, log: LogView) -> LogReading | None:
        """Inference details repeat a span's attributes; an evaluation result is somebody else's word."""
        attributes = log.attributes
        match log.event_name:
            case semconv.EVENT_INFERENCE_DETAILS:
                return _model_call(attributes, text(attributes, semconv.OPERATION) or "chat")
            case semconv.EVENT_EVALUATION_RESULT:
                return _evaluation(attributes, log.span_id)
            case _:
                return None

    def foreign(self, span: SpanView) -> Iterable[ForeignResult]:
        """Evaluation results that were recorded as span events."""
        for event in span.events:
            if event.name == semconv.EVENT_EVALUATION_RESULT:
                yield _evaluation(event.attributes, span.span_id)
