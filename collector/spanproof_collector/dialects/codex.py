"""Codex CLI: hundreds of spans of its own works, few of them steps, and a log with arguments, results and usage."""

import re
from typing import ClassVar, Final

from spanproof_collector.dialects._dialect import Dialect, LogPart, LogReading, LogStep, LogView, SpanView
from spanproof_collector.dialects._json import broken, count, loose, recorded, text, word
from spanproof_collector.dialects._values import flag, milliseconds
from spanproof_collector.model.readings import (
    AgentRun,
    Decision,
    Message,
    ModelCall,
    Other,
    Reading,
    Recorded,
    Text,
    ToolRun,
    Usage,
)
from spanproof_collector.model.values import Attributes
from spanproof_instrumentation import semconv

_REDACTED: Final = "[REDACTED]"
_TURN: Final = frozenset({"codex.turn.token_usage.total_tokens", "codex.turn.reasoning_effort"})
_RESULT: Final = "codex.tool_result"
_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_EXIT: Final = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)", re.MULTILINE)


_ENVELOPE: Final = re.compile(
    r"(?:Chunk ID: [^\n]*\n)?(?:Exit code: [^\n]*\n)?Wall time: [^\n]*\n"
    r"(?:Process (?:exited|running) [^\n]*\n)?(?:Original token count: [^\n]*\n)?(?:Total output lines: [^\n]*\n)?"
    r"Output:\n(?P<output>.*)",
    re.DOTALL,
)
"""What is put around the output of a command."""


def _unwrapped(output: Recorded) -> Recorded:
    """The output of a command itself; of one in JSON its member ``output``."""
    if isinstance(output, dict) and output.keys() == {"output", "metadata"}:
        return loose(output["output"])
    whole = _ENVELOPE.fullmatch(output) if isinstance(output, str) else None
    return output if whole is None else loose(whole["output"])


def _usage(attributes: Attributes) -> Usage:
    """Cached tokens are part of the input, reasoning ones of the output, as OpenAI counts them."""
    return Usage(
        input_tokens=count(attributes, semconv.INPUT_TOKENS, "input_token_count"),
        output_tokens=count(attributes, semconv.OUTPUT_TOKENS, "output_token_count"),
        cache_read_tokens=count(attributes, semconv.CACHE_READ_TOKENS, "cached_token_count"),
        cache_write_tokens=count(attributes, semconv.CACHE_WRITE_TOKENS, "cache_write_token_count"),
        reasoning_tokens=count(
            attributes, "codex.usage.reasoning_output_tokens", semconv.REASONING_TOKENS, "reasoning_token_count"
        ),
    )


def _exit_code(output: Recorded) -> int | None:
    """The code that a command ended with: older versions write it into JSON, newer ones into the text."""
    if isinstance(output, dict):
        about = output.get("metadata")
        code = about.get("exit_code") if isinstance(about, dict) else output.get("exit_code")
        return code if isinstance(code, int) and not isinstance(code, bool) else None
    found = _EXIT.search(output) if isinstance(output, str) else None
    return int(found.group(1)) if found else None


def _failure(attributes: Attributes, output: Recorded) -> str | None:
    failed = flag(attributes, "success") is False or _exit_code(output) not in (None, 0)
    if not failed:
        return None
    return text(attributes, "error.message", "error") or (output if isinstance(output, str) and output else "error")


def _tool_run(attributes: Attributes) -> ToolRun:
    arguments, output = recorded(attributes, "arguments"), recorded(attributes, "output")
    failure = _failure(attributes, output)
    return ToolRun(
        name=text(attributes, "tool_name") or "",
        call_id=text(attributes, "call_id"),
        arguments=arguments,
        result=_unwrapped(output),
        done=flag(attributes, "success") is True and failure is None,
        error=failure,
        exit_code=_exit_code(output),
        truncated_values=broken(arguments) + (flag(attributes, "output_truncated") is True),
    )


class Codex(Dialect):
    """Spans of the scopes ``codex_*`` (the service's name) and log records ``codex.*``."""

    name: ClassVar = "codex"
    scopes: ClassVar = ("codex_", "codex-", "codex.")
    log_events: ClassVar = ("codex.",)
    session_keys: ClassVar = ("conversation.id",)

    def session(self, attributes: Attributes) -> str:
        """The conversation, which one span calls ``thread.id``: what every span calls a thread of the process."""
        thread = attributes.get("thread.id")
        return thread if isinstance(thread, str) and _ID.fullmatch(thread) else ""

    def read(self, span: SpanView) -> Reading | None:
        """A turn, an inference by its usage, a tool call, or works of its own."""
        attributes = span.attributes
        if not _TURN.isdisjoint(attributes):
            return AgentRun(operation="invoke_agent", name="codex", model=text(attributes, "model"))
        if count(attributes, semconv.INPUT_TOKENS) is not None:
            return ModelCall(
                operation="chat",
                provider=text(attributes, semconv.PROVIDER),
                request_model=text(attributes, semconv.REQUEST_MODEL, "model"),
                usage=_usage(attributes),
            )
        name, call_id = text(attributes, "tool_name"), text(attributes, "call_id")
        if name and call_id and ("tool_source" in attributes or "aborted" in attributes):
            aborted = flag(attributes, "aborted") is True
            return ToolRun(name=name, call_id=call_id, error="aborted" if aborted else None)
        for event in span.events:
            if word(event.attributes, semconv.EVENT_NAME) == _RESULT:
                return _tool_run(event.attributes)
        return Other(operation=span.name)

    def read_log(self, log: LogView) -> LogReading | None:
        """One entry of the log; entries that tell nothing of a step are claimed and say nothing."""
        attributes = log.attributes
        event = word(attributes, semconv.EVENT_NAME) or log.event_name
        duration = milliseconds(attributes, "duration_ms")
        found: tuple[LogPart, ModelCall | ToolRun | Decision | Message] | None = None
        match event.removeprefix("codex."):
            case "user_prompt":
                prompt = text(attributes, "prompt")
                if prompt and prompt != _REDACTED:
                    found = "prompt", Message(role="user", parts=(Text(content=prompt),))
            case "sse_event" | "websocket_event":
                found = _answer(attributes)
            case "api_request" | "websocket_request":
                said = text(attributes, "error.message")
                if said:
                    found = "answer", _call(attributes, error=said)
            case "tool_decision":
                decision = (text(attributes, "decision") or "").lower()
                refused = decision.startswith(("denied", "abort", "reject", "timed_out"))
                approved = True if decision.startswith("approved") else False if refused else None
                found = (
                    "decision",
                    Decision(
                        approved=approved,
                        call_id=text(attributes, "call_id"),
                        name=text(attributes, "tool_name"),
                        by=text(attributes, "source"),
                        reason=None if approved else decision or None,
                    ),
                )
            case "tool_result":
                found = "result", _tool_run(attributes)
        if found is None:
            return Other(operation=event)
        return LogStep(part=found[0], reading=found[1], duration=duration)


def _call(attributes: Attributes, *, error: str | None = None) -> ModelCall:
    return ModelCall(
        operation="chat",
        request_model=text(attributes, "model", "slug"),
        usage=_usage(attributes),
        error=error,
    )


def _answer(attributes: Attributes) -> tuple[LogPart, ModelCall] | None:
    """The end of an answer: once with its tokens, or broken off. That one ended is told without tokens as well."""
    said = text(attributes, "error.message")
    if said or text(attributes, "event.kind") == "response.failed":
        return "answer", _call(attributes, error=said or "response.failed")
    return ("answer", _call(attributes)) if count(attributes, "input_token_count") is not None else None
