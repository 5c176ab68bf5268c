"""Message content and tool payloads: recorded only when the user asks for it, always as JSON text."""

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from typing import Final

Messages = str | Sequence[Mapping[str, object]]
"""A text, or messages in the parts shape of the GenAI conventions."""

CAPTURE_VARIABLE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
ON_SWITCHES: Final = {
    CAPTURE_VARIABLE: "SPAN_ONLY",
    "ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE": "content",
}
"""What makes instrumentors record content that would not by themselves. OpenInference and OpenLLMetry would."""

LEGACY_ON: Final = "true"
"""How instrumentors of before 2026 are asked; they write content into events. The others take it for nonsense."""

OFF_SWITCHES: Final = {
    CAPTURE_VARIABLE: "NO_CONTENT",
    "ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE": "metadata_only",
    "OPENINFERENCE_HIDE_INPUTS": "true",
    "OPENINFERENCE_HIDE_OUTPUTS": "true",
    "TRACELOOP_TRACE_CONTENT": "false",
}
"""What keeps instrumentors from recording content, whatever else is set: who asks for none must get none."""

_LEGACY: Final = (
    "opentelemetry-instrumentation-openai-v2",
    "opentelemetry-instrumentation-google-genai",
    "opentelemetry-instrumentation-vertexai",
)
_ON: Final = frozenset({"span_only", "span_and_event", "true", "1"})
_EVENTS: Final = frozenset({"event_only", "span_and_event", "true"})

_chosen: bool | None = None


def capture(chosen: bool | None) -> None:
    """Set whether content is recorded, by us and by the instrumentors; ``None`` leaves it to the environment.

    A way of recording that the user chose in the environment, such as ``EVENT_ONLY``, stays.
    """
    global _chosen
    _chosen = chosen
    if chosen:
        for name, value in ON_SWITCHES.items():
            os.environ.setdefault(name, LEGACY_ON if name == CAPTURE_VARIABLE and _legacy() else value)
    elif chosen is not None:
        os.environ.update(OFF_SWITCHES)


def _legacy() -> bool:
    """Say whether there are instrumentors of the GenAI conventions, and none but of the old kind."""
    return not _installed("opentelemetry-util-genai") and any(map(_installed, _LEGACY))


def _installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def captured() -> bool:
    """Say whether content is recorded: as configured, else as the standard variable says, else not."""
    if _chosen is not None:
        return _chosen
    return os.environ.get(CAPTURE_VARIABLE, "").strip().lower() in _ON


def asks_for_events() -> bool:
    """Say whether instrumentors write content into events, which are log records; ``true`` is the legacy spelling."""
    return os.environ.get(CAPTURE_VARIABLE, "").strip().lower() in _EVENTS


def as_json(value: object) -> str:
    """Return the value as JSON text; what JSON cannot hold is written as its ``repr``."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(repr(value), ensure_ascii=False)


def as_text(value: object) -> str:
    """Return a text as it is and any other value as JSON text."""
    return value if isinstance(value, str) else as_json(value)


def as_messages(role: str, content: Messages, finish_reason: str | None = None) -> str:
    """Return messages as JSON text in the parts shape; a bare text becomes one message of that role."""
    if not isinstance(content, str):
        return as_json(list(content))
    message: dict[str, object] = {"role": role, "parts": [{"type": "text", "content": content}]}
    if finish_reason is not None:
        message["finish_reason"] = finish_reason
    return as_json([message])


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if isinstance(value, Mapping):
        return dict(value)
    dump = getattr(value, "model_dump", None)
    return dump() if callable(dump) else repr(value)
