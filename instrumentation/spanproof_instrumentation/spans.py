"""Spans written by hand, for agents without an instrumentor: agent, model and tool calls in GenAI conventions."""

from collections.abc import Mapping, Sequence
from contextvars import Token
from importlib.metadata import PackageNotFoundError, version
from types import TracebackType
from typing import Final, Literal, Self

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, TracerProvider
from opentelemetry.util.types import AttributeValue

from spanproof_instrumentation import semconv
from spanproof_instrumentation.barrier import attempt, forgiving, quiet
from spanproof_instrumentation.content import Messages, as_json, as_messages, as_text, captured

UNNAMED: Final = "unnamed"
"""Stands for a name that a wrong call did not give: the span is worth more than its name."""

_AGENT_KEY: Final = "spanproof-agent-span"
_TOOL_KEY: Final = "spanproof-tool-span"
_CONVERSATION_KEY: Final = "spanproof-conversation-id"

_tracer: tuple[TracerProvider, Tracer] | None = None


class OpenSpan:
    """A span that can be current for a while, more than once, and is ended once. Nothing in it raises."""

    def __init__(
        self,
        name: str,
        attributes: Mapping[str, AttributeValue | None],
        *,
        kind: SpanKind = SpanKind.INTERNAL,
        key: str | None = None,
        conversation_id: str | None = None,
    ) -> None:
        self._name = name
        self._attributes = attributes
        self._kind = kind
        self._key = key
        self._conversation_id = conversation_id
        self._context: Context | None = None
        self._tokens: list[Token[Context]] = []
        self.span: Span = trace.INVALID_SPAN

    def __enter__(self) -> Self:
        self.start()
        self.attach()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.detach()
        self.finish(error)

    def start(self) -> None:
        """Start the span without making it the current one."""
        attempt(None, self._start)

    def attach(self) -> None:
        """Make it the current span."""
        attempt(None, self._attach)

    def detach(self) -> None:
        """Make the span that was current before the current one again."""
        attempt(None, self._detach)

    def finish(self, error: BaseException | None = None) -> None:
        """End the span, with the exception that left it if any."""
        if error is not None:
            attempt(None, _record_error, self.span, error)
        attempt(None, self.span.end)

    @quiet
    def set(self, name: str, value: AttributeValue | None) -> None:
        """Set an attribute; ``None`` sets nothing."""
        if value is not None:
            self.span.set_attribute(name, value)

    def _start(self) -> None:
        parent = context.get_current()
        conversation = self._conversation_id or context.get_value(_CONVERSATION_KEY, parent)
        attributes = {name: value for name, value in self._attributes.items() if value is not None}
        if isinstance(conversation, str):
            attributes[semconv.CONVERSATION_ID] = conversation
            parent = context.set_value(_CONVERSATION_KEY, conversation, parent)
        self.span = tracer().start_span(self._name, parent, self._kind, attributes)
        own = trace.set_span_in_context(self.span, parent)
        self._context = context.set_value(self._key, self.span, own) if self._key else own

    def _attach(self) -> None:
        if self._context is not None:
            self._tokens.append(context.attach(self._context))

    def _detach(self) -> None:
        if self._tokens:
            context.detach(self._tokens.pop())


class AgentSpan(OpenSpan):
    """One run of an agent."""

    @quiet
    def output(self, content: Messages) -> None:
        """Record the final answer, where content is captured."""
        if captured():
            self.span.set_attribute(semconv.OUTPUT_MESSAGES, as_messages("assistant", content, "stop"))


class ModelSpan(OpenSpan):
    """One call of a model."""

    @quiet
    def output(self, content: Messages, *, finish_reason: str = "stop") -> None:
        """Record why the model stopped and, where content is captured, what it said."""
        self.span.set_attribute(semconv.FINISH_REASONS, [finish_reason])
        if captured():
            self.span.set_attribute(semconv.OUTPUT_MESSAGES, as_messages("assistant", content, finish_reason))

    @quiet
    def response(self, *, model: str | None = None, response_id: str | None = None) -> None:
        """Record which model answered, and under which id."""
        self.set(semconv.RESPONSE_MODEL, model)
        self.set(semconv.RESPONSE_ID, response_id)

    @quiet
    def usage(
        self,
        *,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        cache_read_tokens: int | None = None,
        cache_write_tokens: int | None = None,
        reasoning_tokens: int | None = None,
    ) -> None:
        """Record token counts; what the provider did not tell stays absent."""
        self.set(semconv.INPUT_TOKENS, input_tokens)
        self.set(semconv.OUTPUT_TOKENS, output_tokens)
        self.set(semconv.CACHE_READ_TOKENS, cache_read_tokens)
        self.set(semconv.CACHE_WRITE_TOKENS, cache_write_tokens)
        self.set(semconv.REASONING_TOKENS, reasoning_tokens)


