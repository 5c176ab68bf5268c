"""What joins traces that carry no session: shared tool calls, and one history that extends another."""

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

import msgspec

from spanproof_collector.model.readings import (
    Absent,
    CallPart,
    DecisionPart,
    Message,
    ModelCall,
    OtherPart,
    ResponsePart,
    Text,
    ToolRun,
)
from spanproof_collector.model.values import Json

_sorted: Final = msgspec.json.Encoder(order="sorted").encode


def _canonical_bytes(value: Json) -> bytes:
    try:
        return _sorted(value)
    except (UnicodeEncodeError, OverflowError):  # half a character; a number past 64 bits
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return text.encode("utf-8", "surrogatepass")


def canonical(value: Json) -> str:
    """Return one text for equal JSON values: sorted keys, no blanks."""
    return _canonical_bytes(value).decode("utf-8", "surrogatepass")


def _digest64(spelled: bytes) -> int:
    """Return 64 bits of the SHA-256 of a canonical text; 0 is kept for "not recorded"."""
    return int.from_bytes(sha256(spelled).digest()[:8], "little") or 1


def _signature(name: str, spelled: bytes) -> str:
    return sha256(name.encode("utf-8", "surrogatepass") + b"\0" + spelled).hexdigest()[:16]


def _told(message: Message) -> Json:
    told: list[Json] = [message.role]
    for part in message.parts:
        match part:
            case Text(content=content):
                told.append(["text", content])
            case CallPart():
                told.append(
                    ["call", part.name, part.call_id, None if isinstance(part.arguments, Absent) else part.arguments]
                )
            case ResponsePart():
                told.append(["response", part.call_id, None if isinstance(part.response, Absent) else part.response])
            case OtherPart() | DecisionPart():
                pass  # reasoning and media are often left out when a history is sent again
    return told


def _of_calls(messages: Iterable[Message], word: str) -> set[str]:
    known: set[str] = set()
    keys: set[str] = set()
    for message in messages:
        for part in message.parts:
            if isinstance(part, CallPart):
                call_id = part.call_id
                if call_id:
                    known.add(call_id)
                    arguments = part.arguments
                    if not isinstance(arguments, Absent):
                        keys.add(f"{word}:{call_id}:{_signature(part.name, _canonical_bytes(arguments))}")
                    if word == "asked":
                        keys.add(f"asked:{call_id}")
            elif isinstance(part, ResponsePart) and part.call_id and part.call_id not in known:
                keys.add(f"answered:{part.call_id}")
    return keys


def of_message(message: Message, *, output: bool) -> set[str]:
    """Return the keys of one message that stands alone."""
    return _of_calls((message,), "asked" if output else "holds")


def of_asking(call: ModelCall) -> set[str]:
    """Return the keys of what a model call asked for, which a trace without a session may go on from."""
    return _of_calls(call.output or (), "asked")


def of_messages(call: ModelCall) -> set[str]:
    """Return the keys of a model call.

    ``asked:<id>:<signature>`` and ``asked:<id>`` for a tool call in its output; ``holds:<id>:<signature>`` for one in
    its input; ``answered:<id>`` for a result whose call its input does not hold (only the newest part of the history
    was sent); ``ends:<hash>`` for its whole conversation; ``extends:<hash>`` for every earlier point of it at which a
    model had spoken.
    """
    inputs, outputs = call.input or (), call.output or ()
    keys = _of_calls(inputs, "holds") | _of_calls(outputs, "asked")
    asked_by_user, last = False, ""
    history = sha256()
    for message in (*inputs, *outputs):
        history.update(_canonical_bytes(_told(message)) + b"\n")
        asked_by_user = asked_by_user or message.role == "user"
        if message.role == "assistant" and asked_by_user:
            last = history.hexdigest()[:24]
            keys.add(f"extends:{last}")
    if outputs and last:
        keys.discard(f"extends:{last}")
        keys.add(f"ends:{last}")
    return keys


def of_tool(run: ToolRun, *, history: bool = True) -> tuple[int, set[str]]:
    """Return the hash of a tool run's arguments, 0 where they were not recorded, and keys.

    The keys name the call that it answers, by which a trace goes on from the one that asked. Without ``history`` there
    are none: a trace that names its session goes on from no other.
    """
    named = bool(run.call_id) and history
    if isinstance(run.arguments, Absent):
        return 0, {f"answered:{run.call_id}"} if named else set()
    spelled = _canonical_bytes(run.arguments)
    keys = {f"holds:{run.call_id}:{_signature(run.name, spelled)}"} if named else set()
    return _digest64(spelled), keys
