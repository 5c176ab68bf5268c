"""What joins traces that carry no session: shared tool calls, and one history that extends another."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from spanproof_collector.model.readings import (
    Absent,
    CallPart,
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


def digest64(value: Json) -> int:
    """Return 64 bits of the SHA-256 of the canonical text; 0 is kept for "not recorded"."""
    number = int.from_bytes(hashlib.sha256(_canonical_bytes(value)).digest()[:8], "little")
    return number or 1


def _signature(name: str, arguments: Json) -> str:
    text = name.encode("utf-8", "surrogatepass") + b"\0" + _canonical_bytes(arguments)
    return hashlib.sha256(text).hexdigest()[:16]


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
            case OtherPart():
                pass  # reasoning and media are often left out when a history is sent again
    return told


class _Call(NamedTuple):
    call_id: str
    signature: str
    """Empty where the arguments were not recorded."""


class _Answer(NamedTuple):
    call_id: str


class _Facts(NamedTuple):
    """What of a message the keys are made of."""

    message: Message
    told: bytes
    calls: tuple[_Call | _Answer, ...]


# A history is sent again with every model call, and the dialects give one object for equal text: its facts are found
# once. The entry holds the message, so that its id stays its own.
_facts_by_id: dict[int, _Facts] = {}
_REMEMBERED: Final = 8192


def _facts(message: Message) -> _Facts:
    facts = _facts_by_id.get(id(message))
    if facts is not None:
        return facts
    calls: list[_Call | _Answer] = []
    for part in message.parts:
        if isinstance(part, CallPart) and part.call_id:
            arguments = part.arguments
            signature = "" if isinstance(arguments, Absent) else _signature(part.name, arguments)
            calls.append(_Call(part.call_id, signature))
        elif isinstance(part, ResponsePart) and part.call_id:
            calls.append(_Answer(part.call_id))
    facts = _Facts(message, _canonical_bytes(_told(message)) + b"\n", tuple(calls))
    if len(_facts_by_id) >= _REMEMBERED:
        _facts_by_id.clear()
    _facts_by_id[id(message)] = facts
    return facts


def _of_calls(messages: Iterable[_Facts], word: str) -> Iterator[str]:
    known: set[str] = set()
    for facts in messages:
        for call in facts.calls:
            if isinstance(call, _Call):
                known.add(call.call_id)
                if call.signature:
                    yield f"{word}:{call.call_id}:{call.signature}"
                if word == "asked":
                    yield f"asked:{call.call_id}"
            elif call.call_id not in known:
                yield f"answered:{call.call_id}"


def of_message(message: Message, *, output: bool) -> set[str]:
    """Return the keys of one message that stands alone."""
    return set(_of_calls((_facts(message),), "asked" if output else "holds"))


def of_messages(call: ModelCall) -> set[str]:
    """Return the keys of a model call.

    ``asked:<id>:<signature>`` and ``asked:<id>`` for a tool call in its output; ``holds:<id>:<signature>`` for one in
    its input; ``answered:<id>`` for a result whose call its input does not hold (only the newest part of the history
    was sent); ``ends:<hash>`` for its whole conversation; ``extends:<hash>`` for every earlier point of it at which a
    model had spoken.
    """
    inputs, outputs = list(map(_facts, call.input or ())), list(map(_facts, call.output or ()))
    keys = set(_of_calls(inputs, "holds")) | set(_of_calls(outputs, "asked"))
    asked_by_user, last = False, ""
    history = hashlib.sha256()
    for message, told, _ in (*inputs, *outputs):
        history.update(told)
        asked_by_user = asked_by_user or message.role == "user"
        if message.role == "assistant" and asked_by_user:
            last = history.hexdigest()[:24]
            keys.add(f"extends:{last}")
    if outputs and last:
        keys.discard(f"extends:{last}")
        keys.add(f"ends:{last}")
    return keys


def of_tool(run: ToolRun) -> set[str]:
    """Return the keys of a tool run that names its call."""
    if not run.call_id:
        return set()
    if isinstance(run.arguments, Absent):
        return {f"answered:{run.call_id}"}
    return {f"holds:{run.call_id}:{_signature(run.name, run.arguments)}"}
