"""Conversations in the shapes of chat APIs, with function calls: messages in, turns out.

A result goes to the call that it names among those still open in the message before it, else to the first open one:
ids repeat within a session and across them.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from spanproof_collector.importers._content import content, plain_result
from spanproof_collector.importers._fields import ident, loosely, moment, obj, objects, openai_usage, text
from spanproof_collector.importers._session import Call, Inference, Said, Turn
from spanproof_collector.model.readings import ABSENT, Recorded
from spanproof_collector.model.values import Json

Message: TypeAlias = dict[str, Json]


@dataclass(slots=True, kw_only=True)
class Open:
    """Calls that wait for their answers."""

    calls: list[Call] = field(default_factory=list)
    answered: set[int] = field(default_factory=set)

    def place_of(self, call_id: str | None) -> int | None:
        """Return the place of the call that an answer with this id is for."""
        free = [place for place in range(len(self.calls)) if place not in self.answered]
        named = (place for place in free if call_id is not None and self.calls[place].call_id == call_id)
        return next(named, free[0] if free else None)

    def answer(self, call_id: str | None, answered: Callable[[Call], Call]) -> bool:
        """Answer the call with this id, else the first open one; False where none is open."""
        place = self.place_of(call_id)
        if place is None:
            return False
        self.calls[place] = answered(self.calls[place])
        self.answered.add(place)
        return True


def arguments(value: Json) -> Recorded:
    """Return arguments as structure; the text as it stands where it is no JSON."""
    return ABSENT if value is None or value == "" else loosely(value)


def function_call(item: Message) -> Call:
    """Read a call in OpenAI's shape, nested or flat, or in Anthropic's."""
    inner = obj(item.get("function"))
    name = text(inner.get("name")) or text(item.get("name")) or text(item.get("function")) or ""
    given = inner if "arguments" in inner else item
    value = given.get("arguments", given.get("input", given.get("args")))
    return Call(name=name, call_id=ident(item.get("id")), arguments=arguments(value))


def calls_of(message: Message) -> list[Call]:
    """Return what a message asks for."""
    calls = [function_call(item) for item in objects(message.get("tool_calls"))]
    single = obj(message.get("function_call"))
    if not calls and single:
        calls.append(function_call(single))
    blocks = content(message.get("content")).others
    return calls + [function_call(block) for block in blocks if block.get("type") == "tool_use"]


def with_result(value: Json) -> Callable[[Call], Call]:
    """Return what gives a call its result."""
    return lambda call: replace(call, result=plain_result(value))


def _answered(message: Message) -> Callable[[Call], Call]:
    """Return what gives a call the answer of a message, an error where one stands beside it."""
    words = text(obj(message.get("error")).get("message"))
    return with_result(message.get("content")) if words is None else lambda call: replace(call, error=words)


def inference_of(message: Message) -> Inference:
    """Return an assistant's message without its calls."""
    said = content(message.get("content"))
    reasoning = text(message.get("reasoning_content")) or text(message.get("reasoning")) or said.reasoning
    return Inference(
        text=said.text or text(message.get("refusal")),
        reasoning=reasoning,
        parts=said.parts,
        model=text(message.get("model")),
        usage=openai_usage(message.get("usage")),
        at=moment(message.get("timestamp")),
    )


def said_by(message: Message) -> Said:
    """Return a message that no model of the agent wrote."""
    said = content(message.get("content"))
    role = message.get("role")
    spoke = "system" if role in ("system", "developer") else "user" if role == "user" else "environment"
    return Said(role=spoke, text=said.text, parts=said.parts, at=moment(message.get("timestamp")))  # type: ignore[arg-type]


def turns_of(messages: Iterable[Message]) -> Iterator[Turn]:
    """Yield the turns of a conversation; answers that no call waits for stand as words of the environment."""
    waiting: Inference | None = None
    pending = Open()

    def flush() -> Iterator[Turn]:
        if waiting is not None:
            yield replace(waiting, calls=tuple(pending.calls))

    for message in messages:
        role = message.get("role")
        if role in ("tool", "function"):
            if not pending.answer(ident(message.get("tool_call_id")), _answered(message)):
                yield from flush()
                waiting = None
                yield said_by(message)
            continue
        results = [part for part in content(message.get("content")).others if part.get("type") == "tool_result"]
        if role == "user" and results:
            for part in results:
                pending.answer(ident(part.get("tool_use_id")), with_result(part.get("content")))
            if not content(message.get("content")).text:
                continue
        yield from flush()
        waiting, pending = None, Open()
        if role == "assistant":
            waiting, pending = inference_of(message), Open(calls=calls_of(message))
        else:
            yield said_by(message)
    yield from flush()
