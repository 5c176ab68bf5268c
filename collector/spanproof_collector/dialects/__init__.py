"""Dialects in the order of detection, and the canonical projection that they give.

A new dialect is one file here and one line in ``DIALECTS``. ``read_span`` and ``read_log`` are the boundary to
dialects: one that fails on a value has not read it, and nothing else is lost.
"""

import logging
from typing import NamedTuple

from spanproof_collector.dialects import evidence
from spanproof_collector.dialects._dialect import Dialect, LogReading, MessageEvent
from spanproof_collector.dialects._join import canonical, digest64, of_asking, of_message, of_messages, of_tool
from spanproof_collector.dialects._json import MOST_ATTEMPTS, count, word
from spanproof_collector.dialects.genai import GenAI
from spanproof_collector.dialects.genai_events import GenAIEvents
from spanproof_collector.dialects.mcp import Mcp
from spanproof_collector.model.readings import Absent, AgentRun, ModelCall, Other, Reading, Retrieval, ToolRun, Usage
from spanproof_collector.model.values import Attributes, Value
from spanproof_instrumentation import semconv

__all__ = [
    "DIALECTS",
    "Dialect",
    "LogProjection",
    "LogReading",
    "MessageEvent",
    "Projection",
    "attempt_of",
    "canonical",
    "evidence",
    "project",
    "project_log",
    "read_log",
    "read_span",
    "session_of",
    "word",
]

DIALECTS: tuple[Dialect, ...] = (Mcp(), GenAI(), GenAIEvents())


def read_span(attributes: Attributes, scope_name: str, *, history: bool = True) -> tuple[str, Reading] | None:
    """Return the first dialect that reads the span, with what it reads; ``None`` where none does."""
    for dialect in DIALECTS:
        try:
            reading = dialect.read(attributes, scope_name, history=history)
        except Exception:
            _logger.exception("dialect %s fails on a span of scope %r, which stays unread", dialect.name, scope_name)
            continue
        if reading is not None:
            return dialect.name, reading
    return None


def read_log(attributes: Attributes, event_name: str, body: Value, span_id: str) -> tuple[str, LogReading] | None:
    """Return the first dialect that reads the log record, with what it reads; ``None`` where none does."""
    for dialect in DIALECTS:
        try:
            reading = dialect.read_log(attributes, event_name, body, span_id)
        except Exception:
            _logger.exception("dialect %s fails on event %r, which stays unread", dialect.name, event_name)
            continue
        if reading is not None:
            return dialect.name, reading
    return None


def session_of(attributes: Attributes) -> str:
    """Return the session id that a span or record carries itself, or ``""``."""
    return word(attributes, semconv.CONVERSATION_ID) or word(attributes, semconv.SESSION_ID)


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
    result_hash: int
    error_type: str
    join_keys: list[str]


class LogProjection(NamedTuple):
    """A log record in the canonical vocabulary: the derived columns of the table ``log_steps``, in order."""

    dialect: str
    session_id: str
    trial_id: str
    join_keys: list[str]


_NO_USAGE = Usage()


def project(attributes: Attributes, *, scope_name: str) -> Projection:
    """Return the canonical projection of a span.

    Only a span that names neither a session nor a trial looks for what it goes on from, so only its history is read;
    any other says no more than what it asked for, which a trace without a session may go on from.

    Args:
        attributes: decoded values by key.
        scope_name: the instrumentation scope's name.
    """
    session_id, trial_id = session_of(attributes), word(attributes, semconv.TRIAL_ID)
    named = bool(session_id or trial_id)
    found = read_span(attributes, scope_name, history=not named)
    dialect, reading = found if found is not None else ("", None)
    kind, operation, provider, model, agent = "other", "", "", "", word(attributes, semconv.AGENT_NAME)
    tool_name = tool_call_id = ""
    arguments_hash = result_hash = 0
    usage, keys = _NO_USAGE, set[str]()
    match reading:
        case ModelCall():
            kind, operation = "model_call", reading.operation
            provider, model = reading.provider or "", reading.response_model or reading.request_model or ""
            usage, keys = reading.usage, of_asking(reading) if named else of_messages(reading)
        case ToolRun():
            kind, operation, tool_name, tool_call_id = "tool_call", "execute_tool", reading.name, reading.call_id or ""
            if not isinstance(reading.arguments, Absent):
                arguments_hash = digest64(reading.arguments)
            if not isinstance(reading.result, Absent):
                result_hash = digest64(reading.result)
            keys = of_tool(reading)
        case AgentRun():
            kind, operation, agent, model = "agent_call", reading.operation, reading.name or "", reading.model or ""
        case Retrieval():
            kind, operation = "retrieval", "retrieval"
        case Other():
            operation = reading.operation
        case None:
            pass
    return Projection(  # by position, in the order of its fields
        kind,
        dialect,
        operation,
        provider,
        model,
        agent,
        session_id,
        trial_id,
        word(attributes, semconv.TASK_ID),
        attempt_of(attributes),
        word(attributes, semconv.VARIANT),
        word(attributes, semconv.SUITE),
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens,
        tool_name,
        tool_call_id,
        arguments_hash,
        result_hash,
        word(attributes, semconv.ERROR_TYPE),
        sorted(keys),
    )


def project_log(attributes: Attributes, *, event_name: str, body: Value) -> LogProjection:
    """Return the canonical projection of a log record."""
    found = read_log(attributes, event_name, body, "")
    dialect, reading = found if found is not None else ("", None)
    keys = set[str]()
    match reading:
        case ModelCall():
            keys = of_messages(reading)
        case MessageEvent(direction=direction, message=message):
            keys = of_message(message, output=direction == "output")
        case _:
            pass
    return LogProjection(
        dialect=dialect,
        session_id=session_of(attributes),
        trial_id=word(attributes, semconv.TRIAL_ID),
        join_keys=sorted(keys),
    )
