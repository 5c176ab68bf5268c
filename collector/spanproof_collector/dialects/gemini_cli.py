"""Gemini CLI: spans and log records with contents in the shapes of the Gemini API."""

import re
from typing import ClassVar, Final

from spanproof_collector.dialects._dialect import Dialect, LogPart, LogReading, LogStep, LogView, SpanView
from spanproof_collector.dialects._gemini import Contents, members, string
from spanproof_collector.dialects._json import (
    BrokenError,
    broken,
    count,
    loose,
    recorded,
    strings,
    structure,
    text,
    word,
)
from spanproof_collector.dialects._messages import schema_of
from spanproof_collector.dialects._values import flag, milliseconds
from spanproof_collector.model.readings import (
    ABSENT,
    Absent,
    AgentRun,
    Message,
    ModelCall,
    Other,
    Part,
    Reading,
    Recorded,
    Text,
    ToolDefinition,
    ToolRun,
    Usage,
)
from spanproof_collector.model.values import Attributes, Json, Value
from spanproof_instrumentation import semconv

_CALL_ID: Final = "gen_ai.tool.call_id"
_STATUS: Final = re.compile(r'^\s*\{"status":\s*"(\w+)"')
"""How a tool's output begins: also where it was cut at 10,000 characters."""

_SHELL: Final = re.compile(
    r"(?:<untrusted_context>\n)?Output: (?P<output>.*?)"
    r"(?:\n(?:Error|Exit Code|Signal|Background PIDs|Process Group PGID): [^\n]*)*(?:\n</untrusted_context>)?\s*",
    re.DOTALL,
)
"""What its shell puts around the output of a command."""

_FAILED: Final = re.compile(r"^Exit Code: (?!0$)|^Signal: (?!\(none\)$)|^Error: (?!\(none\)$)", re.MULTILINE)
"""How its shell tells of a command that failed; the tool itself is said to have succeeded."""

_NOT_ALLOWED: Final = re.compile(r"did not allow|denied|rejected|not approved|user declined", re.IGNORECASE)


def _answer_of(response: Json) -> Json:
    """A tool's answer out of its only member ``output``, and out of what its shell puts around one."""
    if not isinstance(response, dict) or response.keys() != {"output"}:
        return response
    output = response["output"]
    shell = _SHELL.fullmatch(output) if isinstance(output, str) else None
    return loose(output if shell is None or _FAILED.search(str(output)) else shell["output"])


def _failed_command(response: Json) -> bool:
    output = members(response).get("output")
    return isinstance(output, str) and _SHELL.fullmatch(output) is not None and _FAILED.search(output) is not None


def _call_id(value: Json, name: Json) -> str | None:
    """The id of a call: spans and answers write the tool's name before it, the history that is sent does not."""
    known = string(value)
    return known.removeprefix(f"{name}__") if known else None


def _answer_to_the_model(response: Json) -> tuple[Json, bool | None]:
    return _answer_of(response), True if "error" in members(response) or _failed_command(response) else None


_contents_reader: Final = Contents(call_id=_call_id, answer=_answer_to_the_model)


def _contents(value: Value) -> tuple[tuple[Message, ...] | None, int]:
    """Messages under a key, and how much of it was lost to cutting."""
    if value is None or value == "":
        return None, 0
    try:
        opened = structure(value)
    except BrokenError:
        return None, 1
    return _contents_reader.messages(opened), 0


def _joined(messages: list[Message]) -> tuple[Message, ...]:
    """One message of the pieces in which an answer was streamed."""
    parts: list[Part] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, Text) and parts and isinstance(parts[-1], Text):
                parts[-1] = Text(content=parts[-1].content + part.content)
            else:
                parts.append(part)
    return (Message(role="assistant", parts=tuple(parts), finish_reason=messages[-1].finish_reason),)


