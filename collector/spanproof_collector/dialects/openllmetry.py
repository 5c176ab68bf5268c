"""OpenLLMetry (Traceloop): numbered prompt and completion attributes before 0.55, the conventions' messages since.

``traceloop.*`` holds what decorators and frameworks tell of workflows, tasks and tools, with a wrapper around values.
"""

from typing import ClassVar, Final

from msgspec.structs import replace

from spanproof_collector.dialects._conventions import read_operation, usage
from spanproof_collector.dialects._dialect import Dialect, SpanView
from spanproof_collector.dialects._flat import gathered, listed
from spanproof_collector.dialects._json import BrokenError, broken, decode, literal, loose, text, unblocked
from spanproof_collector.dialects._messages import messages_of, with_lost
from spanproof_collector.dialects._payloads import answered, history, offered, requested, tool_answer
from spanproof_collector.model.readings import (
    ABSENT,
    AgentRun,
    Message,
    ModelCall,
    Other,
    Reading,
    Recorded,
    ToolRun,
)
from spanproof_collector.model.values import Attributes, Json, Value
from spanproof_instrumentation import semconv

_KIND: Final = "traceloop.span.kind"
_REQUEST: Final = "llm.request.type"
_PROMPT: Final = "gen_ai.prompt."
_COMPLETION: Final = "gen_ai.completion."
_FUNCTIONS: Final = "llm.request.functions."
_INPUT: Final = "traceloop.entity.input"
_OUTPUT: Final = "traceloop.entity.output"
_TO_AGENT: Final = "gen_ai.handoff.to_agent"
_PROPERTIES: Final = "traceloop.association.properties."
_EMPTY: Final = (None, "")


class OpenLLMetry(Dialect):
    """Spans with ``traceloop.span.kind`` or ``llm.request.type``, numbered prompts, or a scope of these packages."""

    name: ClassVar = "openllmetry"
    marks: ClassVar = frozenset({_KIND, _REQUEST, f"{_PROMPT}0.role", f"{_COMPLETION}0.role", f"{_PROMPT}0.content"})
    prefixes: ClassVar = (_PROMPT, _COMPLETION)
    scopes: ClassVar = (
        "opentelemetry.instrumentation.openai.v",
        "opentelemetry.instrumentation.openai_agents",
        "opentelemetry.instrumentation.anthropic",
        "opentelemetry.instrumentation.langchain",
        "opentelemetry.instrumentation.llamaindex",
        "opentelemetry.instrumentation.crewai",
        "opentelemetry.instrumentation.bedrock",
        "traceloop.",
    )
    session_keys: ClassVar = tuple(
        f"{_PROPERTIES}{key}" for key in ("session_id", "conversation_id", "thread_id", "chat_id")
    )
    user_keys: ClassVar = (f"{_PROPERTIES}user_id",)

    def read(self, span: SpanView) -> Reading | None:
        """What the span says, by its operation, else its kind, else its request."""
        attributes = span.attributes
        if attributes.get(semconv.OPERATION) == "handoff":
            return ToolRun(name=span.name, handoff_to=text(attributes, _TO_AGENT) or "")
        kind = attributes.get(_KIND)
        reading = read_operation(attributes, history=span.history)
        match reading:
            case ToolRun():
                return _unwrapped(reading)
            case ModelCall():
                return _numbered(attributes, reading, history=span.history)
            case AgentRun():
                return _with_entity(attributes, reading, history=span.history)
            case Other() if kind not in ("agent", "workflow"):
                return reading
            case _:
                pass
        match kind:
            case "tool":
                tool = text(attributes, semconv.TOOL_NAME, "traceloop.entity.name") or span.name.removesuffix(".tool")
                return _unwrapped(ToolRun(name=tool, arguments=_given(attributes), result=_said(attributes)))
            case "agent" | "workflow":
                name = text(attributes, semconv.AGENT_NAME, "traceloop.entity.name", "traceloop.workflow.name")
                run = AgentRun(operation="invoke_agent" if kind == "agent" else "invoke_workflow", name=name)
                return _with_entity(attributes, run, history=span.history)
            case str():
                return Other(operation=kind)
            case _:
                pass
        asked = attributes.get(_REQUEST)
        if asked in ("embedding", "rerank"):
            return Other(operation=asked)
        if asked is not None or any(key.startswith(self.prefixes) for key in attributes):
            return _numbered(attributes, _bare_call(attributes), history=span.history)
        return None


def _given(attributes: Attributes) -> Recorded:
    value = attributes.get(_INPUT)
    return ABSENT if value in _EMPTY else loose(value)