class ToolSpan(OpenSpan):
    """One call of a tool."""

    @quiet
    def result(self, value: object) -> None:
        """Record what the tool returned, where content is captured."""
        if captured():
            self.span.set_attribute(semconv.TOOL_RESULT, as_text(value))


@forgiving(name=UNNAMED)
def agent_span(
    name: str,
    *,
    agent_id: str | None = None,
    version: str | None = None,
    conversation_id: str | None = None,
    input_messages: Messages | None = None,
    system_instructions: str | None = None,
) -> AgentSpan:
    """Return a context manager for one run of an agent. Spans inside take over its conversation id."""
    return AgentSpan(
        f"invoke_agent {name}",
        {
            semconv.OPERATION: "invoke_agent",
            semconv.AGENT_NAME: name,
            semconv.AGENT_ID: agent_id,
            semconv.AGENT_VERSION: version,
            semconv.INPUT_MESSAGES: attempt(None, _input, input_messages),
            semconv.SYSTEM_INSTRUCTIONS: attempt(None, _instructions, system_instructions),
        },
        key=_AGENT_KEY,
        conversation_id=conversation_id,
    )


@forgiving(model=UNNAMED)
def model_span(
    model: str,
    *,
    provider: str | None = None,
    operation: Literal["chat", "text_completion", "generate_content"] = "chat",
    input_messages: Messages | None = None,
    system_instructions: str | None = None,
    tool_definitions: Sequence[Mapping[str, object]] | None = None,
) -> ModelSpan:
    """Return a context manager for one call of a model."""
    return ModelSpan(
        f"{operation} {model}",
        {
            semconv.OPERATION: operation,
            semconv.PROVIDER: provider,
            semconv.REQUEST_MODEL: model,
            semconv.INPUT_MESSAGES: attempt(None, _input, input_messages),
            semconv.SYSTEM_INSTRUCTIONS: attempt(None, _instructions, system_instructions),
            semconv.TOOL_DEFINITIONS: attempt(None, _payload, tool_definitions),
        },
        kind=SpanKind.CLIENT,
    )


@forgiving(name=UNNAMED)
def tool_span(
    name: str,
    *,
    call_id: str | None = None,
    arguments: Mapping[str, object] | str | None = None,
    description: str | None = None,
    tool_type: str = "function",
) -> ToolSpan:
    """Return a context manager for one call of a tool. Arguments are recorded where content is captured."""
    return ToolSpan(
        f"execute_tool {name}",
        {
            semconv.OPERATION: "execute_tool",
            semconv.TOOL_NAME: name,
            semconv.TOOL_CALL_ID: call_id,
            semconv.TOOL_TYPE: tool_type,
            semconv.TOOL_DESCRIPTION: description,
            semconv.TOOL_ARGUMENTS: attempt(None, _payload, arguments),
        },
        key=_TOOL_KEY,
    )


def tracer() -> Tracer:
    """Return our tracer of the provider that is set now."""
    global _tracer
    provider = trace.get_tracer_provider()
    if _tracer is None or _tracer[0] is not provider:
        _tracer = (provider, provider.get_tracer("spanproof_instrumentation", _version()))
    return _tracer[1]


def current_tool() -> Span | None:
    """Return the tool span that we are in, even where another span is current inside it."""
    found = context.get_value(_TOOL_KEY)
    return found if isinstance(found, Span) and found.is_recording() else None


def inside_tool() -> bool:
    """Say whether we are in a tool span, be it one that records or one that nobody keeps."""
    return isinstance(context.get_value(_TOOL_KEY), Span)


def current_agent() -> Span | None:
    """Return the agent span that we are in."""
    found = context.get_value(_AGENT_KEY)
    return found if isinstance(found, Span) and found.is_recording() else None


def _input(content: Messages | None) -> str | None:
    return as_messages("user", content) if content is not None and captured() else None


def _instructions(text: str | None) -> str | None:
    return as_json([{"type": "text", "content": text}]) if text is not None and captured() else None


def _payload(value: Mapping[str, object] | Sequence[Mapping[str, object]] | str | None) -> str | None:
    return as_text(value) if value is not None and captured() else None


def _record_error(span: Span, error: BaseException) -> None:
    if isinstance(error, GeneratorExit) or (isinstance(error, SystemExit) and not error.code):
        return  # the consumer had enough, or the agent ended its process well: no failure
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    span.set_attribute(semconv.ERROR_TYPE, name)
    span.set_status(Status(StatusCode.ERROR, str(error)))
    span.record_exception(error)


def _version() -> str | None:
    try:
        return version("spanproof")
    except PackageNotFoundError:
        return None
