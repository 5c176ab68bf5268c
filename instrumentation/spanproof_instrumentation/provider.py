"""The tracer provider: spans leave the process in batches, and its exit waits for them only so long."""

import atexit
import importlib
import os
import threading
from typing import TYPE_CHECKING, Final, Literal

from opentelemetry import context, trace

from spanproof_instrumentation import content, semconv
from spanproof_instrumentation.barrier import LOGGER, attempt, tell_once
from spanproof_instrumentation.errors import MissingExtraError
from spanproof_instrumentation.labels import extract_environment, labels_of

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.sdk.trace.id_generator import IdGenerator

Protocol = Literal["http/protobuf", "grpc"]

EXIT_SECONDS: Final = 5.0
_PATH: Final = "/v1/traces"
_GRPC: Final = "opentelemetry.exporter.otlp.proto.grpc.trace_exporter"
_HTTP: Final = "opentelemetry.exporter.otlp.proto.http.trace_exporter"

_closer: "_Closer | None" = None


def configure(
    *,
    service_name: str | None = None,
    endpoint: str | None = None,
    protocol: Protocol | None = None,
    capture_content: bool | None = None,
    project: str | None = None,
    exit_seconds: float = EXIT_SECONDS,
    id_generator: "IdGenerator | None" = None,
) -> None:
    """Send the spans of this process to a collector.

    What is given here wins over the ``OTEL_*`` variables, which win over the defaults of OpenTelemetry. A provider
    that the agent configured is kept and gets our processors beside its own; its resource and its ids stay as they
    are. TRACEPARENT and BAGGAGE of the environment become this process's context. A second call changes nothing but
    ``capture_content``.

    Args:
        service_name: ``service.name`` of the resource.
        endpoint: Base address of the collector, ``http://localhost:4318``, or with gRPC ``http://localhost:4317``.
        protocol: How to send; gRPC needs the extra ``[grpc]``.
        capture_content: Whether messages, tool arguments and results are recorded. Off where neither this nor
            ``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`` asks for it.
        project: ``spanproof.project`` of the resource.
        exit_seconds: The longest that the exit of the process waits for spans to leave.
        id_generator: Ids of a kind of your own, for runs that must repeat exactly.

    Raises:
        MissingExtraError: gRPC was asked for and its exporter is not installed. Nothing else is ever raised.
    """
    if capture_content is not None:
        content.capture(capture_content)
    if _closer is not None or os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return
    chosen = attempt("http/protobuf", _protocol, protocol)
    exporters = attempt(["otlp"], _exporters)
    if "otlp" in exporters and chosen == "grpc":
        _require_grpc()
    attempt(None, _install, service_name, endpoint, chosen, exporters, project, exit_seconds, id_generator)


def flush(seconds: float = EXIT_SECONDS) -> bool:
    """Send what is still here; return whether all of it left within the time."""
    return attempt(False, _flush, seconds)


def _flush(seconds: float) -> bool:
    if _closer is None:
        return True
    # force_flush ignores its own timeout, so somebody else waits for it.
    left: list[bool] = []
    processors = _closer.processors
    helper = threading.Thread(
        target=lambda: left.append(all(processor.force_flush() for processor in processors)),
        name="spanproof-flush",
        daemon=True,
    )
    helper.start()
    helper.join(seconds)
    return left == [True]


def _install(
    service_name: str | None,
    endpoint: str | None,
    protocol: str,
    exporters: list[str],
    project: str | None,
    exit_seconds: float,
    id_generator: "IdGenerator | None",
) -> None:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from spanproof_instrumentation.label_processor import LabelProcessor

    global _closer
    inherited = extract_environment()
    labels = LabelProcessor(labels_of(inherited))
    exporting: list[SpanProcessor] = [BatchSpanProcessor(_exporter(name, endpoint, protocol)) for name in exporters]
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        attributes = {semconv.SERVICE_NAME: service_name, semconv.PROJECT: project}
        resource = Resource.create({name: value for name, value in attributes.items() if value is not None})
        provider = TracerProvider(resource=resource, id_generator=id_generator, shutdown_on_exit=False)
        trace.set_tracer_provider(provider)
    if not isinstance(provider, TracerProvider):
        tell_once(
            f"spanproof: no span will be exported, because the tracer provider that is set ({type(provider).__name__}) "
            "takes no span processors. Call configure() before it, or set one of the OpenTelemetry SDK"
        )
        return
    for processor in (labels, *exporting):
        provider.add_span_processor(processor)
    context.attach(inherited)
    _closer = _Closer(exporting, exit_seconds)


class _Closer:
    """Ends our processors when the process ends, and waits for them only so long.

    Its thread is started beforehand: from Python 3.12 on, none can be started once the interpreter is going down.
    """

    def __init__(self, processors: "list[SpanProcessor]", seconds: float) -> None:
        self.processors = processors
        self._seconds = seconds
        self._begin()
        atexit.register(self._at_exit)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._asked = threading.Event()
        self._thread = threading.Thread(target=self._work, name="spanproof-exit", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        self._asked.wait()
        for processor in self.processors:
            attempt(None, processor.shutdown)

    def _at_exit(self) -> None:
        self._asked.set()
        self._thread.join(self._seconds)
        if self._thread.is_alive():
            attempt(
                None, LOGGER.warning, "spanproof: spans were lost: the collector took none within %gs", self._seconds
            )


def _protocol(given: str | None) -> str:
    traces, general = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"
    wanted = given or os.environ.get(traces) or os.environ.get(general) or "http/protobuf"
    if wanted not in ("http/protobuf", "grpc"):
        tell_once(f"spanproof: protocol {wanted!r} is not supported, http/protobuf is used instead of it")
        return "http/protobuf"
    return wanted


def _exporters() -> list[str]:
    wanted = [name.strip() for name in os.environ.get("OTEL_TRACES_EXPORTER", "otlp").split(",") if name.strip()]
    for name in wanted:
        if name not in ("otlp", "console", "none"):
            tell_once(f"spanproof: OTEL_TRACES_EXPORTER={name!r} is not ours to set up and is left out")
    return [name for name in wanted if name in ("otlp", "console")]


def _exporter(name: str, endpoint: str | None, protocol: str) -> "SpanExporter":
    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter()
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter

        return GrpcExporter(endpoint=endpoint)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter(endpoint=_traces_address(endpoint) if endpoint else None)


def _traces_address(base: str) -> str:
    return base if base.endswith(_PATH) else base.rstrip("/") + _PATH


def _require_grpc() -> None:
    try:
        importlib.import_module(_GRPC)
    except ImportError:
        raise MissingExtraError("exporting over gRPC", "grpc") from None
