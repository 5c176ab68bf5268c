"""Logfire's own instrumentation of model clients and of the OpenAI Agents SDK.

A request that streams ends before its answer comes: the answer stands in a span of its own beside it, at one moment.
"""

from typing import ClassVar, Final

from msgspec.structs import replace

from spanproof_collector.dialects._conventions import read_operation
from spanproof_collector.dialects._conventions import usage as usage_of
from spanproof_collector.dialects._dialect import Dialect, SpanView
from spanproof_collector.dialects._json import amount, broken, loose, text, unblocked
from spanproof_collector.dialects._messages import messages_of
from spanproof_collector.dialects._payloads import answered, in_one, offered, requested
from spanproof_collector.dialects._usage import of_provider
from spanproof_collector.model.readings import ABSENT, AgentRun, Message, ModelCall, Other, Reading, ToolRun, Usage
from spanproof_collector.model.values import Attributes, Json
from spanproof_instrumentation import semconv

_TYPE: Final = "logfire.span_type"
_TEMPLATE: Final = "logfire.msg_template"
_REQUEST: Final = "request_data"
_RESPONSE: Final = "response_data"
_EVENTS: Final = "events"


class Logfire(Dialect):
    """Spans with ``logfire.span_type`` that tell of a model, an agent or a tool."""

    name: ClassVar = "logfire"
    marks: ClassVar = frozenset({_TYPE})

    def read(self, span: SpanView) -> Reading | None:
        """What the span says: by its operation, its request, or the kind of work that its template names."""
        attributes = span.attributes
        if attributes.get(_TYPE) == "pending_span":
            return Other(operation="pending_span")  # the whole span comes when it has ended
        reading = read_operation(attributes, history=span.history)
        template = attributes.get(_TEMPLATE)
        failed_request = isinstance(template, str) and template.startswith("Responses API")
        if reading is None and semconv.REQUEST_MODEL in attributes and (_REQUEST in attributes or failed_request):
            reading = ModelCall(operation="", usage=usage_of(attributes))
        if isinstance(reading, ModelCall):
            return _model_call(attributes, reading, history=span.history)
        return _of_agents_sdk(attributes) if reading is None else reading


def _payload(attributes: Attributes, key: str) -> Json:
    value = attributes.get(key)
    return None if value is None else loose(value)


def _model_call(attributes: Attributes, call: ModelCall, *, history: bool) -> ModelCall:
    """Fill an inference from the request and answer as they were, which are all there is in version 1."""
    asked, said = _payload(attributes, _REQUEST), _payload(attributes, _RESPONSE)
    given, output = _of_events(_payload(attributes, _EVENTS))
    given = given or requested(asked)
    inside = said if isinstance(said, dict) else {}
    if not output:
        output = answered(inside.get("message")) or answered(inside.get("combined_chunk_content"))
    spent = call.usage if call.usage != Usage() else of_provider(inside.get("usage"))
    if not output and not call.operation:  # the Agents SDK's generations put all of it into the request
        given, output = _ending(given)
    output = call.output if call.output else output
    streamed = attributes.get(_TYPE) == "span" and not output and call.response_id is None and not inside
    return replace(
        call,
        operation=call.operation or "chat",
        provider=call.provider or text(attributes, semconv.SYSTEM),
        request_model=call.request_model or text(attributes, semconv.REQUEST_MODEL),
        response_model=call.response_model or text(attributes, semconv.RESPONSE_MODEL),
        input=(call.input or given or None) if history else None,
        output=output or None,
        tools=call.tools or (offered(asked) if history and isinstance(asked, dict) else ()),
        usage=spent,
        cost=amount(attributes.get("operation.cost")),
        error=_failure(attributes),
        answered_beside=streamed,
        truncated_values=call.truncated_values + broken(asked) + broken(said),
    )


def _failure(attributes: Attributes) -> str | None:
    """What the Agents SDK says of a failure: a message, and the error in its data."""
    error = _payload(attributes, "error")
    if not isinstance(error, dict):
        return None
    data, message = error.get("data"), error.get("message")
    inner = data.get("error") if isinstance(data, dict) else None
    return ": ".join(part for part in (message, inner) if isinstance(part, str)) or "error"


def _of_events(events: Json) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """Split listed message events: what the assistant says at the end was put out, the rest was put in."""
    items = [item for item in events if isinstance(item, dict)] if isinstance(events, list) else []
    return _ending(messages_of([_in_one_piece(item) for item in items]))


def _ending(told: tuple[Message, ...]) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    end = len(told)
    while end and told[end - 1].role == "assistant":
        end -= 1
    return told[:end], in_one(told[end:])


def _in_one_piece(event: dict[str, Json]) -> dict[str, Json]:
    inner = event.get("message")
    message = {**inner, "finish_reason": event.get("finish_reason")} if isinstance(inner, dict) else event
    return {key: value for key, value in message.items() if key != "event.name"}


def _of_agents_sdk(attributes: Attributes) -> Reading | None:
    template = attributes.get(_TEMPLATE)
    match template.partition(":")[0] if isinstance(template, str) else "":
        case "Agent run" if "gen_ai.system" in attributes:
            return AgentRun(operation="invoke_agent", name=text(attributes, "name"), error=_failure(attributes))
        case "Function" if "gen_ai.system" in attributes:
            given, said = _payload(attributes, "input"), _payload(attributes, "output")
            said = None if said == "null" else said  # a call that waits for a decision has no output yet
            return ToolRun(
                name=text(attributes, "name") or "",
                arguments=given if "input" in attributes else ABSENT,
                result=ABSENT if said is None else unblocked(said),
                error=_failure(attributes),
                truncated_values=broken(given) + broken(said),
            )
        case "Handoff" if "to_agent" in attributes:
            return ToolRun(name="handoff", handoff_to=text(attributes, "to_agent") or "")
        case other if "gen_ai.system" in attributes or "agent_trace_id" in attributes:
            return Other(operation=other.partition(" ")[0].lower())
        case _:
            return None
