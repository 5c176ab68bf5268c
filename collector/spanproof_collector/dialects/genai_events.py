"""The GenAI conventions of v1.28 to v1.36: one log event per message, its payload in the body."""

from typing import ClassVar

from spanproof_collector.dialects._dialect import Dialect, LogReading, LogView, MessageEvent
from spanproof_collector.dialects._json import loose, to_json
from spanproof_collector.dialects._roles import role
from spanproof_collector.model.readings import ABSENT, CallPart, Message, Part, ResponsePart, Role, Text
from spanproof_collector.model.values import Json
from spanproof_instrumentation import semconv

_INPUTS: dict[str, Role] = {
    semconv.EVENT_SYSTEM_MESSAGE: "system",
    semconv.EVENT_USER_MESSAGE: "user",
    semconv.EVENT_ASSISTANT_MESSAGE: "assistant",
    semconv.EVENT_TOOL_MESSAGE: "tool",
}


def _calls(value: Json) -> list[Part]:
    parts: list[Part] = []
    for item in value if isinstance(value, list) else []:
        if not isinstance(item, dict):
            continue
        function = item.get("function")
        inner = function if isinstance(function, dict) else item
        name, call_id = inner.get("name"), item.get("id")
        parts.append(
            CallPart(
                name=name if isinstance(name, str) else "",
                call_id=call_id if isinstance(call_id, str) and call_id else None,
                arguments=loose(inner["arguments"]) if "arguments" in inner else ABSENT,
            )
        )
    return parts


def _message(body: Json, default: Role, finish_reason: str | None = None) -> Message:
    content = body if isinstance(body, dict) else {"content": body}
    said = role(content["role"]) if "role" in content else default
    call_id = content.get("id")
    parts: list[Part] = []
    if said == "tool":
        parts.append(
            ResponsePart(
                call_id=call_id if isinstance(call_id, str) and call_id else None,
                response=loose(content["content"]) if "content" in content else ABSENT,
            )
        )
    elif isinstance(content.get("content"), str):
        parts.append(Text(content=str(content["content"])))
    parts += _calls(content.get("tool_calls"))
    return Message(role=said, parts=tuple(parts), finish_reason=finish_reason)


class GenAIEvents(Dialect):
    """Log events ``gen_ai.{system,user,assistant,tool}.message`` and ``gen_ai.choice``.

    No span is this dialect's own: the spans of its era are the conventions'.
    """

    name: ClassVar = "genai_events"
    log_events: ClassVar = (*_INPUTS, semconv.EVENT_CHOICE)

    def read_log(self, log: LogView) -> LogReading | None:
        """One message of the model call whose span the record names."""
        if log.event_name == semconv.EVENT_CHOICE:
            choice = to_json(log.body)
            if not isinstance(choice, dict):
                return None
            reason = choice.get("finish_reason")
            message = _message(choice.get("message"), "assistant", reason if isinstance(reason, str) else None)
            return MessageEvent(direction="output", message=message)
        said = _INPUTS.get(log.event_name)
        return None if said is None else MessageEvent(direction="input", message=_message(to_json(log.body), said))
