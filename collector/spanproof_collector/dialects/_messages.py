"""The GenAI message schema: [{role, parts: [{type, ...}]}], as a JSON string or as structure."""

from functools import lru_cache
from typing import Final, NamedTuple, get_args

import msgspec

from spanproof_collector.dialects._json import decode, loose, structure, unblocked
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
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode
_LONG: Final = 16_384
"""Texts past this are read anew each time, which bounds what is remembered."""


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


class _History(NamedTuple):
    """A list of messages that was read: its text without the closing bracket."""

    stem: str
    messages: tuple[Message, ...]


# The next model call sends the same history and some messages more: only those are read. By the first characters.
_histories: dict[str, _History] = {}
_HISTORIES: Final = 256
_FIRST: Final = 1024


@lru_cache(maxsize=4096)
def _remembered(text: bytes) -> tuple[Message, ...]:
    return _message(decode(text))


def _of_list(text: str) -> tuple[Message, ...] | None:
    """Return the messages of a JSON list; for equal texts the same objects. ``None``: no list, or an empty one."""
    try:
        elements = list(map(bytes, _elements(text)))
    except (msgspec.MsgspecError, RecursionError):
        return None
    if not elements:
        return None
    return tuple(
        message
        for element in elements
        for message in (_remembered(element) if len(element) < _LONG else _message(decode(element)))
    )


def _of_history(text: str) -> tuple[Message, ...] | None:
    if len(text) <= _FIRST:
        return _of_list(text)
    before = _histories.get(text[:_FIRST])
    found = None
    if before is not None and text.startswith(before.stem):
        rest = text[len(before.stem) :]
        if rest == "]":
            return before.messages
        if rest[:1] == "," and (added := _of_list("[" + rest[1:])) is not None:
            found = before.messages + added
    if found is None:
        found = _of_list(text)
    if found and text[-1] == "]":
        if len(_histories) >= _HISTORIES:
            _histories.clear()
        _histories[text[:_FIRST]] = _History(text[:-1], found)
    return found


def messages(value: Value) -> tuple[Message, ...]:
    """Return the messages under an attribute; for equal texts the same objects, since histories are sent again.

    Raises:
        BrokenError: a JSON string that was cut.
    """
    if isinstance(value, str):
        found = _of_history(value)
        if found is not None:
            return found
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
