"""Contents in the shapes of the Gemini API: ``[{role, parts: [{text | functionCall | functionResponse}]}]``.

Its own SDKs write some of them in snake case.
"""

from collections.abc import Callable
from dataclasses import dataclass

from spanproof_collector.model.readings import ABSENT, CallPart, Message, OtherPart, Part, ResponsePart, Role, Text
from spanproof_collector.model.values import Json

Answer = Callable[[Json], tuple[Json, bool | None]]
"""Takes a tool's answer out of what is put around it, and tells whether it is an error."""


def string(value: Json) -> str | None:
    """Return a text that is not empty."""
    return value if isinstance(value, str) and value else None


def members(value: Json) -> dict[str, Json]:
    """Return the members of an object; none of anything else."""
    return value if isinstance(value, dict) else {}


def plain_id(value: Json, name: Json) -> str | None:
    """Return the id of a call as it is."""
    return string(value)


def plain_answer(response: Json) -> tuple[Json, bool | None]:
    """Return an answer as it is; one with a member ``error`` is an error."""
    return response, True if members(response).get("error") else None


@dataclass(frozen=True, slots=True)
class Contents:
    """Reads contents; the two functions are what an agent has of its own."""

    call_id: Callable[[Json, Json], str | None] = plain_id
    answer: Answer = plain_answer

    def part(self, item: Json) -> Part:
        """Return one part."""
        match item:
            case {"functionCall": dict() as asked} | {"function_call": dict() as asked}:
                return CallPart(
                    name=string(asked.get("name")) or "",
                    call_id=self.call_id(asked.get("id"), asked.get("name")),
                    arguments=asked.get("args", {}),
                )
            case {"functionResponse": dict() as answered} | {"function_response": dict() as answered}:
                response, failed = self.answer(answered.get("response"))
                return ResponsePart(
                    call_id=self.call_id(answered.get("id"), answered.get("name")),
                    name=string(answered.get("name")),
                    response=response if "response" in answered else ABSENT,
                    is_error=failed,
                )
            case {"thought": True, "text": str() as thought}:
                return OtherPart(type="reasoning", content=thought)
            case {"text": str() as said}:
                return Text(content=said)
            case str() as said:
                return Text(content=said)
            case dict():
                return OtherPart(type=next(iter(item), "unread"))
            case _:
                return OtherPart(type="unread")

    def message(self, item: Json, reason: str | None = None) -> Message:
        """Return one content as a message; its role is ``model``, else that of what was put in."""
        content = item if isinstance(item, dict) else {"parts": [item]}
        held = content.get("parts")
        parts = tuple(map(self.part, held if isinstance(held, list) else [held] if held is not None else []))
        said: Role = "assistant" if content.get("role") == "model" else "user"
        if parts and all(isinstance(part, ResponsePart) for part in parts):
            said = "tool"
        return Message(role=said, parts=parts, finish_reason=reason)

    def messages(self, value: Json) -> tuple[Message, ...]:
        """Return contents as messages; one content may stand without its list."""
        return tuple(self.message(item) for item in (value if isinstance(value, list) else [value]))
