"""OpenInference: messages spread over attributes, input and output as they were beside them."""

from collections.abc import Iterator
from typing import ClassVar, Final

from spanproof_collector.dialects._dialect import Dialect, SpanView
from spanproof_collector.dialects._flat import gathered, listed
from spanproof_collector.dialects._json import amount, broken, count, literal, loose, number, strings, text, unblocked
from spanproof_collector.dialects._messages import messages_of, with_lost
from spanproof_collector.dialects._payloads import answered, history, offered, requested, tool_answer
from spanproof_collector.dialects._usage import whole
from spanproof_collector.model.readings import (
    ABSENT,
    Absent,
    AgentRun,
    Message,
    ModelCall,
    Other,
    Reading,
    Recorded,
    Retrieval,
    ToolDefinition,
    ToolRun,
    Usage,
)
from spanproof_collector.model.trials import ForeignResult
from spanproof_collector.model.values import Attributes, Json, Value

_KIND: Final = "openinference.span.kind"
_INPUT: Final = "input.value"
_OUTPUT: Final = "output.value"
_IN: Final = "llm.input_messages."
_OUT: Final = "llm.output_messages."
_TOOLS: Final = "llm.tools."
_HANDOFF: Final = "handoff to "


class OpenInference(Dialect):
    """Spans with ``openinference.span.kind``, or with what such a span has left when attributes were dropped."""

    name: ClassVar = "openinference"
    marks: ClassVar = frozenset({_KIND})
    prefixes: ClassVar = (_IN, _OUT)

    def read(self, span: SpanView) -> Reading | None:
        """What the span says, by its kind."""
        attributes = span.attributes
        kind = attributes.get(_KIND)
        match kind.upper() if isinstance(kind, str) else "LLM" if kind is None else "":
            case "LLM":
                return _model_call(attributes, history=span.history)
            case "TOOL":
                return _tool_run(span)
            case "AGENT":
                return _agent_run(span)
            case "RETRIEVER":
                return Retrieval(query=text(attributes, _INPUT), source=None)
            case other:
                return Other(operation=other.lower())

    def foreign(self, span: SpanView) -> Iterator[ForeignResult]:
        """Evaluations and annotations that were written onto the span."""
        for prefix, inner in (
            ("evaluations.", "evaluation"),
            ("trace.evaluations.", "evaluation"),
            ("session.evaluations.", "evaluation"),
            ("annotations.", "annotation"),
        ):
            for _, item in listed(gathered(span.attributes, prefix)):
                found = item.get(inner, item) if isinstance(item, dict) else None
                if isinstance(found, dict) and (name := found.get("name")):
                    yield ForeignResult(
                        name=str(name),
                        score=number(found.get("score")),
                        label=_words(found.get("label")),
                        explanation=_words(found.get("explanation")),
                        error_type=None,
                        span_id=span.span_id or None,
                    )


