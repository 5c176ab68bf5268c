"""Actions that a protocol has agents write into their words."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from spanproof_collector.importers._chat import Message, inference_of, said_by
from spanproof_collector.importers._fields import loosely, obj, text
from spanproof_collector.importers._session import Call, Inference, Turn
from spanproof_collector.model.values import Json

_RESPOND: Final = "respond"
_OUTPUT: Final = "API output: "


def _action(words: str) -> dict[str, Json]:
    """Return name and arguments of the action that closes a message; empty where it closes with none."""
    _, marker, action = words.rpartition("Action:")
    if not marker:
        return {}
    try:
        found = obj(json.loads(action.strip()))
    except (ValueError, RecursionError):
        return {}
    return found if text(found.get("name")) and "arguments" in found else {}


def react_turns(messages: list[Message]) -> Iterator[Turn]:
    """Yield the turns of a conversation in tau-bench's strategies act and react.

    The message closes with ``Action:`` and an object of name and arguments. ``respond`` is the answer to the user; any
    other is a call, and the next message of the user's side, opened by ``API output:``, is its result.
    """
    waiting: Inference | None = None
    for message in messages:
        if message.get("role") == "assistant":
            if waiting is not None:
                yield waiting
            waiting = _spoken(message)
            continue
        words = message.get("content")
        if waiting is not None and waiting.calls and isinstance(words, str) and words.startswith(_OUTPUT):
            answered = replace(waiting.calls[0], result=words.removeprefix(_OUTPUT))
            yield replace(waiting, calls=(answered,))
            waiting = None
            continue
        if waiting is not None:
            yield waiting
            waiting = None
        yield said_by(message)
    if waiting is not None:
        yield waiting


def _spoken(message: Message) -> Inference:
    plain = inference_of(message)
    words = plain.text or ""
    action = _action(words)
    if not action:
        return plain
    thought = words.rpartition("Action:")[0].strip() or None
    given = loosely(action["arguments"])
    if action["name"] == _RESPOND:
        return replace(plain, text=text(obj(given).get("content")), reasoning=plain.reasoning or thought)
    call = Call(name=str(action["name"]), arguments=given)
    return replace(plain, text=None, reasoning=plain.reasoning or thought, calls=(call,))
