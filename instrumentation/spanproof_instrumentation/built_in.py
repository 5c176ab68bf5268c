"""Libraries that carry OpenTelemetry themselves and need a switch for it: the switch, when they are imported."""

import importlib
import sys

from spanproof_instrumentation import content
from spanproof_instrumentation.import_hooks import when_imported

switched: set[str] = set()
"""Modules whose own tracing is on because of us."""


def switch_on() -> None:
    """Switch on what is, or will be, imported."""
    when_imported("pydantic_ai", _pydantic_ai)


def _pydantic_ai() -> None:
    agent = sys.modules["pydantic_ai"].Agent
    if getattr(agent, "_instrument_default", False):
        return  # somebody chose already
    settings = importlib.import_module("pydantic_ai.models.instrumented").InstrumentationSettings
    agent.instrument_all(settings(include_content=content.captured()))
    switched.add("pydantic_ai")
