"""The agent side: make what an agent did visible and provable.

Importing it loads the OpenTelemetry API and nothing heavier; ``configure`` loads the SDK and an exporter.
"""

from spanproof_instrumentation.errors import MissingExtraError, SpanproofError
from spanproof_instrumentation.evidence import (
    claim,
    cost,
    effect,
    end_state,
    progress,
    quality,
    receipt,
    refusal,
    termination,
    wait,
)
from spanproof_instrumentation.labels import extract_environment, inject_environment, labels
from spanproof_instrumentation.provider import configure, flush
from spanproof_instrumentation.snapshots import end_state_recorder, record_end_state
from spanproof_instrumentation.spans import AgentSpan, ModelSpan, ToolSpan, agent_span, model_span, tool_span
from spanproof_instrumentation.tools import tool

__all__ = [
    "AgentSpan",
    "MissingExtraError",
    "ModelSpan",
    "SpanproofError",
    "ToolSpan",
    "agent_span",
    "claim",
    "configure",
    "cost",
    "effect",
    "end_state",
    "end_state_recorder",
    "extract_environment",
    "flush",
    "inject_environment",
    "labels",
    "model_span",
    "progress",
    "quality",
    "receipt",
    "record_end_state",
    "refusal",
    "termination",
    "tool",
    "tool_span",
    "wait",
]
