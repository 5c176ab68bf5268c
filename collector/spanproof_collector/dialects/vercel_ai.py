"""The Vercel AI SDK as it was before version 7: spans with ``ai.operationId``. Version 7 writes the conventions."""

from typing import ClassVar, Final

from spanproof_collector.dialects._dialect import Dialect, SpanView
from spanproof_collector.dialects._json import BrokenError, broken, count, decode, loose, recorded, structure, text
from spanproof_collector.dialects._messages import schema_of
from spanproof_collector.model.readings import (
    ABSENT,
    AgentRun,
    CallPart,
    DecisionPart,
    Message,
    ModelCall,
    Other,
    OtherPart,
    Part,
    Reading,
    ResponsePart,
    Role,
    Text,
    ToolDefinition,
    ToolRun,
    Usage,
)
from spanproof_collector.model.values import Attributes, Json, Value
from spanproof_instrumentation import semconv

_OPERATION: Final = "ai.operationId"
_INFERENCES: Final = ("doGenerate", "doStream")
_RUNS: Final = frozenset({"ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject"})
_METADATA: Final = "ai.telemetry.metadata."
_ROLES: Final[dict[Json, Role]] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _string(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None


def _call(item: dict[str, Json]) -> CallPart:
    key = "input" if "input" in item else "args"
    return CallPart(
        name=_string(item.get("toolName")) or "",
        call_id=_string(item.get("toolCallId")),
        arguments=loose(item[key]) if key in item else ABSENT,
    )


def _answer(item: dict[str, Json]) -> list[Part]:
    """A tool's answer: since version 5 with its kind, which also tells of errors and of calls that were not allowed."""
    call_id, name = _string(item.get("toolCallId")), _string(item.get("toolName"))
    output = item.get("output")
    kind = _string(_object(output).get("type"))
    if kind is None:
        key = "output" if "output" in item else "result"
        failed = item.get("isError")
        return [
            ResponsePart(
                call_id=call_id,
                name=name,
                response=loose(item[key]) if key in item else ABSENT,
                is_error=failed if isinstance(failed, bool) else None,
            )
        ]
    told = _object(output)
    value = told.get("value", told.get("reason"))
    parts: list[Part] = []
    if kind == "execution-denied" and call_id:
        parts.append(DecisionPart(call_id=call_id, approved=False, reason=_string(told.get("reason"))))
    failed_kind = True if kind.startswith("error") or kind == "execution-denied" else None
    parts.append(ResponsePart(call_id=call_id, name=name, response=loose(value), is_error=failed_kind))
    return parts


def _parts(content: Json, asked: dict[str, str]) -> list[Part]:
    """The parts of a message. ``asked`` keeps which call an approval was asked for."""
    if isinstance(content, str):
        return [Text(content=content)]
    found: list[Part] = []
    for item in content if isinstance(content, list) else []:
        part = _object(item)
        match part.get("type"):
            case "text":
                found.append(Text(content=_string(part.get("text")) or ""))
            case "tool-call":
                found.append(_call(part))
            case "tool-result":
                found += _answer(part)
            case "tool-approval-request":
                approval, call = _string(part.get("approvalId")), _string(part.get("toolCallId"))
                if approval and call:
                    asked[approval] = call
            case "tool-approval-response":
                call = asked.get(_string(part.get("approvalId")) or "")
                approved = part.get("approved")
                if call and isinstance(approved, bool):
                    found.append(DecisionPart(call_id=call, approved=approved, reason=_string(part.get("reason"))))
            case kind:
                found.append(OtherPart(type=str(kind) if kind else "unread"))
    return found


def _messages(value: Value) -> tuple[tuple[Message, ...] | None, int]:
    """Messages under a key, and how much of it was lost to cutting."""
    if value is None or value == "":
        return None, 0
    try:
        opened = structure(value)
    except BrokenError:
        return None, 1
    asked: dict[str, str] = {}
    found = []
    for item in opened if isinstance(opened, list) else []:
        message = _object(item)
        parts = tuple(_parts(message.get("content"), asked))
        found.append(Message(role=_ROLES.get(message.get("role"), "other"), parts=parts))
    return tuple(found), 0


def _prompt(value: Value) -> tuple[tuple[Message, ...] | None, int]:
    """What a run was given: ``{"system", "messages"}``, or ``{"prompt"}`` of one text."""
    if value is None or value == "":
        return None, 0
    try:
        opened = _object(structure(value))
    except BrokenError:
        return None, 1
    asked: dict[str, str] = {}
    found: list[Message] = []
    system, prompt, messages = opened.get("system"), opened.get("prompt"), opened.get("messages")
    if isinstance(system, str):
        found.append(Message(role="system", parts=(Text(content=system),)))
    if isinstance(prompt, str):
        found.append(Message(role="user", parts=(Text(content=prompt),)))
    for item in [*(prompt if isinstance(prompt, list) else []), *(messages if isinstance(messages, list) else [])]:
        role = _ROLES.get(_object(item).get("role"), "other")
        found.append(Message(role=role, parts=tuple(_parts(_object(item).get("content"), asked))))
    return tuple(found), 0


def _output(attributes: Attributes, *, calls: bool) -> tuple[tuple[Message, ...] | None, int]:
    """What the model answered. A run repeats the calls of all its steps: only an inference asks for them."""
    said = attributes.get("ai.response.text", attributes.get("ai.result.text"))
    made = attributes.get("ai.response.object", attributes.get("ai.result.object"))
    asked = attributes.get("ai.response.toolCalls", attributes.get("ai.result.toolCalls"))
    parts: list[Part] = [Text(content=value) for value in (said, made) if isinstance(value, str) and value]
    cut = 0
    if calls and asked:
        try:
            opened = structure(asked)
        except BrokenError:
            opened, cut = [], 1
        parts += [_call(_object(item)) for item in (opened if isinstance(opened, list) else [])]
    known = said is not None or made is not None or asked is not None
    reason = text(attributes, "ai.response.finishReason", "ai.finishReason")
    return ((Message(role="assistant", parts=tuple(parts), finish_reason=reason),) if known and not cut else None), cut


def _tools(value: Value) -> tuple[ToolDefinition, ...]:
    found = []
    for item in value if isinstance(value, list) else []:
        try:
            tool = _object(decode(item)) if isinstance(item, str) else {}
        except BrokenError:
            continue
        name = _string(tool.get("name"))
        if name:
            found.append(ToolDefinition(name=name, parameters=schema_of(tool)))
    return tuple(found)


def _usage(attributes: Attributes, provider: str | None) -> Usage:
    """Since version 6 the input includes cached tokens; before, it was what the provider said, Anthropic without."""
    given = count(attributes, "ai.usage.inputTokens", "ai.usage.promptTokens", semconv.INPUT_TOKENS)
    read = count(attributes, "ai.usage.inputTokenDetails.cacheReadTokens", "ai.usage.cachedInputTokens")
    written = count(attributes, "ai.usage.inputTokenDetails.cacheWriteTokens")
    whole = "ai.usage.inputTokenDetails.noCacheTokens" in attributes
    if not whole and given is not None and (provider or "").startswith("anthropic"):
        about = _object(loose(attributes.get("ai.response.providerMetadata")))
        made = _object(about.get("anthropic")).get("cacheCreationInputTokens")
        written = made if written is None and isinstance(made, int) and not isinstance(made, bool) else written
        given += (read or 0) + (written or 0)
    return Usage(
        input_tokens=given,
        output_tokens=count(attributes, "ai.usage.outputTokens", "ai.usage.completionTokens", semconv.OUTPUT_TOKENS),
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=count(attributes, "ai.usage.outputTokenDetails.reasoningTokens", "ai.usage.reasoningTokens"),
    )


class VercelAI(Dialect):
    """Spans with ``ai.operationId``."""

    name: ClassVar = "vercel_ai"
    marks: ClassVar = frozenset({_OPERATION})
    session_keys: ClassVar = tuple(
        _METADATA + key
        for key in ("sessionId", "session_id", "conversationId", "conversation_id", "threadId", "chatId")
    )
    user_keys: ClassVar = (_METADATA + "userId", _METADATA + "user_id")

    def read(self, span: SpanView) -> Reading | None:
        """What the span says, by its operation."""
        attributes = span.attributes
        operation = attributes.get(_OPERATION)
        if not isinstance(operation, str):
            return None
        if operation in _RUNS:
            given, cut = _prompt(attributes.get("ai.prompt")) if span.history else (None, 0)
            answered, _ = _output(attributes, calls=False)
            return AgentRun(
                operation="invoke_agent",
                name=text(attributes, "ai.telemetry.functionId"),
                model=text(attributes, "ai.model.id"),
                input=given,
                output=answered,
                finish_reasons=_finished(attributes),
                truncated_values=cut,
            )
        if operation.startswith("ai.") and operation.endswith(_INFERENCES):
            return _model_call(attributes, history=span.history)
        if operation == "ai.toolCall":
            arguments = recorded(attributes, "ai.toolCall.args")
            result = recorded(attributes, "ai.toolCall.result")
            return ToolRun(
                name=text(attributes, "ai.toolCall.name") or "",
                call_id=text(attributes, "ai.toolCall.id"),
                arguments=arguments,
                result=result,
                truncated_values=broken(arguments) + broken(result),
            )
        return Other(operation=operation)


def _finished(attributes: Attributes) -> tuple[str, ...]:
    reason = text(attributes, "ai.response.finishReason", "ai.finishReason")
    return (reason,) if reason else ()


def _model_call(attributes: Attributes, *, history: bool) -> ModelCall:
    provider = text(attributes, "ai.model.provider", semconv.SYSTEM)
    given, cut_in = _messages(attributes.get("ai.prompt.messages")) if history else (None, 0)
    answered, cut_out = _output(attributes, calls=True)
    return ModelCall(
        operation="chat",
        provider=provider,
        request_model=text(attributes, "ai.model.id", semconv.REQUEST_MODEL),
        response_model=text(attributes, "ai.response.model", semconv.RESPONSE_MODEL),
        response_id=text(attributes, "ai.response.id", semconv.RESPONSE_ID),
        input=given,
        output=answered,
        tools=_tools(attributes.get("ai.prompt.tools")) if history else (),
        finish_reasons=_finished(attributes),
        usage=_usage(attributes, provider),
        truncated_values=cut_in + cut_out,
    )
