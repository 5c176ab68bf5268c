"""What span events say of a span: messages one by one, as conventions before v1.37 have it, or inference details.

Payloads are JSON strings in attributes, in the provider's own shape.
"""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from spanproof_collector.dialects._conventions import read_messages
from spanproof_collector.dialects._dialect import SpanView
from spanproof_collector.dialects._json import BrokenError, broken, loose, text, unblocked
from spanproof_collector.dialects._messages import messages
from spanproof_collector.dialects._payloads import requested
from spanproof_collector.model.readings import (
    ABSENT,
    Absent,
    AgentRun,
    CallPart,
    Message,
    ModelCall,
    Reading,
    Recorded,
    ResponsePart,
    ToolRun,
)
from spanproof_collector.model.spans import SpanEvent
from spanproof_collector.model.values import Json
from spanproof_instrumentation import semconv

ROLES: Final = {
    semconv.EVENT_SYSTEM_MESSAGE: "system",
    semconv.EVENT_USER_MESSAGE: "user",
    semconv.EVENT_ASSISTANT_MESSAGE: "assistant",
    semconv.EVENT_TOOL_MESSAGE: "tool",
}
_CONTENT_PROMPT: Final = "gen_ai.content.prompt"
_CONTENT_COMPLETION: Final = "gen_ai.content.completion"
_TELLING: Final = frozenset(
    {*ROLES, semconv.EVENT_CHOICE, semconv.EVENT_INFERENCE_DETAILS, _CONTENT_PROMPT, _CONTENT_COMPLETION}
)


def with_events(reading: Reading | None, span: SpanView) -> Reading | None:
    """Return a reading, filled from the span's events where the attributes say nothing."""
    if reading is None or not span.events:
        return reading
    events = [event for event in span.events if event.name in _TELLING]
    if not events:
        return reading
    match reading:
        case ModelCall() | AgentRun():
            given, said, cut = _told(events, history=span.history)
            return replace(
                reading,
                input=reading.input if reading.input is not None or not given else given,
                output=reading.output if reading.output is not None or not said else said,
                truncated_values=reading.truncated_values + cut,
            )
        case ToolRun():
            return _filled(reading, events)
        case _:
            return reading


def _told(events: Sequence[SpanEvent], *, history: bool) -> tuple[tuple[Message, ...], tuple[Message, ...], int]:
    given: list[Message] = []
    said: list[Message] = []
    cut = 0
    for event in events:
        got = event.attributes
        match event.name:
            case semconv.EVENT_CHOICE:
                found, lost = _choice(event)
                said += found
                cut += lost
            case semconv.EVENT_INFERENCE_DETAILS:
                for key, into in ((semconv.INPUT_MESSAGES, given), (semconv.OUTPUT_MESSAGES, said)):
                    if into is said or history:
                        read, lost = read_messages(got, key)
                        into += read or ()
                        cut += lost
            case _ if event.name == _CONTENT_PROMPT:
                given += requested(loose(got.get("gen_ai.prompt"))) if history else ()
            case _ if event.name == _CONTENT_COMPLETION:
                said += _as_assistant(requested(loose(got.get("gen_ai.completion"))))
            case _ if history:
                found, lost = _message(event)
                given += found
                cut += lost
            case _:
                pass
    return tuple(given), tuple(said), cut


def _as_assistant(read: Sequence[Message]) -> list[Message]:
    return [replace(message, role="assistant") if message.role == "user" else message for message in read]


def _body(event: SpanEvent) -> dict[str, Json]:
    """What an event holds: its attributes, or the body in one of them."""
    got = event.attributes
    whole = loose(got["gen_ai.event.content"]) if "gen_ai.event.content" in got else None
    body = whole if isinstance(whole, dict) else {key: loose(value) for key, value in got.items()}
    content = body.get("content")
    # words that happen to be a JSON object are words
    return {**body, "content": got.get("content")} if isinstance(content, dict) and "content" in got else body  # type: ignore[dict-item]


def _message(event: SpanEvent) -> tuple[tuple[Message, ...], int]:
    body = _body(event)
    content = body.get("content")
    if isinstance(content, str) and broken(loose(content)):
        return (), 1
    item: dict[str, Json] = {"role": ROLES[event.name], "content": content}
    if event.name == semconv.EVENT_TOOL_MESSAGE:
        item["tool_call_id"] = body.get("id") or body.get("tool_call_id")
        item["name"] = body.get("name")
    if "tool_calls" in body:
        item["tool_calls"] = body["tool_calls"]
    return _read(item), 0


def _choice(event: SpanEvent) -> tuple[tuple[Message, ...], int]:
    body = _body(event)
    inner = body.get("message", body)
    if isinstance(inner, str) and broken(inner):
        return (), 1
    item: dict[str, Json] = {"role": "assistant"}
    item |= inner if isinstance(inner, dict) else {"content": inner}
    if "tool_calls" in body:
        item.setdefault("tool_calls", body["tool_calls"])
    item["finish_reason"] = body.get("finish_reason")
    return _read(item), 0


def _read(item: dict[str, Json]) -> tuple[Message, ...]:
    try:
        return messages([item])  # type: ignore[list-item]  # Json is a Value
    except BrokenError:
        return ()


def _from_details(event: SpanEvent, arguments: Recorded, result: Recorded) -> tuple[Recorded, Recorded]:
    """A tool's own details hold its call as an input and its answer as an output."""
    got = event.attributes
    given, _ = read_messages(got, semconv.INPUT_MESSAGES)
    said, _ = read_messages(got, semconv.OUTPUT_MESSAGES)
    for part in (part for message in (*(given or ()), *(said or ())) for part in message.parts):
        if isinstance(part, CallPart) and isinstance(arguments, Absent):
            arguments = part.arguments
        elif isinstance(part, ResponsePart) and isinstance(result, Absent):
            result = part.response
    return arguments, result


def _filled(run: ToolRun, events: Sequence[SpanEvent]) -> ToolRun:
    """A tool span's own message event holds its arguments, and its choice the result."""
    arguments, result = run.arguments, run.result
    call_id = run.call_id
    for event in events:
        got = event.attributes
        call_id = call_id or text(got, "id")
        if event.name == semconv.EVENT_INFERENCE_DETAILS:
            arguments, result = _from_details(event, arguments, result)
        if event.name == semconv.EVENT_TOOL_MESSAGE and isinstance(arguments, Absent) and "content" in got:
            arguments = loose(got["content"])
        elif event.name == semconv.EVENT_CHOICE and isinstance(result, Absent) and "message" in got:
            result = unblocked(loose(got["message"]))
    return replace(
        run,
        call_id=call_id,
        arguments=arguments,
        result=result,
        truncated_values=run.truncated_values
        + (broken(arguments) if run.arguments is ABSENT else 0)
        + (broken(result) if run.result is ABSENT else 0),
    )
