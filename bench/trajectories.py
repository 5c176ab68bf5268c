"""Makes the traffic of an evaluation: runs of 500 trials at once, each trial one trace of 25 spans, 7.1 KB a span.

A trial has 12 model calls, 12 tool calls and the agent's span around them. Each model call is sent the whole history,
2 KB at first, 20 KB at last. One run has one service and one model. Spans arrive as they end, so the 500 trials of a
run are mixed. Of the tool calls 8 % repeat the call before them, arguments and answer, and 0.5 % are of a tool that is
forbidden. Each task has a text of its own, the same in every run, as when a suite is run again.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from bench.words import Words

TRIALS: Final = 500
TURNS: Final = 12
SPANS: Final = 2 * TURNS + 1
REPEATED: Final = 0.088
"""Of calls that have one before them, which makes 8 % of all."""

FORBIDDEN: Final = 0.005

_START: Final = 1_760_000_000_000_000_000
_SECOND: Final = 1_000_000_000
_MODELS: Final = ("gpt-4o", "gpt-4o-mini", "claude-sonnet-4-5", "claude-haiku-4-5", "gemini-2.5-pro", "mistral-large")
_TOOLS: Final = ("lookup_order", "search_documents", "read_file", "list_tickets", "get_customer", "check_policy")
_FORBIDDEN_TOOL: Final = "delete_account"

_Attribute = str | int | float | list[str]


@dataclass(slots=True)
class _Run:
    """What the trials of one run share."""

    number: int
    model: str
    system: str
    tools: str
    words: Words


@dataclass(slots=True)
class _Trial:
    """One trial while it is made. ``history`` holds messages as JSON; ``at`` is the time that it has come to."""

    run: _Run
    number: int
    trace_id: bytes
    root: bytes
    at: int
    history: list[str] = field(default_factory=list)
    last: tuple[str, str, str] | None = None
    """The tool call before: tool, arguments, answer."""


def requests(runs: int, per_request: int = 512, seed: int = 1) -> Iterator[bytes]:
    """Yield the bytes of requests, run after run: 12,500 spans a run. The same seed gives the same bytes."""
    for number in range(runs):
        words = Words(seed * 1_000_003 + number)
        run = _Run(number, _MODELS[number % len(_MODELS)], words.text(1_000), _definitions(words), words)
        spans = [span for trial in range(TRIALS) for span in _trial(run, trial)]
        spans.sort(key=lambda span: span.end_time_unix_nano)
        for first in range(0, len(spans), per_request):
            yield _request(run, spans[first : first + per_request])


def trial_label(run: int, trial: int) -> str:
    """Return the id of a trial, as its spans carry it."""
    return f"run-{run}.task-{trial}"


def _definitions(words: Words) -> str:
    """Return the tools that a run's model is offered, as JSON."""
    parameters = {"type": "object", "properties": {"id": {"type": "string"}, "query": {"type": "string"}}}
    return json.dumps(
        [
            {"type": "function", "name": name, "description": words.text(30), "parameters": parameters}
            for name in (*_TOOLS, _FORBIDDEN_TOOL)
        ]
    )


def _request(run: _Run, spans: list[trace_pb2.Span]) -> bytes:
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    resource: dict[str, _Attribute] = {
        "service.name": f"agent-{run.number % 4}",
        "service.version": f"1.{run.number}.0",
        "service.instance.id": f"worker-{run.number}",
        "deployment.environment.name": "evaluation",
        "telemetry.sdk.language": "python",
        "telemetry.sdk.name": "opentelemetry",
        "telemetry.sdk.version": "1.37.0",
    }
    group.resource.attributes.extend(_pairs(resource))
    scope = group.scope_spans.add()
    scope.scope.name = "opentelemetry.instrumentation.genai"
    scope.scope.version = "2.2b0"
    scope.spans.extend(spans)
    return request.SerializeToString()


def _trial(run: _Run, number: int) -> Iterator[trace_pb2.Span]:
    source = run.words.random
    began = _START + run.number * 3_600 * _SECOND + source.randrange(30 * _SECOND)
    trial = _Trial(run, number, source.randbytes(16), source.randbytes(8), began)
    asked = Words(number).text(600)
    trial.history = [_message("system", run.system), _message("user", asked)]
    answer = ""
    for turn in range(TURNS):
        tool, arguments, result = _tool_call(trial)
        call_id = f"call_{source.randbytes(12).hex()}"
        answer = run.words.text(source.randrange(150, 350))
        parts: list[dict[str, object]] = [{"type": "text", "content": answer}]
        if turn < TURNS - 1:
            parts.append({"type": "tool_call", "id": call_id, "name": tool, "arguments": json.loads(arguments)})
        said = json.dumps({"role": "assistant", "parts": parts, "finish_reason": "stop"})
        yield _model_span(trial, said, turn)
        yield _tool_span(trial, tool, call_id, arguments, result)
        given = [{"type": "tool_call_response", "id": call_id, "response": json.loads(result)}]
        trial.history += [said, json.dumps({"role": "tool", "parts": given})]
    yield _span(
        trial,
        "invoke_agent support",
        trace_pb2.Span.SPAN_KIND_INTERNAL,
        (began, trial.at + source.randrange(_SECOND)),
        {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.request.model": run.model,
            "gen_ai.input.messages": f"[{_message('user', asked)}]",
            "gen_ai.output.messages": f"[{_message('assistant', answer)}]",
        },
        span_id=trial.root,
    )


