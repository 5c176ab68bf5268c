"""Claude Code: its spans, and its log, which has more: arguments, decisions, the final answer, the bill."""

import json
from collections.abc import Mapping
from typing import ClassVar, Final

from spanproof_collector.dialects._dialect import Dialect, LogPart, LogReading, LogStep, LogView, SpanView
from spanproof_collector.dialects._json import BrokenError, broken, count, loose, strings, structure, text, word
from spanproof_collector.dialects._messages import messages
from spanproof_collector.dialects._values import dollars, flag, milliseconds
from spanproof_collector.model.readings import (
    ABSENT,
    AgentRun,
    Decision,
    Message,
    ModelCall,
    Other,
    Reading,
    Recorded,
    Text,
    ToolRun,
    Usage,
)
from spanproof_collector.model.values import Attributes, Json, Value
from spanproof_instrumentation import semconv

_REDACTED: Final = "<REDACTED>"
_INPUTS: Final = {
    "full_command": "command",
    "file_path": "file_path",
    "notebook_path": "notebook_path",
    "pattern": "pattern",
    "url": "url",
    "query": "query",
    "skill_name": "skill",
    "subagent_type": "subagent_type",
}
"""What a tool's span has of its arguments, and what the tool itself calls them."""

_OUTPUTS: Final = ("output", "content", "result", "tool_output")
_ABOUT_INPUT: Final = frozenset({*_INPUTS, "bash_command"})


def _usage(attributes: Attributes) -> Usage:
    """Anthropic counts what was read from and written to the cache beside the input; it is part of ours."""
    plain = count(attributes, "input_tokens")
    read, written = count(attributes, "cache_read_tokens"), count(attributes, "cache_creation_tokens")
    whole = None if plain is None else plain + (read or 0) + (written or 0)
    total = count(attributes, semconv.INPUT_TOKENS)
    return Usage(
        input_tokens=whole if total is None else total,
        output_tokens=count(attributes, "output_tokens", semconv.OUTPUT_TOKENS),
        cache_read_tokens=read if read is not None else count(attributes, semconv.CACHE_READ_TOKENS),
        cache_write_tokens=written
        if written is not None
        else count(attributes, semconv.CACHE_WRITE_TOKENS, semconv.CACHE_CREATION_TOKENS),
    )


def _error(attributes: Attributes) -> str | None:
    """What is said of a failure; ``None`` where there was none."""
    if flag(attributes, "success") is not False:
        return None
    return text(attributes, "error", "error_class", "error_type", semconv.ERROR_TYPE) or "error"


def _model_call(attributes: Attributes, *, error: str | None) -> ModelCall:
    return ModelCall(
        operation="chat",
        provider=text(attributes, semconv.PROVIDER, semconv.SYSTEM) or "anthropic",
        request_model=text(attributes, semconv.REQUEST_MODEL, "model"),
        response_model=text(attributes, semconv.RESPONSE_MODEL),
        response_id=text(attributes, "request_id", semconv.RESPONSE_ID),
        finish_reasons=strings(attributes, semconv.FINISH_REASONS) or strings(attributes, "stop_reason"),
        usage=_usage(attributes),
        cost=dollars(attributes.get("cost_usd")),
        error=error,
    )


def _arguments(attributes: Attributes) -> Recorded:
    for key in ("tool_input", "tool_parameters"):
        value = attributes.get(key)
        if value is not None and value != "":
            opened = loose(value)
            if key == "tool_parameters" and isinstance(opened, dict) and isinstance(opened.get("full_command"), str):
                rest = {name: item for name, item in opened.items() if name not in ("full_command", "bash_command")}
                return {"command": opened["full_command"], **rest}
            return opened
    found: dict[str, Json] = {
        name: value for key, name in _INPUTS.items() if isinstance(value := attributes.get(key), str) and value
    }
    return found or ABSENT


def _result(events: Mapping[str, Value]) -> Recorded:
    for key in _OUTPUTS:
        if events.get(key) is not None:
            return loose(events[key])
    rest: dict[str, Json] = {key: loose(value) for key, value in events.items() if key not in _ABOUT_INPUT}
    return rest or ABSENT


def _decision(attributes: Attributes) -> Decision:
    said = text(attributes, "decision") or ""
    return Decision(
        approved={"accept": True, "reject": False, "deny": False, "abort": False}.get(said),
        call_id=text(attributes, "tool_use_id", semconv.TOOL_CALL_ID),
        name=text(attributes, "tool_name", semconv.TOOL_NAME),
        by=text(attributes, "source"),
        arguments=_arguments(attributes),
    )


