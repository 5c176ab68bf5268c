"""The GenAI message schema: [{role, parts: [{type, ...}]}], as a JSON string or as structure.

And the shapes that senders pass on as their provider or framework has them: OpenAI (chat and responses), Anthropic,
Bedrock, Gemini, LangChain. ``_payloads`` takes messages out of whole requests and answers.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from spanproof_collector.dialects._json import BrokenError, decode, loose, structure, unblocked
from spanproof_collector.dialects._roles import ROLES, role
from spanproof_collector.dialects._schema import read_schema
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

_SCHEMAS: Final = (
    "parameters",
    "input_schema",
    "inputSchema",
    "parameters_json_schema",
    "parametersJsonSchema",
)
"""Under what the JSON Schema of arguments stands: OpenAI, Anthropic, MCP and Bedrock, Pydantic AI, Gemini."""


def _optional(item: dict[str, Json], key: str) -> str | None:
    value = item.get(key)
    return value if isinstance(value, str) and value else None


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


def _call(item: dict[str, Json], arguments_key: str, id_key: str = "id") -> CallPart:
    return CallPart(
        name=_optional(item, "name") or "",
        call_id=_optional(item, id_key),
        arguments=_opened(item[arguments_key]) if arguments_key in item else ABSENT,
    )


def _answer(item: dict[str, Json], key: str, id_key: str) -> ResponsePart:
    status = item.get("status")
    failed = item.get("is_error", item.get("isError"))
    return ResponsePart(
        call_id=_optional(item, id_key),
        name=_optional(item, "name"),
        response=unblocked(_opened(item[key])) if key in item else ABSENT,
        is_error=failed if isinstance(failed, bool) else True if status == "error" else None,
    )


def _part(item: Json) -> Part:
    """Read a part of the schema, or of the providers' own shapes that senders pass on as they are."""
    if not isinstance(item, dict):
        return Text(content=item) if isinstance(item, str) else OtherPart(type=UNREAD, content=item)
    match item.get("type"):
        case "text" | "input_text" | "output_text" | "refusal":
            return Text(content=_said(item))
        case "tool_call":
            return _call(item, "args" if "args" in item and "arguments" not in item else "arguments")
        case "tool_use":
            return _call(item, "input")
        case "function":
            function = item.get("function")
            inner = function if isinstance(function, dict) else item
            return _call(inner | {"id": item.get("id")}, "arguments")
        case "function_call":
            return _call(item, "arguments", "call_id" if item.get("call_id") else "id")
        case "tool_call_response":
            # `response` is the name of the schema; `result` stood there in its first versions
            return _answer(item, "response" if "response" in item else "result", "id")
        case "tool_result":
            return _answer(item, "content", "tool_use_id")
        case "function_call_output":
            return _answer(item, "output", "call_id")
        case "server_tool_call" | "server_tool_use" | "mcp_tool_use":
            return _call(item, "input") if "input" in item else _server_call(item, item.get("server_tool_call"))
        case "server_tool_call_response":
            return _answer(item, "server_tool_call_response", "id")
        case "web_search_tool_result" | "code_execution_tool_result" | "mcp_tool_result":
            return _answer(item, "content", "tool_use_id")
        case None:
            return _untyped(item)
        case kind:
            return OtherPart(type=str(kind), content=item.get("content"))


def _server_call(item: dict[str, Json], inner: Json) -> CallPart:
    arguments = inner if isinstance(inner, dict) else {}
    return CallPart(
        name=_optional(item, "name") or _optional(arguments, "type") or "",
        call_id=_optional(item, "id"),
        arguments={key: value for key, value in arguments.items() if key != "type"},
    )


def _untyped(item: dict[str, Json]) -> Part:
    """Read a part that is told by its only key: Bedrock's and Gemini's."""
    match item:
        case {"toolUse": dict() as asked}:
            return _call(asked, "input", "toolUseId")
        case {"toolResult": dict() as answered}:
            return _answer(answered, "content", "toolUseId")
        case {"functionCall": dict() as asked} | {"function_call": dict() as asked}:
            return _call(asked, "args")
        case {"functionResponse": dict() as answered} | {"function_response": dict() as answered}:
            return _answer(answered, "response", "id")
        case {"reasoningContent": content}:
            return OtherPart(type="reasoning", content=content)
        case _:
            return Text(content=_said(item)) if _said(item) else OtherPart(type=UNREAD)


def _unwrapped(item: dict[str, Json]) -> dict[str, Json]:
    """Take a message out of what LangChain and chat completions put around it; its kind becomes its role."""
    match item:
        case {"lc": _, "id": list() as path, "kwargs": dict() as inner} if path:
            return {**inner, "role": path[-1], "type": None}
        case {"type": str() as kind, "data": dict() as inner}:
            return {**inner, "role": kind, "type": None}
        case {"message": dict() as inner}:
            return {**_unwrapped(inner), "finish_reason": item.get("finish_reason", inner.get("finish_reason"))}
        case {"type": str() as kind} if "role" not in item and kind in ROLES:
            return {**item, "role": kind, "type": None}
        case _:
            return item


_ITEMS: Final[Mapping[str, Role]] = {
    "function_call": "assistant",
    "mcp_call": "assistant",
    "reasoning": "assistant",
    "function_call_output": "tool",
}
"""Items of the Responses API that stand among messages, and whose they are."""


