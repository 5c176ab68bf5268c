"""The GenAI message schema: [{role, parts: [{type, ...}]}], as a JSON string or as structure."""

from typing import get_args

from spanproof_collector.dialects._json import loose, structure, unblocked
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


def _part(item: Json) -> Part:
    if not isinstance(item, dict):
        return Text(content=item) if isinstance(item, str) else OtherPart(type="unknown", content=item)
    match item.get("type"):
        case "text":
            content = item.get("content")
            return Text(content=content if isinstance(content, str) else "")
        case "tool_call":
            return CallPart(
                name=_optional(item, "name") or "",
                call_id=_optional(item, "id"),
                arguments=_opened(item["arguments"]) if "arguments" in item else ABSENT,
            )
        case "tool_call_response":
            # `response` is the name of the schema; `result` stood there in its first versions
            key = "response" if "response" in item else "result"
            return ResponsePart(
                call_id=_optional(item, "id"),
                response=unblocked(_opened(item[key])) if key in item else ABSENT,
            )
        case kind:
            return OtherPart(type=str(kind), content=item.get("content"))


def _message(item: Json) -> tuple[Message, ...]:
    if not isinstance(item, dict):
        return ()
    parts = item.get("parts")
    content = item.get("content")
    if isinstance(parts, list):
        read = tuple(map(_part, parts))
    elif isinstance(content, str):
        read = (Text(content=content),)
    else:
        read = ()
    return (Message(role=role(item.get("role")), parts=read, finish_reason=_optional(item, "finish_reason")),)


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