def _tool_call(trial: _Trial) -> tuple[str, str, str]:
    """Return a tool, its arguments and its answer as JSON: new ones, or those of the call before."""
    words, source = trial.run.words, trial.run.words.random
    if trial.last is not None and source.random() < REPEATED:
        return trial.last
    tool = _FORBIDDEN_TOOL if source.random() < FORBIDDEN else source.choice(_TOOLS)
    arguments = {"id": f"ORD-{source.randrange(10**7)}", "query": words.text(source.randrange(30, 90))}
    result = {
        "status": "ok",
        "items": [
            {
                "id": source.randbytes(8).hex(),
                "amount": round(source.uniform(1, 5_000), 2),
                "created_at": _START // _SECOND - source.randrange(10**7),
                "text": words.text(source.randrange(150, 600)),
            }
            for _ in range(source.randrange(1, 4))
        ],
    }
    trial.last = tool, json.dumps(arguments), json.dumps(result)
    return trial.last


def _model_span(trial: _Trial, said: str, turn: int) -> trace_pb2.Span:
    source = trial.run.words.random
    given = f"[{', '.join(trial.history)}]"
    began, trial.at = trial.at, trial.at + source.randrange(_SECOND // 2, 8 * _SECOND)
    attributes: dict[str, _Attribute] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": trial.run.model,
        "gen_ai.response.model": f"{trial.run.model}-2026-08-06",
        "gen_ai.response.id": f"chatcmpl-{source.randbytes(12).hex()}",
        "gen_ai.request.temperature": 0.2,
        "gen_ai.request.max_tokens": 1024,
        "gen_ai.response.finish_reasons": ["tool_calls" if turn < TURNS - 1 else "stop"],
        "gen_ai.usage.input_tokens": len(given) // 4,
        "gen_ai.usage.output_tokens": len(said) // 4,
        "gen_ai.usage.cache_read.input_tokens": 0 if turn == 0 else len(given) // 5,
        "server.address": "api.openai.com",
        "server.port": 443,
        "gen_ai.tool.definitions": trial.run.tools,
        "gen_ai.input.messages": given,
        "gen_ai.output.messages": f"[{said}]",
    }
    return _span(trial, f"chat {trial.run.model}", trace_pb2.Span.SPAN_KIND_CLIENT, (began, trial.at), attributes)


def _tool_span(trial: _Trial, tool: str, call_id: str, arguments: str, result: str) -> trace_pb2.Span:
    source = trial.run.words.random
    began, trial.at = trial.at, trial.at + source.randrange(_SECOND // 100, 2 * _SECOND)
    attributes: dict[str, _Attribute] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": call_id,
        "gen_ai.tool.call.arguments": arguments,
        "gen_ai.tool.call.result": result,
        "code.function.name": f"support.tools.{tool}",
        "thread.id": 140_352 + trial.number,
        "thread.name": "MainThread",
    }
    return _span(trial, f"execute_tool {tool}", trace_pb2.Span.SPAN_KIND_INTERNAL, (began, trial.at), attributes)


def _span(
    trial: _Trial,
    name: str,
    kind: trace_pb2.Span.SpanKind.ValueType,
    times: tuple[int, int],
    attributes: dict[str, _Attribute],
    span_id: bytes = b"",
) -> trace_pb2.Span:
    labels: dict[str, _Attribute] = {
        "gen_ai.conversation.id": trial.trace_id.hex(),
        "gen_ai.agent.name": "support",
        "spanproof.trial.id": trial_label(trial.run.number, trial.number),
        "spanproof.task.id": f"task-{trial.number}",
        "spanproof.trial.attempt": 0,
        "spanproof.variant": trial.run.model,
        "spanproof.suite": "support",
    }
    return trace_pb2.Span(
        trace_id=trial.trace_id,
        span_id=span_id or trial.run.words.random.randbytes(8),
        parent_span_id=b"" if span_id else trial.root,
        flags=256,
        name=name,
        kind=kind,
        start_time_unix_nano=times[0],
        end_time_unix_nano=times[1],
        attributes=_pairs(attributes | labels),
    )


def _pairs(attributes: dict[str, _Attribute]) -> list[common_pb2.KeyValue]:
    return [common_pb2.KeyValue(key=key, value=_any_value(value)) for key, value in attributes.items()]


def _any_value(value: _Attribute) -> common_pb2.AnyValue:
    match value:
        case str():
            return common_pb2.AnyValue(string_value=value)
        case int():
            return common_pb2.AnyValue(int_value=value)
        case float():
            return common_pb2.AnyValue(double_value=value)
        case list():
            values = [common_pb2.AnyValue(string_value=each) for each in value]
            return common_pb2.AnyValue(array_value=common_pb2.ArrayValue(values=values))


def _message(role: str, content: str) -> str:
    return json.dumps({"role": role, "parts": [{"type": "text", "content": content}]})
