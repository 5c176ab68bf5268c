"""The Langfuse SDK: observations with their input and output as the wrapped SDK had them."""

from typing import ClassVar, Final

from spanproof_collector.dialects._dialect import Dialect, SpanView
from spanproof_collector.dialects._json import amount, as_attributes, broken, loose, number, text, unblocked, word
from spanproof_collector.dialects._payloads import answered, history, offered, requested, tool_answer
from spanproof_collector.dialects._usage import of_provider
from spanproof_collector.model.readings import (
    ABSENT,
    AgentRun,
    ModelCall,
    Other,
    Reading,
    Recorded,
    Retrieval,
    ToolRun,
    Usage,
)
from spanproof_collector.model.values import Attributes, Json

_TYPE: Final = "langfuse.observation.type"
_INPUT: Final = "langfuse.observation.input"
_OUTPUT: Final = "langfuse.observation.output"
_METADATA: Final = "langfuse.observation.metadata."


class Langfuse(Dialect):
    """Spans with ``langfuse.observation.type``."""

    name: ClassVar = "langfuse"
    marks: ClassVar = frozenset({_TYPE})
    session_keys: ClassVar = ("langfuse.session.id",)
    user_keys: ClassVar = ("langfuse.user.id",)

    def read(self, span: SpanView) -> Reading | None:
        """What the observation says, by its type."""
        attributes = span.attributes
        kind = attributes.get(_TYPE)
        if not isinstance(kind, str):
            return None
        match kind.lower():
            case "generation":
                return _generation(attributes, whole=span.history)
            case "tool":
                return _tool(span)
            case "agent":
                return _agent(span)
            case "retriever":
                return Retrieval(query=text(attributes, _INPUT))
            case other:
                return Other(operation=other)


def _failure(attributes: Attributes) -> str | None:
    if attributes.get("langfuse.observation.level") != "ERROR":
        return None
    return text(attributes, "langfuse.observation.status_message") or "error"


def _payload(attributes: Attributes, key: str) -> Json:
    value = attributes.get(key)
    return None if value is None else loose(value)


def _generation(attributes: Attributes, *, whole: bool) -> ModelCall:
    given = _payload(attributes, _INPUT) if whole else None
    said = _payload(attributes, _OUTPUT)
    model = text(attributes, "langfuse.observation.model.name")
    output = answered(said)
    return ModelCall(
        operation="chat",
        request_model=model,
        response_model=model,
        input=requested(given) or None,
        output=output or None,
        tools=offered(given) if isinstance(given, dict) else (),
        finish_reasons=tuple(m.finish_reason for m in output if m.finish_reason),
        usage=_usage(_payload(attributes, "langfuse.observation.usage_details")),
        cost=amount(as_attributes(_payload(attributes, "langfuse.observation.cost_details")).get("total")),
        error=_failure(attributes),
        truncated_values=broken(given) + broken(said),
    )


def _usage(details: Json) -> Usage:
    """Langfuse's own buckets do not overlap (``input``, ``input_cache_read``); a provider's usage stays its own."""
    if not isinstance(details, dict) or not {"input", "output"} & details.keys():
        return of_provider(details)
    sums = {
        side: [n for key, value in details.items() if _is_of(key, side) and (n := number(value)) is not None]
        for side in ("input", "output")
    }
    return Usage(
        input_tokens=round(sum(sums["input"])) if sums["input"] else None,
        output_tokens=round(sum(sums["output"])) if sums["output"] else None,
        cache_read_tokens=_first(details, "input_cache_read", "input_cached_tokens", "cache_read_input_tokens"),
        cache_write_tokens=_first(details, "input_cache_creation", "cache_creation_input_tokens"),
        reasoning_tokens=_first(details, "output_reasoning", "output_reasoning_tokens", "reasoning_tokens"),
    )


def _is_of(key: str, side: str) -> bool:
    return key == side or key.startswith(f"{side}_") or key.endswith(f"_{side}_tokens")


def _first(details: dict[str, Json], *keys: str) -> int | None:
    found = next((n for key in keys if (n := number(details.get(key))) is not None), None)
    return None if found is None else round(found)


def _call_id(attributes: Attributes) -> str | None:
    """The call id where whoever traces the tool writes it down; metadata values are JSON."""
    for key in ("tool_call_id", "call_id"):
        said = loose(word(attributes, f"{_METADATA}{key}").strip('"'))
        if isinstance(said, str) and said:
            return said
    return None


def _tool(span: SpanView) -> ToolRun:
    attributes = span.attributes
    given, said = attributes.get(_INPUT), attributes.get(_OUTPUT)
    arguments: Recorded = ABSENT if given is None else loose(given)
    match arguments:  # the SDK's decorator keeps positional and named arguments apart
        case {"args": [], "kwargs": dict() as named}:
            arguments = named
        case _:
            pass
    result: Recorded = ABSENT if said is None else loose(said)
    call_id, error = _call_id(attributes), _failure(attributes)
    if (part := tool_answer(result)) is not None:
        result, call_id = part.response, call_id or part.call_id
        error = error or (str(part.response) if part.is_error else None)
    bare = arguments if isinstance(arguments, str) and not broken(arguments) else None
    return ToolRun(
        name=span.name,
        call_id=call_id,
        arguments=ABSENT if bare is not None else arguments,
        bare_argument=bare,
        result=unblocked(result),
        error=error,
        truncated_values=broken(arguments) + broken(result),
    )


def _agent(span: SpanView) -> AgentRun:
    attributes = span.attributes
    given, said = _payload(attributes, _INPUT), _payload(attributes, _OUTPUT)
    conversation = history(said)
    return AgentRun(
        operation="invoke_agent",
        name=span.name or None,
        version=text(attributes, "langfuse.version"),
        input=(conversation[:-1] or requested(given)) or None if span.history else None,
        output=answered(said) or None,
        error=_failure(attributes),
        truncated_values=broken(given) + broken(said),
    )
