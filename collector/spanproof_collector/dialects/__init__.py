"""Dialects in the order of detection, and the canonical projection that they give.

A new dialect is one file here and one line in ``DIALECTS``. ``read_span`` and ``read_log`` are the boundary to
dialects: one that fails on a value has not read it, and nothing else is lost.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from spanproof_collector.dialects import evidence
from spanproof_collector.dialects._dialect import Dialect, LogReading, LogStep, LogView, MessageEvent, SpanView
from spanproof_collector.dialects._join import canonical, of_asking, of_message, of_messages, of_tool
from spanproof_collector.dialects._json import MOST_ATTEMPTS, count, spelled, word
from spanproof_collector.dialects._registry import Registry
from spanproof_collector.dialects.anthropic_sdk import AnthropicSdk
from spanproof_collector.dialects.any_agent import AnyAgent
from spanproof_collector.dialects.claude_code import ClaudeCode
from spanproof_collector.dialects.codex import Codex
from spanproof_collector.dialects.gemini_cli import GeminiCli
from spanproof_collector.dialects.genai import GenAI
from spanproof_collector.dialects.genai_events import GenAIEvents
from spanproof_collector.dialects.google_adk import GoogleADK
from spanproof_collector.dialects.langfuse import Langfuse
from spanproof_collector.dialects.logfire import Logfire
from spanproof_collector.dialects.mcp import Mcp
from spanproof_collector.dialects.mlflow import MLflow
from spanproof_collector.dialects.openinference import OpenInference
from spanproof_collector.dialects.openllmetry import OpenLLMetry
from spanproof_collector.dialects.pydantic_ai import PydanticAI
from spanproof_collector.dialects.strands import Strands
from spanproof_collector.dialects.vercel_ai import VercelAI
from spanproof_collector.model.readings import (
    AgentRun,
    Decision,
    ModelCall,
    Other,
    Reading,
    Retrieval,
    ToolRun,
    Usage,
)
from spanproof_collector.model.spans import LogRecord, Span
from spanproof_collector.model.trials import ForeignResult
from spanproof_collector.model.values import Attributes, Value
from spanproof_instrumentation import semconv

__all__ = [
    "DIALECTS",
    "Dialect",
    "LogProjection",
    "LogReading",
    "LogStep",
    "LogView",
    "MessageEvent",
    "Projection",
    "SpanView",
    "attempt_of",
    "canonical",
    "evidence",
    "foreign_results",
    "project",
    "project_log",
    "read_log",
    "read_span",
    "session_of",
    "user_of",
    "view_of",
    "view_of_log",
    "word",
]

DIALECTS: tuple[Dialect, ...] = (
    Mcp(),
    OpenInference(),
    Langfuse(),
    MLflow(),
    VercelAI(),
    ClaudeCode(),
    Codex(),
    GeminiCli(),
    GoogleADK(),
    AnyAgent(),
    AnthropicSdk(),
    PydanticAI(),
    Logfire(),
    Strands(),
    OpenLLMetry(),
    GenAI(),
    GenAIEvents(),
)
_registry = Registry(DIALECTS)


def view_of(span: Span) -> SpanView:
    """Return a stored span as dialects see it."""
    return SpanView(
        attributes=span.attributes,
        scope=span.scope.name,
        name=span.name,
        events=span.events,
        span_id=span.span_id,
    )


def view_of_log(record: LogRecord) -> LogView:
    """Return a stored log record as dialects see it."""
    return LogView(
        attributes=record.attributes,
        event_name=record.event_name,
        body=record.body,
        scope=record.scope.name,
        span_id=record.span_id,
    )


def read_span(span: SpanView) -> tuple[str, Reading] | None:
    """Return the first dialect that reads the span, with what it reads; ``None`` where none does."""
    found = _first_reading(_registry.of_span(span.attributes, span.scope), span)
    return _first_reading(_registry.by_prefix(span.attributes), span) if found is None else found


def _first_reading(dialects: Sequence[Dialect], span: SpanView) -> tuple[str, Reading] | None:
    for dialect in dialects:
        try:
            reading = dialect.read(span)
        except Exception:
            _logger.exception("dialect %s fails on a span of scope %r, which stays unread", dialect.name, span.scope)
            continue
        if reading is not None:
            return dialect.name, reading
    return None


def read_log(log: LogView) -> tuple[str, LogReading] | None:
    """Return the first dialect that reads the log record, with what it reads; ``None`` where none does."""
    for dialect in _registry.of_log(log.event_name, word(log.attributes, semconv.EVENT_NAME), log.scope):
        try:
            reading = dialect.read_log(log)
        except Exception:
            _logger.exception("dialect %s fails on event %r, which stays unread", dialect.name, log.event_name)
            continue
        if reading is not None:
            return dialect.name, reading
    return None


def foreign_results(span: SpanView) -> Iterator[ForeignResult]:
    """Return the results of other tools that stand on a span."""
    for dialect in _registry.of_span(span.attributes, span.scope):
        try:
            yield from dialect.foreign(span)
        except Exception:
            _logger.exception("dialect %s fails on the results on a span of scope %r", dialect.name, span.scope)


def session_of(attributes: Attributes) -> str:
    """Return the session id that a span or record carries itself, or ``""``: the conventions' keys, then dialects'."""
    found = _first_word(attributes, _registry.session_keys)
    return found or next((own for dialect in _registry.with_sessions if (own := dialect.session(attributes))), "")


def user_of(attributes: Attributes) -> str:
    """Return the id of the user that a span or record carries itself, or ``""``."""
    return _first_word(attributes, _registry.user_keys)


def user_keys() -> tuple[str, ...]:
    """Return the attributes by which any dialect names a user."""
    return _registry.user_keys


def _first_word(attributes: Attributes, keys: Sequence[str]) -> str:
    for key in keys:
        value = attributes.get(key)
        if value is not None and (found := value if isinstance(value, str) else spelled(value)):
            return found
    return ""


_logger = logging.getLogger(__name__)


def attempt_of(attributes: Attributes) -> int | None:
    """Return the number of the attempt that a span carries itself."""
    return count(attributes, semconv.ATTEMPT, most=MOST_ATTEMPTS)


class Projection(NamedTuple):
    """A span in the canonical vocabulary: the columns ``kind`` to ``join_keys`` of the table ``steps``, in order."""

    kind: str
    dialect: str
    operation: str
    provider: str
    model: str
    agent: str
    session_id: str
    trial_id: str
    task_id: str
    attempt: int | None
    variant: str
    suite: str
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    reasoning_tokens: int | None
    tool_name: str
    tool_call_id: str
    arguments_hash: int
    error_type: str
    join_keys: list[str]


class LogProjection(NamedTuple):
    """A log record in the canonical vocabulary: the derived columns of the table ``log_steps``, in order."""

    dialect: str
    session_id: str
    trial_id: str
    join_keys: list[str]


_NO_USAGE = Usage()
_WORDS = (
    semconv.TRIAL_ID,
    semconv.TASK_ID,
    semconv.VARIANT,
    semconv.SUITE,
    semconv.ERROR_TYPE,
    semconv.AGENT_NAME,
)
"""Attributes that any span may carry, read together: one by one they cost the projection a tenth."""


def project(spans: Sequence[SpanView]) -> list[tuple[object, ...]]:
    """Return of each span the fields of its ``Projection``, in order.

    Only a span that names neither a session nor a trial looks for what it goes on from, so only its history is read;
    any other says no more than what it asked for, which a trace without a session may go on from.

    Each step is taken over all spans before the next: its code then stays in the processor's cache.
    """
    heads = []
    for span in spans:
        attributes = span.attributes
        session_id = session_of(attributes)
        words = [
            "" if value is None else value if isinstance(value, str) else spelled(value)
            for value in map(attributes.get, _WORDS)
        ]
        span.history = not (session_id or words[0])
        heads.append((session_id, words, attempt_of(attributes)))
    found: list[tuple[str, Reading | None]] = [read_span(span) or _UNREAD for span in spans]
    joined = [_join(reading, history=span.history) for span, (_, reading) in zip(spans, found, strict=True)]
    return [_row(*head, *read, by) for head, read, by in zip(heads, found, joined, strict=True)]


_UNREAD: Final[tuple[str, Reading | None]] = ("", None)
_Joined: TypeAlias = tuple[int, set[str]]
"""The hash of a call's arguments, 0 where there are none, and join keys."""