def _responses(value: Value) -> tuple[tuple[Message, ...] | None, int, Json]:
    """The message of an answer in pieces, what was lost to cutting, and the last piece."""
    if value is None or value == "":
        return None, 0, None
    try:
        opened = structure(value)
    except BrokenError:
        return None, 1, None
    found, last = [], None
    for piece in opened if isinstance(opened, list) else [opened]:
        candidates = piece.get("candidates") if isinstance(piece, dict) else None
        last = piece if isinstance(piece, dict) else last
        if isinstance(candidates, list) and candidates and isinstance(candidates[0], dict):
            found.append(
                _contents_reader.message(
                    {**members(candidates[0].get("content")), "role": "model"},
                    string(candidates[0].get("finishReason")),
                )
            )
    return (_joined(found) if found else None), 0, last


def _tools(value: Value) -> tuple[ToolDefinition, ...]:
    try:
        opened = structure(value) if value else None
    except BrokenError:
        return ()
    found = []
    for group in opened if isinstance(opened, list) else []:
        declared = members(group).get("functionDeclarations")
        for item in declared if isinstance(declared, list) else [group]:
            name = string(members(item).get("name"))
            if name:
                found.append(ToolDefinition(name=name, parameters=schema_of(members(item))))
    return tuple(found)


def _tool_run(attributes: Attributes) -> ToolRun:
    """The span of a tool: what was asked stands in its input, what became of it in its output."""
    asked, told = (recorded(attributes, key) for key in (semconv.INPUT_MESSAGES, semconv.OUTPUT_MESSAGES))
    request = asked if isinstance(asked, dict) else {}
    outcome = told if isinstance(told, dict) else {}
    begun = _STATUS.match(told) if isinstance(told, str) else None
    status = begun.group(1) if begun else string(outcome.get("status"))
    answered = _response_of(outcome)
    error = _failure(status, answered)
    denied = status in ("cancelled", "error") and (
        outcome.get("outcome") == "cancel" or (error is not None and bool(_NOT_ALLOWED.search(error)))
    )
    invalid = members(outcome.get("response")).get("errorType") == "invalid_tool_params"
    name = text(attributes, semconv.TOOL_NAME) or string(request.get("name")) or ""
    return ToolRun(
        name=name,
        call_id=_call_id(text(attributes, _CALL_ID, semconv.TOOL_CALL_ID), name),
        arguments=request.get("args", ABSENT),
        result=ABSENT if isinstance(answered, Absent) else _answer_of(answered),
        done=status == "success" and error is None,
        error=None if denied else error,
        stopped="denied" if denied else "invalid" if invalid else None,
        truncated_values=broken(asked) + broken(told),
    )


def _failure(status: str | None, answered: Recorded) -> str | None:
    """What is said of a failure; a command that failed is one, although its tool is said to have succeeded."""
    response = answered if isinstance(answered, dict) else {}
    if status == "success":
        return str(response["output"]) if _failed_command(response) else None
    if status not in ("error", "cancelled"):
        return None
    said = response.get("error")
    return string(said) or string(members(said).get("message")) or status


def _response_of(outcome: dict[str, Json]) -> Recorded:
    parts = members(outcome.get("response")).get("responseParts")
    for part in parts if isinstance(parts, list) else [parts]:
        answered = members(members(part).get("functionResponse"))
        if "response" in answered:
            return answered["response"]
    return ABSENT


