"""Makes Export requests as agents send them: model calls with growing histories and tool calls, 3.2 KB a span."""

import json
import random
from typing import Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

_TURNS: Final = 8
_START: Final = 1_760_000_000_000_000_000
_WORDS: Final = (
    "order",
    "refund",
    "customer",
    "ticket",
    "status",
    "shipped",
    "delay",
    "apologise",
    "invoice",
    "amount",
    "currency",
    "policy",
    "window",
    "return",
    "damaged",
    "warehouse",
    "carrier",
    "tracking",
    "confirm",
    "email",
    "account",
    "address",
    "payment",
    "card",
    "issued",
    "pending",
    "approved",
    "denied",
    "escalate",
)


def requests(spans: int, per_request: int, seed: int = 1) -> list[bytes]:
    """Return the bytes of requests with ``spans`` spans in all; the same seed gives the same bytes."""
    source = random.Random(seed)
    made: list[trace_pb2.Span] = []
    while len(made) < spans:
        made.extend(_trial(source))
    made = made[:spans]
    return [_request(made[first : first + per_request]) for first in range(0, spans, per_request)]


def _request(spans: list[trace_pb2.Span]) -> bytes:
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.extend(
        [_pair("service.name", "support-agent"), _pair("service.version", "2.3.1"), _pair("host.name", "worker-7")]
    )
    scope = group.scope_spans.add()
    scope.scope.name = "opentelemetry.instrumentation.openai_v2"
    scope.scope.version = "2.1b0"
    scope.spans.extend(spans)
    return request.SerializeToString()


def _trial(source: random.Random) -> list[trace_pb2.Span]:
    trace_id = source.randbytes(16)
    root = source.randbytes(8)
    labels: dict[str, str | int] = {
        "gen_ai.conversation.id": trace_id.hex(),
        "spanproof.trial.id": f"trial-{trace_id.hex()[:12]}",
        "spanproof.task.id": f"refund-{source.randrange(50)}",
        "spanproof.trial.attempt": source.randrange(5),
        "spanproof.variant": source.choice(["careful", "fast"]),
        "spanproof.suite": "support",
        "gen_ai.agent.name": "support-agent",
    }
    history = [_message("system", _text(source, 480)), _message("user", _text(source, 320))]
    spans = []
    at = _START + source.randrange(10**9) * 1000
    for turn in range(_TURNS):
        call_id = f"call_{source.randbytes(12).hex()}"
        arguments = {"order_id": f"ORD-{source.randrange(10**6)}", "note": _text(source, 60)}
        answer: dict[str, object] = {
            "role": "assistant",
            "parts": [
                {"type": "text", "content": _text(source, 120)},
                {"type": "tool_call", "id": call_id, "name": "lookup_order", "arguments": arguments},
            ],
            "finish_reason": "tool_call",
        }
        spans.append(_model_call(source, trace_id, root, at, labels, history, answer, turn))
        result: dict[str, object] = {
            "status": "ok",
            "order": {"id": arguments["order_id"], "lines": _text(source, 260)},
        }
        spans.append(_tool_call(source, trace_id, root, at + 2 * 10**9, labels, call_id, arguments, result))
        history = [
            *history,
            answer,
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": result}]},
        ]
        at += 4 * 10**9
    return spans


def _model_call(
    source: random.Random,
    trace_id: bytes,
    parent: bytes,
    at: int,
    labels: dict[str, str | int],
    history: list[dict[str, object]],
    answer: dict[str, object],
    turn: int,
) -> trace_pb2.Span:
    attributes: dict[str, str | int | float | list[str]] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.response.model": "gpt-4o-2026-08-06",
        "gen_ai.response.id": f"chatcmpl-{source.randbytes(12).hex()}",
        "gen_ai.request.temperature": 0.2,
        "gen_ai.request.max_tokens": 1024,
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.usage.input_tokens": 400 + 130 * turn,
        "gen_ai.usage.output_tokens": source.randrange(40, 200),
        "gen_ai.usage.cache_read.input_tokens": 120 * turn,
        "server.address": "api.openai.com",
        "server.port": 443,
        **labels,
        "gen_ai.input.messages": json.dumps(history),
        "gen_ai.output.messages": json.dumps([answer]),
    }
    return _span(source, trace_id, parent, "chat gpt-4o", 3, at, attributes)


def _tool_call(
    source: random.Random,
    trace_id: bytes,
    parent: bytes,
    at: int,
    labels: dict[str, str | int],
    call_id: str,
    arguments: dict[str, str],
    result: dict[str, object],
) -> trace_pb2.Span:
    attributes: dict[str, str | int | float | list[str]] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "lookup_order",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": call_id,
        "gen_ai.tool.description": "Look up an order by its id and return its lines and status",
        "gen_ai.tool.call.arguments": json.dumps(arguments),
        "gen_ai.tool.call.result": json.dumps(result),
        "spanproof.effect.class": "read",
        "spanproof.effect.destination": "shop",
        "spanproof.effect.resource": arguments["order_id"],
        "spanproof.effect.operation": "lookup",
        "code.function.name": "shop.orders.lookup_order",
        "thread.id": 140_352,
        "thread.name": "MainThread",
        **labels,
    }
    return _span(source, trace_id, parent, "execute_tool lookup_order", 1, at, attributes)


def _span(
    source: random.Random,
    trace_id: bytes,
    parent: bytes,
    name: str,
    kind: int,
    at: int,
    attributes: dict[str, str | int | float | list[str]],
) -> trace_pb2.Span:
    return trace_pb2.Span(
        trace_id=trace_id,
        span_id=source.randbytes(8),
        parent_span_id=parent,
        flags=256,
        name=name,
        kind=kind,  # type: ignore[arg-type]  # enums are open
        start_time_unix_nano=at,
        end_time_unix_nano=at + source.randrange(10**9),
        attributes=[_pair(key, value) for key, value in attributes.items()],
    )


def _pair(key: str, value: str | int | float | list[str]) -> common_pb2.KeyValue:
    match value:
        case str():
            spelled = common_pb2.AnyValue(string_value=value)
        case int():
            spelled = common_pb2.AnyValue(int_value=value)
        case float():
            spelled = common_pb2.AnyValue(double_value=value)
        case list():
            values = [common_pb2.AnyValue(string_value=each) for each in value]
            spelled = common_pb2.AnyValue(array_value=common_pb2.ArrayValue(values=values))
    return common_pb2.KeyValue(key=key, value=spelled)


def _message(role: str, content: str) -> dict[str, object]:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def _text(source: random.Random, length: int) -> str:
    words: list[str] = []
    size = 0
    while size < length:
        words.append(source.choice(_WORDS))
        size += len(words[-1]) + 1
    return " ".join(words)
