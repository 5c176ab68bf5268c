"""Messages out of whole requests and answers, as providers and frameworks have them.

Senders that keep the input and the output of a call as they were put them under one key each; what stands there is
told by its shape.
"""

from spanproof_collector.dialects._messages import definitions_of, messages_of
from spanproof_collector.model.readings import Message, Recorded, ResponsePart, Text, ToolDefinition
from spanproof_collector.model.values import Json

_REQUEST_KEYS = ("messages", "input", "contents", "prompt", "prompts", "inputs")


def requested(payload: Json) -> tuple[Message, ...]:
    """Return the messages that a model or an agent was given."""
    match payload:
        case str():
            return (Message(role="user", parts=(Text(content=payload),)),) if payload else ()
        case [list() as batch]:
            return requested(batch)
        case list() if payload and all(isinstance(item, dict | str) for item in payload):
            if all(isinstance(item, str) for item in payload):
                return tuple(message for item in payload for message in requested(item))
            return messages_of(payload)
        case {"role": _, "content": _} | {"role": _, "parts": _}:
            return messages_of([payload])
        case dict():
            request = _fields(payload)
            system = request.get("system", request.get("instructions"))
            given = next((found for key in _REQUEST_KEYS if (found := requested(request.get(key)))), ())
            if isinstance(system, str) and system and given:
                return (Message(role="system", parts=(Text(content=system),)), *given)
            return given
        case _:
            return ()


def answered(payload: Json) -> tuple[Message, ...]:
    """Return the messages that a model put out."""
    match payload:
        case str():
            return (Message(role="assistant", parts=(Text(content=payload),)),) if payload else ()
        case {"choices": list() as choices}:
            return messages_of([choice for choice in choices if isinstance(choice, dict) and "message" in choice])
        case {"generations": list() as batches}:
            return messages_of([item for batch in batches for item in (batch if isinstance(batch, list) else [batch])])
        case {"candidates": list() as candidates}:
            return messages_of([_candidate(item) for item in candidates if isinstance(item, dict)])
        case {"output": {"message": dict() as message}}:  # Bedrock
            return _finished(messages_of([message]), _fields(payload).get("stopReason"))
        case {"output": list() as items}:
            return in_one(messages_of(items))
        case {"content": list() as blocks, "role": str() as role}:
            return _finished(messages_of([{"role": role, "content": blocks}]), _fields(payload).get("stop_reason"))
        case {"role": _} | {"lc": _} | {"type": str(), "data": dict()} | {"type": "ai"}:
            return messages_of([payload])
        case {"messages": list() as said}:
            return _last(messages_of(said))
        case {"update": dict() as inner} | {"output": dict() as inner} | {"outputs": dict() as inner}:
            return answered(inner)
        case {"output": str() as words} | {"text": str() as words} | {"response": str() as words}:
            return answered(words)
        case list() if payload:
            if len(payload) == 1 and isinstance(payload[0], dict) and {"update", "choices"} & payload[0].keys():
                return answered(payload[0])
            if all(isinstance(item, dict) for item in payload):
                return in_one(messages_of(payload))
        case _:
            pass
    return ()


def offered(payload: Json) -> tuple[ToolDefinition, ...]:
    """Return the tools in a request, or in a list of their own."""
    tools = payload.get("tools", payload.get("functions")) if isinstance(payload, dict) else payload
    return definitions_of(tools) if isinstance(tools, list) else ()


def tool_answer(result: Recorded) -> ResponsePart | None:
    """Return what a tool answered out of the message that LangChain puts around it; ``None`` where there is none."""
    if not isinstance(result, dict):
        return None
    if "lc" not in result and not isinstance(result.get("data"), dict) and "tool_call_id" not in result:
        return None
    (message,) = messages_of([{"role": "tool", **result} if "tool_call_id" in result else result])
    part = message.parts[0] if message.role == "tool" and message.parts else None
    return part if isinstance(part, ResponsePart) else None


def history(payload: Json) -> tuple[Message, ...]:
    """Return a whole conversation that a run ends with, or nothing where the payload is something else."""
    match payload:
        case {"messages": list() as said}:
            return messages_of(said)
        case list() if payload and all(isinstance(item, dict) for item in payload):
            return messages_of(payload)
        case _:
            return ()


def _fields(payload: Json) -> dict[str, Json]:
    return payload if isinstance(payload, dict) else {}


def _candidate(item: dict[str, Json]) -> Json:
    content = item.get("content")
    inner = content if isinstance(content, dict) else {}
    return {"role": "model", **inner, "finish_reason": item.get("finishReason", item.get("finish_reason"))}


def _finished(said: tuple[Message, ...], reason: Json) -> tuple[Message, ...]:
    if not isinstance(reason, str):
        return said
    return tuple(Message(role=m.role, parts=m.parts, finish_reason=m.finish_reason or reason) for m in said)


def in_one(said: tuple[Message, ...]) -> tuple[Message, ...]:
    """Put the items of one answer into one message, so that words beside a call are no answer of their own."""
    if len(said) < 2 or any(message.role != "assistant" for message in said):
        return said
    reason = next((message.finish_reason for message in reversed(said) if message.finish_reason), None)
    return (Message(role="assistant", parts=tuple(part for m in said for part in m.parts), finish_reason=reason),)


def _last(said: tuple[Message, ...]) -> tuple[Message, ...]:
    return said[-1:] if said and said[-1].role == "assistant" else ()