class GeminiCli(Dialect):
    """Spans and log records of the scope ``gemini-cli``."""

    name: ClassVar = "gemini_cli"
    scopes: ClassVar = ("gemini-cli", "gemini_cli")
    log_events: ClassVar = ("gemini_cli.",)

    def read(self, span: SpanView) -> Reading | None:
        """What the span says, by its operation."""
        attributes = span.attributes
        operation = word(attributes, semconv.OPERATION)
        match operation:
            case "llm_call" | "generate_content" | "chat":
                given, cut_in = _contents(attributes.get(semconv.INPUT_MESSAGES)) if span.history else (None, 0)
                answered, cut_out = _contents(attributes.get(semconv.OUTPUT_MESSAGES))
                return ModelCall(
                    operation="chat",
                    provider=text(attributes, semconv.PROVIDER) or "gcp.gemini",
                    request_model=text(attributes, semconv.REQUEST_MODEL),
                    response_model=text(attributes, semconv.RESPONSE_MODEL),
                    input=given,
                    output=answered,
                    tools=_tools(attributes.get(semconv.TOOL_DEFINITIONS)) if span.history else (),
                    finish_reasons=strings(attributes, semconv.FINISH_REASONS),
                    usage=Usage(
                        input_tokens=count(attributes, semconv.INPUT_TOKENS),
                        output_tokens=count(attributes, semconv.OUTPUT_TOKENS),
                    ),
                    truncated_values=cut_in + cut_out,
                )
            case "tool_call" | "execute_tool":
                return _tool_run(attributes)
            case "agent_call" | "user_prompt":
                return AgentRun(operation="invoke_agent", name=text(attributes, semconv.AGENT_NAME) or "gemini-cli")
            case _:
                return Other(operation=operation or span.name)

    def read_log(self, log: LogView) -> LogReading | None:
        """One entry of the log; entries that tell nothing of a step are claimed and say nothing.

        The events of the conventions that it writes beside its own tell of the same inferences, and are left out.
        """
        attributes = log.attributes
        event = word(attributes, semconv.EVENT_NAME) or log.event_name
        found: tuple[LogPart, ModelCall | ToolRun | Message] | None = None
        match event.removeprefix("gemini_cli."):
            case "user_prompt":
                prompt = text(attributes, "prompt")
                if prompt:
                    found = "prompt", Message(role="user", parts=(Text(content=prompt),))
            case "api_request":
                given, cut = _contents(attributes.get("request_text"))
                found = (
                    "request",
                    ModelCall(
                        operation="chat", request_model=text(attributes, "model"), input=given, truncated_values=cut
                    ),
                )
            case "api_response":
                found = "answer", _answer(attributes)
            case "api_error":
                found = (
                    "answer",
                    ModelCall(
                        operation="chat",
                        provider="gcp.gemini",
                        request_model=text(attributes, "model", "model_name"),
                        error=text(attributes, "error.message", "error", "error_type") or "error",
                    ),
                )
            case "tool_call":
                found = "result", _logged_run(attributes)
        if found is None:
            return Other(operation=event)
        return LogStep(
            part=found[0],
            reading=found[1],
            thread=text(attributes, "prompt_id") or "",
            duration=milliseconds(attributes, "duration_ms"),
        )


def _answer(attributes: Attributes) -> ModelCall:
    """Gemini counts thoughts beside the answer, tools' tokens beside the input; they are part of ours."""
    answered, cut, last = _responses(attributes.get("response_text"))
    said, thoughts = count(attributes, "output_token_count"), count(attributes, "thoughts_token_count")
    given, for_tools = count(attributes, "input_token_count"), count(attributes, "tool_token_count")
    # what the agent asks a model for its own sake (which model to take, who speaks next) is no answer to the user
    aside = (text(attributes, "role") or "").startswith("utility")
    return ModelCall(
        operation="chat",
        provider="gcp.gemini",
        request_model=text(attributes, "model"),
        response_model=string(members(last).get("modelVersion")),
        response_id=string(members(last).get("responseId")),
        output=None if aside else answered,
        finish_reasons=strings(attributes, "finish_reasons"),
        usage=Usage(
            input_tokens=None if given is None else given + (for_tools or 0),
            output_tokens=None if said is None else said + (thoughts or 0),
            cache_read_tokens=count(attributes, "cached_content_token_count"),
            reasoning_tokens=thoughts,
        ),
        error=text(attributes, "error"),
        truncated_values=cut,
    )


def _logged_run(attributes: Attributes) -> ToolRun:
    decision, succeeded = text(attributes, "decision"), flag(attributes, "success")
    denied = decision == "reject"
    error = text(attributes, "error", "error.message", "error_type", "error.type")
    arguments = recorded(attributes, "function_args")
    return ToolRun(
        name=text(attributes, "function_name") or "",
        call_id=text(attributes, "call_id", "tool_call_id"),
        arguments=arguments,
        done=succeeded is True,
        error=None if denied or succeeded is not False else error or "error",
        stopped="denied" if denied else None,
        truncated_values=int(broken(arguments)),
    )
