"""What was asked for: by the call, else by ``SPANPROOF_*``, else by ``OTEL_*``, else by the defaults of OpenTelemetry.

``spanproof run`` speaks through ``SPANPROOF_*``, which only our code reads: an exporter that the agent sets up itself
from ``OTEL_*`` is not sent elsewhere by it.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from spanproof_instrumentation.barrier import tell_once
from spanproof_instrumentation.outbox import Limits
from spanproof_instrumentation.redaction import Redaction, Rules, rules_of_text

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.id_generator import IdGenerator

Protocol = Literal["http/protobuf", "grpc"]
Signal = Literal["traces", "logs"]

SERVICE_NAME: Final = "SPANPROOF_SERVICE_NAME"
ENDPOINT: Final = "SPANPROOF_ENDPOINT"
PROTOCOL: Final = "SPANPROOF_PROTOCOL"
PROJECT: Final = "SPANPROOF_PROJECT"
CAPTURE_CONTENT: Final = "SPANPROOF_CAPTURE_CONTENT"
REDACT: Final = "SPANPROOF_REDACT"
EXIT_SECONDS: Final = "SPANPROOF_EXIT_SECONDS"
CENSUS: Final = "SPANPROOF_CENSUS"
"""A folder that ``spanproof doctor`` wants the spans of each process counted in."""

CALL_GATE: Final = "SPANPROOF_CALL_GATE"
"""Where ``spanproof suite run`` wants to be told of each call of a tool that ended, before the agent goes on."""

DEFAULT_EXIT_SECONDS: Final = 2.0
MOST_EXIT_SECONDS: Final = 5.0
"""A collector that takes one batch after the other is waited for this long, at least."""

_GRPC: Final = "grpc"
_HTTP: Final = "http/protobuf"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One way to export, decided once per process."""

    service_name: str | None
    endpoint: str | None
    protocol: str | None
    project: str | None
    exit_seconds: float
    redaction: Redaction | None
    id_generator: "IdGenerator | None"


def disabled() -> bool:
    """Say whether the user turned OpenTelemetry off."""
    return _truth(os.environ.get("OTEL_SDK_DISABLED"))


def settings_of(
    *,
    service_name: str | None = None,
    endpoint: str | None = None,
    protocol: str | None = None,
    project: str | None = None,
    exit_seconds: float | None = None,
    redact: Rules | None = None,
    id_generator: "IdGenerator | None" = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Return what holds for this process."""
    given = os.environ if environment is None else environment
    if redact is None:
        redact = rules_of_text(given.get(REDACT, ""))
    return Settings(
        service_name=service_name or given.get(SERVICE_NAME) or None,
        endpoint=endpoint or given.get(ENDPOINT) or None,
        protocol=protocol or given.get(PROTOCOL) or None,
        project=project or given.get(PROJECT) or None,
        exit_seconds=_seconds(given.get(EXIT_SECONDS)) if exit_seconds is None else exit_seconds,
        redaction=Redaction.of(redact),
        id_generator=id_generator,
    )


def capture_asked(environment: Mapping[str, str] | None = None) -> bool | None:
    """Return what ``spanproof run`` was told about content, ``None`` where it was told nothing."""
    value = (os.environ if environment is None else environment).get(CAPTURE_CONTENT)
    return None if not value else _truth(value)


def protocol_of(given: str | None, signal: Signal) -> str:
    """Return how to send one signal."""
    own, general = f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"
    wanted = given or os.environ.get(own) or os.environ.get(general) or _HTTP
    if wanted not in (_HTTP, _GRPC):
        tell_once(f"spanproof: protocol {wanted!r} is not supported, {_HTTP} is used instead of it")
        return _HTTP
    return wanted


def exporters_of(signal: Signal) -> list[str]:
    """Return the exporters that the standard variable asks for and that are ours to set up."""
    variable = f"OTEL_{signal.upper()}_EXPORTER"
    wanted = [name.strip() for name in os.environ.get(variable, "otlp").split(",") if name.strip()]
    for name in wanted:
        if name not in ("otlp", "console", "none"):
            tell_once(f"spanproof: {variable}={name!r} is not ours to set up and is left out")
    return [name for name in wanted if name in ("otlp", "console")]


def limits_of(signal: Signal) -> Limits:
    """Return the standard limits of a batch processor."""
    family = "OTEL_BSP" if signal == "traces" else "OTEL_BLRP"
    waiting = _count(f"{family}_MAX_QUEUE_SIZE", 2048)
    return Limits(
        most_waiting=waiting,
        most_in_batch=min(_count(f"{family}_MAX_EXPORT_BATCH_SIZE", 512), waiting),
        delay_seconds=_count(f"{family}_SCHEDULE_DELAY", 5000 if signal == "traces" else 1000) / 1000,
    )


def _count(variable: str, default: int) -> int:
    text = os.environ.get(variable, "").strip()
    if not text:
        return default
    if not text.isdecimal() or int(text) == 0:
        tell_once(f"spanproof: {variable}={text!r} is no count above 0, {default} is used instead of it")
        return default
    return int(text)


def _seconds(text: str | None) -> float:
    if not text:
        return DEFAULT_EXIT_SECONDS
    try:
        return max(float(text), 0.0)
    except ValueError:
        tell_once(f"spanproof: {EXIT_SECONDS}={text!r} is no number, {DEFAULT_EXIT_SECONDS:g} is used instead of it")
        return DEFAULT_EXIT_SECONDS


def _truth(text: str | None) -> bool:
    return (text or "").strip().lower() in ("true", "1")
