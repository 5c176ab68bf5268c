"""The one line that makes an agent visible: where its spans go, what is in them, and which libraries make them."""

from functools import partial
from typing import TYPE_CHECKING, Final

from opentelemetry import context

from spanproof_instrumentation import content, semconv
from spanproof_instrumentation.barrier import attempt, attempt_as, forgiving
from spanproof_instrumentation.labels import extract_environment, labels_of
from spanproof_instrumentation.settings import (
    Protocol,
    Settings,
    capture_asked,
    disabled,
    exporters_of,
    limits_of,
    protocol_of,
    settings_of,
)

if TYPE_CHECKING:
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.id_generator import IdGenerator

    from spanproof_instrumentation.delivery import LogDelivery, SpanDelivery
    from spanproof_instrumentation.ending import Ending
    from spanproof_instrumentation.redaction import Rules

FLUSH_SECONDS: Final = 5.0
_NOTHING: Final = "nothing is recorded"

_export: "_Export | None" = None
_resource: dict[str, str] = {}


@forgiving()
def configure(
    *,
    service_name: str | None = None,
    endpoint: str | None = None,
    protocol: Protocol | None = None,
    capture_content: bool | None = None,
    project: str | None = None,
    instrument: bool = True,
    redact: "Rules | None" = None,
    exit_seconds: float | None = None,
    id_generator: "IdGenerator | None" = None,
) -> None:
    """Send the spans of this process to a collector.

    What is given here wins over the ``SPANPROOF_*`` variables that ``spanproof run`` sets, these over the ``OTEL_*``
    variables, and these over the defaults of OpenTelemetry. A provider that the agent configures, before or after, is
    kept and gets our processor beside its own; its resource and its ids stay as they are. TRACEPARENT and BAGGAGE of
    the environment become this process's context. A second call changes nothing but ``capture_content``. Nothing is
    ever raised: what is wrong is told once, by the logger ``spanproof_instrumentation``.

    Args:
        service_name: ``service.name`` of the resource.
        endpoint: Base address of the collector, ``http://localhost:4318``, or with gRPC ``http://localhost:4317``.
        protocol: How to send; gRPC needs the extra ``[grpc]``.
        capture_content: Whether messages, tool arguments and results are recorded, by us and by the instrumentors.
            Off where neither this nor ``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`` asks for it.
        project: ``spanproof.project`` of the resource.
        instrument: Whether every installed OpenTelemetry instrumentor is used, each when its library is imported.
        redact: What must not leave the process: regular expressions, JSON paths (``$.card.number``), functions of a
            name and a value; one, or a list. One that fails drops the value.
        exit_seconds: How long the exit of the process waits for a collector that gives no sign of life. Default 2.
        id_generator: Ids of a kind of your own, for runs that must repeat exactly.
    """
    asked = partial(
        settings_of,
        service_name=service_name,
        endpoint=endpoint,
        protocol=protocol,
        project=project,
        redact=redact,
        exit_seconds=exit_seconds,
        id_generator=id_generator,
    )
    if service_name:
        _resource[semconv.SERVICE_NAME] = service_name
    if project:
        _resource[semconv.PROJECT] = project
    if capture_content is not None:
        attempt(None, content.capture, capture_content)
    if _export is None and not disabled():
        attempt_as(_NOTHING, None, lambda: _start(asked(), at_once=True, instrument=instrument))


@forgiving()
def flush(seconds: float = FLUSH_SECONDS) -> bool:
    """Send what is still here; return whether all of it left within the time."""
    return attempt(False, _export.ending.flush, seconds) if _export is not None else True


def configure_from_environment() -> "Ending | None":
    """Do in the agent's process what ``spanproof run`` was asked for; return what ends with the process.

    The provider waits for the first span, so that an agent that configures its own has it from the beginning.
    """
    capture = capture_asked()
    if capture is not None:
        attempt(None, content.capture, capture)
    if _export is None and not disabled():
        attempt_as(_NOTHING, None, lambda: _start(settings_of(), at_once=False, instrument=True))
    return _export.ending if _export is not None else None


def _start(settings: Settings, *, at_once: bool, instrument: bool) -> None:
    from spanproof_instrumentation.carrying import carry_context
    from spanproof_instrumentation.global_provider import GlobalProvider
    from spanproof_instrumentation.instrumentors import instrument_installed

    global _export
    export = _Export(settings)
    _export = export
    GlobalProvider(export.tracer_provider, export.span_delivery).install(at_once=at_once)
    if content.asks_for_events() and exporters_of("logs"):
        from spanproof_instrumentation.log_provider import keep_logger_provider

        attempt(None, keep_logger_provider, export.logger_provider, export.log_delivery)
    attempt(None, export.ending.install)
    context.attach(export.inherited)
    threads = attempt(False, instrument_installed) if instrument else False
    attempt(None, partial(carry_context, threads=not threads))


class _Export:
    """What this process exports with. The SDK is loaded when the first span starts, not before."""

    def __init__(self, settings: Settings) -> None:
        from spanproof_instrumentation.ending import Ending

        self._settings = settings
        self.ending = Ending(settings.exit_seconds)
        self.inherited = extract_environment()
        _resource.update(
            {
                name: value
                for name, value in (
                    (semconv.SERVICE_NAME, settings.service_name),
                    (semconv.PROJECT, settings.project),
                )
                if value is not None
            }
        )

    def tracer_provider(self) -> "TracerProvider":
        from opentelemetry.sdk.trace import TracerProvider

        return TracerProvider(
            resource=self._resource(), id_generator=self._settings.id_generator, shutdown_on_exit=False
        )

    def span_delivery(self) -> "SpanDelivery":
        from spanproof_instrumentation.delivery import Sender, SpanDelivery
        from spanproof_instrumentation.exporters import ready, span_exporter
        from spanproof_instrumentation.redacted import redacted_spans

        given = self._settings
        protocol = protocol_of(given.protocol, "traces")
        redact = partial(redacted_spans, given.redaction) if given.redaction is not None else None
        senders = [
            Sender(partial(span_exporter, name, given.endpoint, protocol), redact)
            for name in ready(exporters_of("traces"), protocol, "traces")
        ]
        return SpanDelivery(senders, limits_of("traces"), self.ending, labels_of(self.inherited))

    def logger_provider(self) -> "LoggerProvider":
        from opentelemetry.sdk._logs import LoggerProvider

        return LoggerProvider(resource=self._resource(), shutdown_on_exit=False)

    def log_delivery(self) -> "LogDelivery":
        from spanproof_instrumentation.delivery import LogDelivery, Sender
        from spanproof_instrumentation.exporters import log_exporter, ready
        from spanproof_instrumentation.redacted import redacted_records

        given = self._settings
        protocol = protocol_of(given.protocol, "logs")
        redact = partial(redacted_records, given.redaction) if given.redaction is not None else None
        senders = [
            Sender(partial(log_exporter, name, given.endpoint, protocol), redact)
            for name in ready(exporters_of("logs"), protocol, "logs")
        ]
        return LogDelivery(senders, limits_of("logs"), self.ending)

    def _resource(self) -> "Resource":
        from opentelemetry.sdk.resources import Resource

        return Resource.create(dict(_resource))