def _join(reading: Reading | None, *, history: bool) -> _Joined:
    if isinstance(reading, ModelCall):
        return 0, of_messages(reading) if history else of_asking(reading)
    if isinstance(reading, ToolRun):
        return of_tool(reading, history=history)
    return 0, set()


def _row(
    session_id: str,
    words: Sequence[str],
    attempt: int | None,
    dialect: str,
    reading: Reading | None,
    joined: _Joined,
) -> tuple[object, ...]:
    trial_id, task_id, variant, suite, error_type, agent = words
    arguments_hash, keys = joined
    kind, operation, provider, model = "other", "", "", ""
    tool_name = tool_call_id = ""
    usage = _NO_USAGE
    match reading:
        case ModelCall():
            kind, operation = "model_call", reading.operation
            provider, model = reading.provider or "", reading.response_model or reading.request_model or ""
            usage = reading.usage
        case ToolRun():
            kind, operation, tool_name, tool_call_id = "tool_call", "execute_tool", reading.name, reading.call_id or ""
        case AgentRun():
            kind, operation, agent, model = "agent_call", reading.operation, reading.name or "", reading.model or ""
        case Retrieval():
            kind, operation = "retrieval", "retrieval"
        case Decision():
            kind, operation = "wait", "wait"
        case Other():
            operation = reading.operation
        case None:
            pass
    return (  # in the order of the fields of Projection
        kind,
        dialect,
        operation,
        provider,
        model,
        agent,
        session_id,
        trial_id,
        task_id,
        attempt,
        variant,
        suite,
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens,
        tool_name,
        tool_call_id,
        arguments_hash,
        error_type,
        sorted(keys) if keys else [],
    )


def project_log(attributes: Attributes, *, event_name: str, body: Value, scope_name: str = "") -> LogProjection:
    """Return the canonical projection of a log record."""
    found = read_log(LogView(attributes=attributes, event_name=event_name, body=body, scope=scope_name))
    dialect, reading = found if found is not None else ("", None)
    keys: set[str] = set()
    match reading:
        case ModelCall():
            keys = of_messages(reading)
        case MessageEvent(direction=direction, message=message):
            keys = of_message(message, output=direction == "output")
        case ToolRun():
            _, keys = of_tool(reading)
        case _:
            pass
    return LogProjection(
        dialect=dialect,
        session_id=session_of(attributes),
        trial_id=word(attributes, semconv.TRIAL_ID),
        join_keys=sorted(keys),
    )
