"""The GenAI message schema: [{role, parts: [{type, ...}]}], as a JSON string or as structure."""

from typing import get_args

from spanproof_collector.dialects._json import BrokenError, decode, loose, structure, unblocked
from spanproof_collector.model.readings import (
    ABSENT,
    CallPart,
    Message,
    OtherPart,
    Part,
    ResponsePart,
    Role,
    Text,
    ToolDefinition,
)
from spanproof_collector.model.values import Json, Value

_ROLES = frozenset(get_args(Role))


def _optional(item: dict[str, Json], key: str) -> str | None:
    value = item.get(key)
    return value if isinstance(value, str) and value else None


def role(value: Json) -> Role:
    """Return a role of the schema; whatever else was sent is ``other``."""
    return value if isinstance(value, str) and value in _ROLES else "other"  # type: ignore[return-value]


def _opened(value: Json) -> Json:
    return loose(value) if isinstance(value, str) else value


UNREAD = "unread"
"""The type of a part that stands for something nobody could read: the message is not whole."""


def _said(item: dict[str, Json]) -> str:
    for key in ("content", "text"):
        value = item.get(key)
        if isinstance(value, str):
            return value
    return ""


def _call(item: dict[str, Json], arguments_key: str) -> CallPart:
    return CallPart(
        name=_optional(item, "name") or "",
        call_id=_optional(item, "id"),
        arguments=_opened(item[arguments_key]) if arguments_key in item else ABSENT,
    )


def _part(item: Json) -> Part:
    """Read a part of the schema, or of the providers' own shapes that senders pass on as they are."""
    if not isinstance(item, dict):
        return Text(content=item) if isinstance(item, str) else OtherPart(type=UNREAD, content=item)
    match item.get("type"):
        case "text" | "input_text" | "output_text":
            return Text(content=_said(item))
        case "tool_call":
            return _call(item, "arguments")
        case "tool_use":
            return _call(item, "input")
        case "function":
            function = item.get("function")
            inner = function if isinstance(function, dict) else item
            return _call(inner | {"id": item.get("id")}, "arguments")
        case "tool_call_response":
            # `response` is the name of the schema; `result` stood there in its first versions
            key = "response" if "response" in item else "result"
            return ResponsePart(
                call_id=_optional(item, "id"),
                response=unblocked(_opened(item[key])) if key in item else ABSENT,
            )
        case "tool_result":
            failed = item.get("is_error")
            return ResponsePart(
                call_id=_optional(item, "tool_use_id"),
                response=unblocked(_opened(item["content"])) if "content" in item else ABSENT,
                is_error=failed if isinstance(failed, bool) else None,
            )
        case None:
            return Text(content=_said(item)) if _said(item) else OtherPart(type=UNREAD)
        case kind:
            return OtherPart(type=str(kind), content=item.get("content"))


def _message(item: Json) -> tuple[Message, ...]:
    if isinstance(item, str) and item.lstrip()[:1] == "{":
        try:
            item = decode(item)
        except BrokenError:
            return (Message(role="other", parts=(OtherPart(type=UNREAD),)),)
    if not isinstance(item, dict):
        return (Message(role="other", parts=(OtherPart(type=UNREAD),)),)
    said = role(item.get("role"))
    parts, content, calls = item.get("parts"), item.get("content"), item.get("tool_calls")
    read: list[Part] = []
    if said == "tool" and not isinstance(parts, list) and "content" in item:
        read.append(ResponsePart(call_id=_optional(item, "tool_call_id"), response=unblocked(_opened(content))))
    elif isinstance(parts, list):
        read += map(_part, parts)
    elif isinstance(content, list):
        read += map(_part, content)
    elif isinstance(content, str):
        read.append(Text(content=content))
    if isinstance(calls, list):
        read += [
            _part({"type": "function", **call}) if isinstance(call, dict) else OtherPart(type=UNREAD) for call in calls
        ]
    if not read and any(item.get(key) for key in item if key not in _ABOUT):
        read.append(OtherPart(type=UNREAD))
    return (Message(role=said, parts=tuple(read), finish_reason=_optional(item, "finish_reason")),)


_ABOUT = frozenset({"role", "name", "finish_reason", "id", "index", "type"})


def unread(read: tuple[Message, ...]) -> int:
    """Return how many parts of these messages nobody could read."""
    return sum(isinstance(part, OtherPart) and part.type == UNREAD for message in read for part in message.parts)


def messages(value: Value) -> tuple[Message, ...]:
    """Return the messages under an attribute.

    Raises:
        BrokenError: a JSON string that was cut.
    """
    items = structure(value)
    return tuple(message for item in (items if isinstance(items, list) else [items]) for message in _message(item))


def definitions(value: Value) -> tuple[ToolDefinition, ...]:
    """Return the tools that were offered, with their MCP annotations where they stand in the definition.

    Raises:
        BrokenError: a JSON string that was cut.
    """
    items = structure(value)
    found = []
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, dict):
            continue
        inner = item.get("function")
        name = _optional(item, "name") or (_optional(inner, "name") if isinstance(inner, dict) else None)
        if not name:
            continue
        annotations = item.get("annotations")
        hints = annotations if isinstance(annotations, dict) else {}
        read_only, destructive = hints.get("readOnlyHint"), hints.get("destructiveHint")
        found.append(
            ToolDefinition(
                name=name,
                read_only_hint=read_only if isinstance(read_only, bool) else None,
                destructive_hint=destructive if isinstance(destructive, bool) else None,
            )
        )
    return tuple(found)
