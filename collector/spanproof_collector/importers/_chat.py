"""Conversations in the shapes of chat APIs, with function calls: messages in, turns out.

A result goes to the call that it names among those still open in the message before it, else to the latest open one of
that id before; where one of the two has no id, to the first open one. Ids repeat within a session and across them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from spanproof_collector.importers._content import content, plain_result
from spanproof_collector.importers._fields import ident, loosely, moment, obj, objects, openai_usage, text, truth
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
        """Return the place of the call that an answer with this id is for.

        An answer that names another call proves nothing of this one: only where an id is missing the order decides.
        """
        free = [place for place in range(len(self.calls)) if place not in self.answered]
        if call_id is None:
            return next(iter(free), None)
        named = (place for place in free if self.calls[place].call_id == call_id)
        return next(named, next((place for place in free if self.calls[place].call_id is None), None))

    def answer(self, call_id: str | None, answered: Callable[[Call], Call]) -> bool:
        """Answer the call with this id, else the first open one without; False where there is none."""
        place = self.place_of(call_id)
        if place is None:
            return False
        self._take(place, answered)
        return True

    def answer_named(self, call_id: str, answered: Callable[[Call], Call]) -> bool:
        """Answer the open call that has this id; False where there is none."""
        place = self.place_of(call_id)
        if place is None or self.calls[place].call_id != call_id:
            return False
        self._take(place, answered)
        return True

    def _take(self, place: int, answered: Callable[[Call], Call]) -> None:
        self.calls[place] = answered(self.calls[place])
        self.answered.add(place)


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


def _answered_by_block(part: Message) -> Callable[[Call], Call]:
    """Return what gives a call the answer of a block in Anthropic's shape."""
    value = plain_result(part.get("content"))
    if truth(part.get("is_error")) is not True:
        return with_result(value)
    words = value if isinstance(value, str) else content(part.get("content")).text
    return lambda call: replace(call, error=words or "error")


def turns_of(messages: Iterable[Message]) -> Iterator[Turn]:
    """Yield the turns of a conversation; answers that no call waits for stand as words of the environment."""
    found: list[Said | tuple[Inference, Open]] = []
    asked: dict[str, list[Open]] = defaultdict(list)

    def answer(call_id: str | None, answered: Callable[[Call], Call]) -> bool:
        """Answer a call of the message before, else the latest one of this id that stayed open."""
        latest = found[-1] if found else None
        if isinstance(latest, tuple) and latest[1].answer(call_id, answered):
            return True
        return call_id is not None and any(each.answer_named(call_id, answered) for each in reversed(asked[call_id]))

    for message in messages:
        role = message.get("role")
        if role in ("tool", "function"):
            if not answer(ident(message.get("tool_call_id")), _answered(message)):
                found.append(said_by(message))
            continue
        results = [part for part in content(message.get("content")).others if part.get("type") == "tool_result"]
        if role == "user" and results:
            for part in results:
                answer(ident(part.get("tool_use_id")), _answered_by_block(part))
            if not content(message.get("content")).text:
                continue
        if role == "assistant":
            opened = Open(calls=calls_of(message))
            for call in opened.calls:
                asked[call.call_id or ""].append(opened)
            found.append((inference_of(message), opened))
        else:
            found.append(said_by(message))
    for turn in found:
        yield replace(turn[0], calls=tuple(turn[1].calls)) if isinstance(turn, tuple) else turn
