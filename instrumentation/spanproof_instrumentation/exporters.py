"""The exporters that send what was recorded: OTLP over HTTP or gRPC, or the console."""

import importlib
import logging
import threading
from typing import TYPE_CHECKING, Final

from spanproof_instrumentation.barrier import tell_once
from spanproof_instrumentation.errors import MissingExtraError
from spanproof_instrumentation.outbox import THREAD_NAME
from spanproof_instrumentation.settings import Signal

if TYPE_CHECKING:
    from opentelemetry.sdk._logs.export import LogRecordExporter
    from opentelemetry.sdk.trace.export import SpanExporter

_LOGGERS: Final = (
    "opentelemetry.exporter.otlp.common.http",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.exporter.otlp.proto.http._log_exporter",
    "opentelemetry.exporter.otlp.proto.grpc.exporter",
    "opentelemetry.exporter.otlp.proto.grpc.trace_exporter",
    "opentelemetry.exporter.otlp.proto.grpc._log_exporter",
    "urllib3.connectionpool",
)
_MODULES: Final = {
    ("traces", "http/protobuf"): "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    ("traces", "grpc"): "opentelemetry.exporter.otlp.proto.grpc.trace_exporter",
    ("logs", "http/protobuf"): "opentelemetry.exporter.otlp.proto.http._log_exporter",
    ("logs", "grpc"): "opentelemetry.exporter.otlp.proto.grpc._log_exporter",
}


def ready(exporters: list[str], protocol: str, signal: Signal) -> list[str]:
    """Import what the exporters need; return those that there are. One that is not installed is told."""
    if "otlp" not in exporters:
        return exporters
    try:
        importlib.import_module(_MODULES[signal, protocol])
    except ImportError:
        missing = MissingExtraError("exporting over gRPC", "grpc")
        tell_once(f"spanproof: nothing is exported, because {missing}")
        return [name for name in exporters if name != "otlp"]
    for name in _LOGGERS:
        # What our sending loses is counted and told at the end, once; the agent's own exporters still speak.
        logging.getLogger(name).addFilter(_not_ours)
    return exporters


def span_exporter(name: str, endpoint: str | None, protocol: str) -> "SpanExporter":
    """Return a new exporter of spans."""
    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter()
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter

        return GrpcExporter(endpoint=endpoint)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter(endpoint=_address(endpoint, "/v1/traces"))


def log_exporter(name: str, endpoint: str | None, protocol: str) -> "LogRecordExporter":
    """Return a new exporter of log records."""
    if name == "console":
        from opentelemetry.sdk._logs.export import ConsoleLogRecordExporter

        return ConsoleLogRecordExporter()
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcExporter

        return GrpcExporter(endpoint=endpoint)
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter

    return OTLPLogExporter(endpoint=_address(endpoint, "/v1/logs"))


def _address(base: str | None, path: str) -> str | None:
    if not base:
        return None
    base = base.rstrip("/")
    for known in ("/v1/traces", "/v1/logs"):
        base = base.removesuffix(known)
    return base + path


def _not_ours(record: logging.LogRecord) -> bool:
    return threading.current_thread().name != THREAD_NAME