def _message(item: Json) -> tuple[Message, ...]:
    if isinstance(item, str):
        if item.lstrip()[:1] != "{":
            return (Message(role="other", parts=(OtherPart(type=UNREAD),)),)
        try:
            item = decode(item)
        except BrokenError:
            return (Message(role="other", parts=(OtherPart(type=UNREAD),)),)
    if not isinstance(item, dict):
        return (Message(role="other", parts=(OtherPart(type=UNREAD),)),)
    parts = item.get("parts")
    if parts and isinstance(parts, list) and "tool_calls" not in item:  # the schema's own shape, and most there is
        read = tuple(map(_part, parts))
        return (Message(role=role(item.get("role")), parts=read, finish_reason=_optional(item, "finish_reason")),)
    return (_of_shape(item, parts),)


def _of_shape(item: dict[str, Json], parts: Json) -> Message:
    """Read a message of another shape than the schema's."""
    kind = item.get("type")
    if isinstance(kind, str) and kind in _ITEMS and "role" not in item:
        return Message(role=_ITEMS[kind], parts=(_part(item),))
    item = _unwrapped(item) if "parts" not in item else item
    said = role(item.get("role"))
    content, calls = item.get("content"), item.get("tool_calls")
    read: list[Part] = []
    if said == "tool" and not isinstance(parts, list) and "content" in item and not _blocks_of_results(content):
        read.append(_answer(item, "content", "tool_call_id" if item.get("tool_call_id") else "id"))
    elif isinstance(parts, list):
        read += map(_part, parts)
    elif isinstance(content, list):
        read += map(_part, content)
    elif isinstance(content, str) and (content or not calls):
        read.append(Text(content=content))
    if isinstance(calls, list):
        read += [part for call in calls if (part := _asked(call)) not in read]
    function = item.get("function_call")
    if isinstance(function, dict) and not calls:
        read.append(_call(function, "arguments"))
    if not read and any(item.get(key) for key in item if key not in _ABOUT):
        read.append(OtherPart(type=UNREAD))
    return Message(role=said, parts=tuple(read), finish_reason=_optional(item, "finish_reason"))


def _blocks_of_results(content: Json) -> bool:
    return isinstance(content, list) and any(isinstance(part, dict) and "toolResult" in part for part in content)


def _asked(call: Json) -> Part:
    if not isinstance(call, dict):
        return OtherPart(type=UNREAD)
    return _part({**call, "type": "tool_call" if "args" in call or call.get("type") == "tool_call" else "function"})


_ABOUT: Final = frozenset({"role", "name", "finish_reason", "id", "index", "type"})


def unread(read: tuple[Message, ...]) -> int:
    """Return how many parts of these messages nobody could read."""
    return sum(isinstance(part, OtherPart) and part.type == UNREAD for message in read for part in message.parts)


def with_lost(read: tuple[Message, ...], first: int) -> tuple[tuple[Message, ...], int]:
    """Return messages numbered from ``first`` on with a mark for those before them, and how many marks that is.

    Attributes are dropped from the oldest on. A list that begins at 1 may have lost nothing: senders keep 0 for
    instructions that not every request has.
    """
    if first < 2:
        return read, 0
    return (Message(role="other", parts=(OtherPart(type=UNREAD),)), *read), 1


def messages(value: Value) -> tuple[Message, ...]:
    """Return the messages under an attribute.

    Raises:
        BrokenError: a JSON string that was cut.
    """
    spelled = read_schema(value) if isinstance(value, str) else None
    if spelled is not None:
        return spelled
    items = structure(value)
    return messages_of(items if isinstance(items, list) else [items])


def messages_of(items: Sequence[Json]) -> tuple[Message, ...]:
    """Return the messages in a list, each in whatever shape; what is none of them is marked unread."""
    return tuple(message for item in items for message in _message(item))


def definitions(value: Value) -> tuple[ToolDefinition, ...]:
    """Return the tools that were offered, with their MCP annotations where they stand in the definition.

    Raises:
        BrokenError: a JSON string that was cut.
    """
    items = structure(value)
    return definitions_of(items if isinstance(items, list) else [])


def definitions_of(items: Sequence[Json]) -> tuple[ToolDefinition, ...]:
    """Return the tools in a list."""
    found = []
    for item in (tool for each in items for tool in _declared(each)):
        name = _optional(item, "name")
        if not name:
            continue
        annotations = item.get("annotations")
        hints = annotations if isinstance(annotations, dict) else {}
        read_only, destructive = hints.get("readOnlyHint"), hints.get("destructiveHint")
        found.append(
            ToolDefinition(
                name=name,
                parameters=schema_of(item),
                read_only_hint=read_only if isinstance(read_only, bool) else None,
                destructive_hint=destructive if isinstance(destructive, bool) else None,
            )
        )
    return tuple(found)


def schema_of(item: Mapping[str, Json]) -> Json:
    """Return the JSON Schema of a tool's arguments, under whatever name it stands; ``None`` where there is none."""
    told = (loose(item[key]) if isinstance(item[key], str) else item[key] for key in _SCHEMAS if key in item)
    found = next((schema for schema in told if isinstance(schema, dict)), None)
    inner = found.get("json") if isinstance(found, dict) else None
    return inner if isinstance(inner, dict) else found


def _declared(item: Json) -> list[dict[str, Json]]:
    """Return the tools in an item: itself, or what OpenAI, Bedrock and Gemini put them into."""
    match item:
        case {"functionDeclarations": list() as inside} | {"function_declarations": list() as inside}:
            return [each for each in inside if isinstance(each, dict)]
        case {"name": str()}:
            pass
        case {"function": dict() as inner} | {"toolSpec": dict() as inner}:
            return [inner]
        case {"type": str() as kind} if kind != "function":  # a tool that runs at the provider is named by its type
            return [{"name": kind}]
        case _:
            return []
    return [item] if isinstance(item, dict) else []