def _said(attributes: Attributes) -> Recorded:
    value = attributes.get(_OUTPUT)
    return ABSENT if value in _EMPTY else loose(value)


def _bare_call(attributes: Attributes) -> ModelCall:
    return ModelCall(
        operation="chat",
        provider=text(attributes, semconv.PROVIDER, semconv.SYSTEM),
        request_model=text(attributes, semconv.REQUEST_MODEL),
        response_model=text(attributes, semconv.RESPONSE_MODEL),
        response_id=text(attributes, semconv.RESPONSE_ID),
        usage=usage(attributes),
    )


def _numbered(attributes: Attributes, call: ModelCall, *, history: bool) -> ModelCall:
    """Fill an inference from numbered attributes, which are all there is before 0.55."""
    given, cut_in = _spread(attributes, _PROMPT, "") if history and call.input is None else ((), 0)
    said, cut_out = _spread(attributes, _COMPLETION, "assistant") if call.output is None else ((), 0)
    functions = [item for _, item in listed(gathered(attributes, _FUNCTIONS))] if history and not call.tools else []
    return replace(
        call,
        input=given or call.input,
        output=said or call.output,
        tools=offered(functions) or call.tools,
        finish_reasons=call.finish_reasons or tuple(m.finish_reason for m in said if m.finish_reason),
        truncated_values=call.truncated_values + cut_in + cut_out,
    )


def _spread(attributes: Attributes, prefix: str, default_role: str) -> tuple[tuple[Message, ...], int]:
    items = listed(gathered(attributes, prefix))
    read = messages_of([_message(item, default_role) for _, item in items])
    return with_lost(read, items[0][0] if items else 0)


def _message(item: Json, default_role: str) -> dict[str, Json]:
    found = dict(item) if isinstance(item, dict) else {}
    calls: list[Json] = [call for _, call in listed(found.pop("tool_calls", None))]
    found.setdefault("role", default_role)
    content = found.get("content")
    if isinstance(content, str):
        found["content"] = _content(content)
    if calls:
        found["tool_calls"] = calls
    return found


def _content(said: str) -> Json:
    """Words, or the blocks that a JSON string holds; words may be a JSON string themselves."""
    if said[:1] == '"':
        try:
            inner = decode(said)
        except BrokenError:
            return said
        return inner if isinstance(inner, str) else said
    opened = loose(said) if said[:1] == "[" else said
    blocks = isinstance(opened, list) and all(isinstance(block, dict) and "type" in block for block in opened)
    return opened if blocks else said


def _unwrapped(run: ToolRun) -> ToolRun:
    """Take arguments and result out of what frameworks and decorators put around them."""
    arguments, bare = _arguments(run.arguments)
    result, call_id, error = run.result, run.call_id, run.error
    if isinstance(result, dict) and "output" in result and result.keys() <= {"output", "kwargs"}:
        result = loose(result["output"])
    if (part := tool_answer(result)) is not None:
        result, call_id = part.response, call_id or part.call_id
        error = str(part.response) if part.is_error else error
    return replace(
        run,
        call_id=call_id,
        arguments=arguments,
        bare_argument=bare,
        result=unblocked(result),
        error=error,
        truncated_values=int(broken(run.arguments)) + int(broken(run.result)),
    )


def _arguments(given: Recorded) -> tuple[Recorded, str | None]:
    """Return arguments, or the only one where its name was left out."""
    match given:
        case {"inputs": dict() as inputs, "input_str": _}:
            return inputs, None
        case {"input_str": str() as said}:
            opened = literal(said)
            return (ABSENT, said) if isinstance(opened, str) else (opened, None)
        case {"args": [], "kwargs": dict() as keywords}:
            return keywords, None
        case {"args": [str() as only], "kwargs": dict() as keywords} if not keywords:
            return ABSENT, only
        case _:
            return given, None


def _with_entity(attributes: Attributes, run: AgentRun, *, history: bool) -> AgentRun:
    given, said = _inside(attributes.get(_INPUT), "inputs"), _inside(attributes.get(_OUTPUT), "outputs")
    conversation = _conversation(said)
    return replace(
        run,
        name=run.name or text(attributes, "traceloop.entity.name", "traceloop.workflow.name"),
        input=run.input or (conversation[:-1] or requested(given) if history else ()) or None,
        output=run.output or answered(said) or None,
    )


def _inside(value: Value, key: str) -> Json:
    opened = loose(value) if value not in _EMPTY else None
    return opened.get(key, opened) if isinstance(opened, dict) else opened


def _conversation(said: Json) -> tuple[Message, ...]:
    return history(said) if isinstance(said, dict) else ()
