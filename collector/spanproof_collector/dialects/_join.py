"""What joins traces that carry no session: shared tool calls, and one history that extends another."""

import hashlib
import json
import threading
from collections.abc import Iterable
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


class _Walk:
    """What is known after some messages of a conversation: its hash so far, its keys, the calls that it holds."""

    __slots__ = ("asked_by_user", "history", "keys", "known", "last", "messages")

    def __init__(self) -> None:
        self.messages: tuple[Message, ...] = ()
        self.history = hashlib.sha256()
        self.asked_by_user = False
        self.last = ""
        """The hash at which a model had spoken last."""

        self.keys: set[str] = set()
        self.known: set[str] = set()

    def go(self, messages: Iterable[Message], *, output: bool) -> None:
        """Take in the next messages."""
        for message in messages:
            _, told, calls = _facts(message)
            for call in calls:
                self.add(call, output=output)
            self.history.update(told)
            self.asked_by_user = self.asked_by_user or message.role == "user"
            if message.role == "assistant" and self.asked_by_user:
                self.last = self.history.hexdigest()[:24]
                self.keys.add(f"extends:{self.last}")

    def add(self, call: _Call | _Answer, *, output: bool) -> None:
        """Take in a call or an answer of a message."""
        if isinstance(call, _Answer):
            if call.call_id not in self.known:
                self.keys.add(f"answered:{call.call_id}")
            return
        self.known.add(call.call_id)
        if call.signature:
            self.keys.add(f"{'asked' if output else 'holds'}:{call.call_id}:{call.signature}")
        if output:
            self.keys.add(f"asked:{call.call_id}")


# The next model call sends the same history and some messages more. By the last message, which the entry holds.
_walks_by_id: dict[int, _Walk] = {}
_walking = threading.Lock()
_WALKS: Final = 512
_STEPS_BACK: Final = 8


def _walked(messages: tuple[Message, ...]) -> _Walk:
    """Return the walk over an input, from the longest beginning of it that was walked before."""
    walk, done = _Walk(), 0
    count = len(messages)
    for end in range(count, max(0, count - _STEPS_BACK), -1):
        last = id(messages[end - 1])
        before = _walks_by_id.get(last)
        if before is not None and before.messages == messages[:end]:
            if end == count:
                return before
            # It goes on, and is not kept where it was: a history grows, and seldom forks.
            del _walks_by_id[last]
            walk, done = before, end
            break
    walk.go(messages[done:], output=False)
    walk.messages = messages
    if messages:
        if len(_walks_by_id) >= _WALKS:
            _walks_by_id.clear()
        _walks_by_id[id(messages[-1])] = walk
    return walk


def of_message(message: Message, *, output: bool) -> set[str]:
    """Return the keys of one message that stands alone."""
    walk = _Walk()
    for call in _facts(message).calls:
        walk.add(call, output=output)
    return walk.keys


def of_messages(call: ModelCall) -> set[str]:
    """Return the keys of a model call.

    ``asked:<id>:<signature>`` and ``asked:<id>`` for a tool call in its output; ``holds:<id>:<signature>`` for one in
    its input; ``answered:<id>`` for a result whose call its input does not hold (only the newest part of the history
    was sent); ``ends:<hash>`` for its whole conversation; ``extends:<hash>`` for every earlier point of it at which a
    model had spoken.
    """
    walk = _Walk()
    with _walking:
        told = _walked(call.input or ())
        walk.keys, walk.history = told.keys.copy(), told.history.copy()
        walk.asked_by_user, walk.last = told.asked_by_user, told.last
    if not call.output:
        return walk.keys
    walk.go(call.output, output=True)
    if walk.last:
        walk.keys.discard(f"extends:{walk.last}")
        walk.keys.add(f"ends:{walk.last}")
    return walk.keys


def of_tool(run: ToolRun) -> set[str]:
    """Return the keys of a tool run that names its call."""
    if not run.call_id:
        return set()
    if isinstance(run.arguments, Absent):
        return {f"answered:{run.call_id}"}
    return {f"holds:{run.call_id}:{_signature(run.name, run.arguments)}"}
