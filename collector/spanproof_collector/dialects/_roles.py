"""Who speaks in a message, whatever the sender calls it."""

from typing import Final

from spanproof_collector.model.readings import Role
from spanproof_collector.model.values import Json

ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "developer": "system",
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "function": "tool",
    # names of LangChain's classes
    "SystemMessage": "system",
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "ToolMessage": "tool",
    "FunctionMessage": "tool",
}


def role(value: Json) -> Role:
    """Return a role of the schema; whatever else was sent is ``other``."""
    return ROLES.get(value, "other") if isinstance(value, str) else "other"