def _words(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None


def _message(item: Json) -> dict[str, Json]:
    """One spread message in the shape of chat completions."""
    inner = item.get("message", item) if isinstance(item, dict) else {}
    found = dict(inner) if isinstance(inner, dict) else {}
    calls: list[Json] = []
    for _, call in listed(found.pop("tool_calls", None)):
        asked = call.get("tool_call", call) if isinstance(call, dict) else None
        if isinstance(asked, dict):
            function = asked.get("function")
            # a call without arguments loses the key, as empty values are left out
            inside = {"arguments": "{}", **function} if isinstance(function, dict) else {}
            calls.append({"type": "function", "id": asked.get("id"), "function": inside})
    contents: list[Json] = []
    for _, content in listed(found.pop("contents", None)):
        block = content.get("message_content", content) if isinstance(content, dict) else None
        if isinstance(block, dict):
            contents.append(block if "type" in block else {**block, "type": "text"})
    if calls:
        found["tool_calls"] = calls
    if contents and "content" not in found:
        found["content"] = contents
    return found


def _spread(attributes: Attributes, prefix: str) -> tuple[tuple[Message, ...], int]:
    """Return messages spread under a prefix, and how many parts were lost: indexes begin at 0 and have no gaps."""
    items = listed(gathered(attributes, prefix))
    read = messages_of([_message(item) for _, item in items])
    return with_lost(read, items[0][0] if items else 0)


def _model_call(attributes: Attributes, *, history: bool) -> ModelCall:
    given, cut_in = _spread(attributes, _IN) if history else ((), 0)
    said, cut_out = _spread(attributes, _OUT)
    raw_in, raw_out = attributes.get(_INPUT) if history else None, attributes.get(_OUTPUT)
    if not given and raw_in is not None:
        given = requested(loose(raw_in))
    if not said and raw_out is not None:
        said = answered(loose(raw_out))
    parameters = loose(attributes.get("llm.invocation_parameters")) if history else None
    return ModelCall(
        operation="chat",
        provider=text(attributes, "llm.provider", "llm.system"),
        request_model=_model_of(parameters) or text(attributes, "llm.model_name"),
        response_model=text(attributes, "llm.model_name"),
        input=given or None,
        output=said or None,
        tools=_tools(attributes) if history else (),
        finish_reasons=strings(attributes, "llm.finish_reason"),
        usage=_usage(attributes),
        cost=amount(attributes.get("llm.cost.total")),
        truncated_values=cut_in + cut_out + _cut(raw_in) + _cut(raw_out),
    )


def _cut(value: Value) -> int:
    return isinstance(value, str) and broken(loose(value))


def _model_of(parameters: Json) -> str | None:
    return _words(parameters.get("model")) if isinstance(parameters, dict) else None


def _tools(attributes: Attributes) -> tuple[ToolDefinition, ...]:
    schemas = []
    for _, item in listed(gathered(attributes, _TOOLS)):
        tool = item.get("tool") if isinstance(item, dict) else None
        if isinstance(tool, dict):
            schema = loose(tool.get("json_schema"))
            named = isinstance(schema, dict) and ("name" in schema or "function" in schema)
            schemas.append(schema if named else {"name": tool.get("name")})
    return offered(schemas)


def _usage(attributes: Attributes) -> Usage:
    prompt, completion = "llm.token_count.prompt", "llm.token_count.completion"
    return whole(
        input_tokens=count(attributes, prompt),
        output_tokens=count(attributes, completion),
        cache_read=count(attributes, f"{prompt}_details.cache_read", f"{prompt}_details.cache_input"),
        cache_write=count(attributes, f"{prompt}_details.cache_write"),
        reasoning=count(attributes, f"{completion}_details.reasoning"),
        total=count(attributes, "llm.token_count.total"),
    )


def _tool_run(span: SpanView) -> ToolRun:
    attributes = span.attributes
    name = text(attributes, "tool.name", "tool_call.function.name")
    if name is None and span.name.startswith(_HANDOFF):
        target = text(attributes, _OUTPUT) or span.name.removeprefix(_HANDOFF)
        return ToolRun(name=span.name, handoff_to=target)
    given, raw_in = attributes.get(_INPUT), attributes.get("tool_call.function.arguments")
    arguments: Recorded = ABSENT
    for value in (raw_in, given):
        if value is not None and value != "" and isinstance(arguments, Absent):
            opened = loose(value)
            arguments = literal(opened) if isinstance(opened, str) else opened
    said = attributes.get(_OUTPUT)
    result: Recorded = ABSENT if said is None else loose(said)
    call_id = text(attributes, "tool.id", "tool_call.id", "tool.call.id")
    error = None
    if (part := tool_answer(result)) is not None:
        call_id, result = call_id or part.call_id, part.response
        error = str(result) if part.is_error else None
    bare = arguments if isinstance(arguments, str) and not broken(arguments) else None
    return ToolRun(
        name=name or span.name,
        call_id=call_id,
        arguments=ABSENT if bare is not None else arguments,
        bare_argument=bare,
        result=unblocked(result),
        error=error,
        truncated_values=broken(arguments) + broken(result),
    )


def _agent_run(span: SpanView) -> AgentRun:
    attributes = span.attributes
    name = text(attributes, "agent.name")
    said = attributes.get(_OUTPUT)
    payload = loose(said) if said is not None else None
    conversation = history(payload)
    given = attributes.get(_INPUT) if span.history else None
    return AgentRun(
        # the workflow around the agents is of this kind too, and has no agent's name
        operation="invoke_agent" if name else "invoke_workflow",
        name=name or span.name or None,
        input=conversation[:-1] or (requested(loose(given)) if given is not None else None) or None,
        output=answered(payload) or None,
        truncated_values=_cut(given) + _cut(said),
    )
