"""Messages that are spelled exactly as the GenAI schema has them: read in one pass, which is what most senders write.

What has another shape, a member more, or is no JSON, is left to ``_messages``, which reads every shape. Both read the
same where both read (tests).
"""

from typing import Any, Final, TypeAlias

import msgspec

from spanproof_collector.dialects._json import DEEPEST, deeper_than, loose, unblocked
from spanproof_collector.dialects._roles import role
from spanproof_collector.model.readings import ABSENT, CallPart, Message, Part, ResponsePart, Text

_ABOVE: Final = 4
"""How many lists and objects lie around what a call or an answer holds."""


class _Text(msgspec.Struct, tag="text", tag_field="type", forbid_unknown_fields=True, gc=False):
    content: str


class _Call(msgspec.Struct, tag="tool_call", tag_field="type", forbid_unknown_fields=True):
    id: str | None = None
    name: str | None = None
    arguments: Any = ABSENT


class _Answer(msgspec.Struct, tag="tool_call_response", tag_field="type", forbid_unknown_fields=True):
    response: Any
    id: str | None = None
    name: str | None = None


_Spelled: TypeAlias = _Text | _Call | _Answer


class _Message(msgspec.Struct, forbid_unknown_fields=True):
    role: str
    parts: list[_Spelled]
    finish_reason: str | None = None


_decode: Final = msgspec.json.Decoder(list[_Message]).decode


def read_schema(text: str) -> tuple[Message, ...] | None:
    """Return the messages, ``None`` where they are not spelled so, or are nested too deep."""
    try:
        found = _decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    nested = text.count("[") + text.count("{") > DEEPEST - _ABOVE  # as few brackets as that cannot be too deep
    messages = []
    for each in found:
        if not each.parts:
            return None
        parts: list[Part] = []
        for part in each.parts:
            if isinstance(part, _Text):
                parts.append(Text(content=part.content))
                continue
            held = part.arguments if isinstance(part, _Call) else part.response
            if isinstance(held, str):
                held = loose(held)
            elif nested and deeper_than(held, DEEPEST - _ABOVE):
                return None
            if isinstance(part, _Call):
                parts.append(CallPart(name=part.name or "", call_id=part.id or None, arguments=held))
            else:
                parts.append(ResponsePart(call_id=part.id or None, name=part.name or None, response=unblocked(held)))
        messages.append(Message(role=role(each.role), parts=tuple(parts), finish_reason=each.finish_reason or None))
    return tuple(messages)