def _words(value: Value) -> str | None:
    return value if isinstance(value, str) and value and value != _REDACTED else None


class ClaudeCode(Dialect):
    """Spans and log records of the scopes ``com.anthropic.claude_code.*``."""

    name: ClassVar = "claude_code"
    scopes: ClassVar = ("com.anthropic.claude_code", "claude_code")
    log_events: ClassVar = ("claude_code.",)

    def read(self, span: SpanView) -> Reading | None:
        """What the span says, by its ``span.type``.

        The run of a tool is told by a span within the tool's span: that one ends without an error, whatever happened.
        """
        attributes = span.attributes
        kind = text(attributes, "span.type") or span.name.removeprefix("claude_code.")
        match kind:
            case "interaction":
                prompt = _words(attributes.get("user_prompt"))
                return AgentRun(
                    operation="invoke_agent",
                    name=text(attributes, semconv.AGENT_NAME) or "claude-code",
                    version=text(attributes, "app.version"),
                    input=None if prompt is None else (Message(role="user", parts=(Text(content=prompt),)),),
                )
            case "llm_request":
                return _model_call(attributes, error=_error(attributes))
            case "tool":
                result: Recorded = ABSENT
                for event in span.events:
                    if event.name == "tool.output":
                        result = _result(event.attributes)
                arguments = _arguments(attributes)
                return ToolRun(
                    name=text(attributes, semconv.TOOL_NAME, "tool_name") or "",
                    call_id=text(attributes, semconv.TOOL_CALL_ID, "tool_use_id"),
                    arguments=arguments,
                    result=result,
                    truncated_values=broken(arguments) + broken(result),
                )
            case "tool.execution":
                return ToolRun(
                    name="",
                    call_id=text(attributes, semconv.TOOL_CALL_ID, "tool_use_id"),
                    done=flag(attributes, "success") is True,
                    error=_error(attributes),
                )
            case "tool.blocked_on_user":
                return _decision(attributes)
            case _:
                return Other(operation=kind)

    def read_log(self, log: LogView) -> LogReading | None:
        """One entry of the log; entries that tell nothing of a step are claimed and say nothing."""
        attributes = log.attributes
        event = (word(attributes, semconv.EVENT_NAME) or log.event_name).removeprefix("claude_code.")
        sequence = count(attributes, "event.sequence") or 0
        thread = text(attributes, "prompt.id") or ""
        duration = milliseconds(attributes, "duration_ms")

        def step(part: LogPart, reading: ModelCall | ToolRun | Decision | Message) -> LogStep:
            return LogStep(part=part, reading=reading, thread=thread, sequence=sequence, duration=duration)

        match event:
            case "user_prompt":
                prompt = _words(attributes.get("prompt"))
                if prompt is not None:
                    return step("prompt", Message(role="user", parts=(Text(content=prompt),)))
            case "api_request":
                return step("answer", _model_call(attributes, error=None))
            case "api_error":
                said = text(attributes, "error", "status_code") or "error"
                return step("answer", _model_call(attributes, error=said))
            case "assistant_response":
                response = _words(attributes.get("response"))
                if response is not None:
                    said_id = text(attributes, "request_id")
                    spoken = Message(role="assistant", parts=(Text(content=response),))
                    return LogStep(part="words", reading=spoken, thread=thread, sequence=sequence, response_id=said_id)
            case "api_response_body":
                read = _body_message(attributes.get("body"))
                if read is not None:
                    said_id = text(attributes, "request_id")
                    return LogStep(part="words", reading=read, thread=thread, sequence=sequence, response_id=said_id)
            case "tool_decision":
                return step("decision", _decision(attributes))
            case "tool_result":
                arguments = _arguments(attributes)
                result = _result({key: attributes[key] for key in _OUTPUTS if attributes.get(key) is not None})
                return step(
                    "result",
                    ToolRun(
                        name=text(attributes, "tool_name") or "",
                        call_id=text(attributes, "tool_use_id"),
                        arguments=arguments,
                        result=result,
                        done=flag(attributes, "success") is True,
                        error=_error(attributes),
                        truncated_values=broken(arguments) + broken(result),
                    ),
                )
        return Other(operation=event)


def _body_message(body: Value) -> Message | None:
    """The model's message in the raw body of an answer; ``None`` where there is none or it was cut."""
    if not isinstance(body, str | dict):
        return None
    try:
        opened = structure(body)
    except BrokenError:
        return None
    if not isinstance(opened, dict) or opened.get("type") != "message":
        return None
    said = json.dumps([{"role": "assistant", "content": opened.get("content")}])
    return next(iter(messages(said)), None)
