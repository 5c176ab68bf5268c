"""Where fuzzing starts: valid requests of both signals in both forms, packed and plain."""

import gzip
import zlib
from collections.abc import Iterator
from typing import Final, Literal

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from bench.traffic import requests
from spanproof_collector.otlp import Form
from tests.factories import agent, asked, chat, event, log_record, logs, said, span, told, tool, traces
from tests.fuzz.cases import Case, pack
from tests.fuzz.json_form import spell
from tests.shared import CAPTURES

_CALL: Final = chat(
    [said("user", "refund order 7"), asked("refund", {"order": 7}, "call_1"), told({"status": "ok"}, "call_1")],
    [said("assistant", "It is refunded. " * 40)],
)
_ODD: Final = {
    "nothing": None,
    "truth": True,
    "number": -1,
    "double": 1.5,
    "bytes": b"\xff\0",
    "list": ["a", 1, None, ["b"]],
    "pairs": {"a": {"b": ["c"]}, "text": "é" * 300},
}


def seeds(*, recorded: bool) -> Iterator[bytes]:
    """Yield cases; with ``recorded`` also of recorded traffic of others, where it is at hand."""
    for request in (*_made(), *(_recorded() if recorded else ())):
        for form in ("protobuf", "json"):
            body = request.SerializeToString() if form == "protobuf" else spell(request)
            if len(body) < 32_768:
                yield from _cases(request, form, body)


def _cases(request: "ExportTraceServiceRequest | ExportLogsServiceRequest", form: Form, body: bytes) -> Iterator[bytes]:
    signal: Literal["traces", "logs"] = "traces" if isinstance(request, ExportTraceServiceRequest) else "logs"
    yield pack(Case(signal=signal, form=form, encoding="", body=body))
    yield pack(Case(signal=signal, form=form, encoding="gzip", body=gzip.compress(body, mtime=0)))
    yield pack(Case(signal=signal, form=form, encoding="deflate", body=zlib.compress(body)))


def _made() -> Iterator["ExportTraceServiceRequest | ExportLogsServiceRequest"]:
    root = span("invoke_agent", agent(), events=[event("gen_ai.tool.message", {"content": '{"a": 1}', "id": "call_1"})])
    root.links.add(trace_id=root.trace_id, span_id=root.span_id, attributes=root.attributes)
    yield traces(
        root,
        span("chat", _CALL | {"gen_ai.usage.input_tokens": 7}, parent="invoke_agent"),
        span("execute_tool", tool("refund", {"order": 7}, {"status": "ok"}, "call_1"), error="timed out"),
    )
    yield traces(span("odd", _ODD), resource={"service.name": "test", "spanproof.project": "p"})
    yield logs(
        log_record("gen_ai.client.inference.operation.details", _CALL, body={"a": [1, None]}),
        log_record("gen_ai.choice", {"gen_ai.system": "openai"}, body={"message": {"content": "hi"}, "index": 0}),
        log_record("", _ODD | {"event.name": "gen_ai.user.message"}, body="text", trace=None),
    )
    yield ExportTraceServiceRequest.FromString(requests(4, 4)[0])


def _recorded() -> Iterator["ExportTraceServiceRequest | ExportLogsServiceRequest"]:
    for path in sorted(CAPTURES.glob("*/*-traces.pb")):
        yield ExportTraceServiceRequest.FromString(path.read_bytes())
    for path in sorted(CAPTURES.glob("*/*-logs.pb")):
        yield ExportLogsServiceRequest.FromString(path.read_bytes())
