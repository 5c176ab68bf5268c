"""What the runner itself tells of a try, in spans: that there was one, the world before and after, how it ended.

The first span of a trial is the runner's; the agent works under it. The last one is the runner's too and says how the
run ended, so that no agent's own word on that stands.
"""

import hashlib
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from spanproof_evaluators.harness.intake import Labels, pairs
from spanproof_evaluators.model.canonical import Layout, Plain, written
from spanproof_instrumentation import semconv

_SCOPE: Final = "spanproof_evaluators.harness"
_LONGEST_ANSWER: Final = 100_000

Reason = Literal["completed", "budget_exhausted", "infrastructure", "cancelled"]


@dataclass(kw_only=True)
class Telling:
    """The runner's spans of one try."""

    labels: Labels
    trace_id: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    root_id: bytes = field(default_factory=lambda: secrets.token_bytes(8))
    began: int = field(default_factory=time.time_ns)

    @property
    def traceparent(self) -> str:
        """What the agent works under."""
        return f"00-{self.trace_id.hex()}-{self.root_id.hex()}-01"

    def request(self, *spans: Span) -> bytes:
        """Return spans as they are sent."""
        resource = Resource(attributes=pairs({semconv.SERVICE_NAME: "spanproof suite run", **self.labels}))
        scope = ScopeSpans(scope=InstrumentationScope(name=_SCOPE), spans=spans)
        sent: bytes = ExportTraceServiceRequest(
            resource_spans=[ResourceSpans(resource=resource, scope_spans=[scope])]
        ).SerializeToString()
        return sent

    def root(self, *, prompt: str, agent: str | None, answer: str | None, failed: str) -> Span:
        """Return the first span, ended now.

        Args:
            prompt: what was asked.
            agent: the agent's name, where nothing else tells of it: then the span is its run.
            answer: what it answered then.
            failed: why the agent's process failed; empty where it did not.
        """
        if agent is None:
            return self._span("spanproof.trial", {}, root=True)
        told: dict[str, str | int] = {
            semconv.OPERATION: "invoke_agent",
            semconv.AGENT_NAME: agent,
            semconv.INPUT_MESSAGES: _messages("user", prompt),
        }
        if answer is not None:
            told[semconv.OUTPUT_MESSAGES] = _messages("assistant", answer[:_LONGEST_ANSWER])
        if failed:
            told[semconv.ERROR_TYPE] = failed
        span = self._span(f"invoke_agent {agent}", told, root=True)
        if failed:
            span.status.CopyFrom(Status(code=Status.STATUS_CODE_ERROR, message=failed))
        return span

    def end_state(self, phase: Literal["before", "after"], state: str, at: int | None = None) -> Span:
        """Return a look at the world."""
        span = self._span(semconv.EVENT_END_STATE, {}, at=at)
        event = {
            semconv.END_STATE_PHASE: phase,
            semconv.END_STATE_DIGEST: hashlib.sha256(state.encode()).hexdigest(),
            semconv.END_STATE_STATE: state,
        }
        span.events.add(name=semconv.EVENT_END_STATE, time_unix_nano=span.start_time_unix_nano, attributes=pairs(event))
        return span

    def ended(self, reason: Reason, why: str) -> Span:
        """Return the last span: how the run ended."""
        told = {semconv.TERMINATION_REASON: reason} | ({f"{semconv.LABEL_PREFIX}ended": why[:300]} if why else {})
        return self._span("spanproof.trial.end", told)

    def change(self, name: str, by: Literal["world", "user"], at: int, facts: Mapping[str, Plain]) -> Span:
        """Return a change of the world: a call of the user's where it was the user's."""
        if by == "world":
            return self._span("spanproof.change", {"spanproof.change": name, **_texts(facts)}, at=at)
        told: dict[str, str | int] = {
            semconv.OPERATION: "execute_tool",
            semconv.TOOL_NAME: name,
            semconv.TOOL_REQUESTOR: "user",
            semconv.EFFECT_CLASS: "write",
            semconv.TOOL_ARGUMENTS: written(dict(facts), Layout()),
            semconv.TOOL_RESULT: '"done"',
        }
        return self._span(f"execute_tool {name}", told, at=at)

    def _span(self, name: str, attributes: Labels, *, root: bool = False, at: int | None = None) -> Span:
        now = time.time_ns()
        return Span(
            trace_id=self.trace_id,
            span_id=self.root_id if root else secrets.token_bytes(8),
            parent_span_id=b"" if root else self.root_id,
            name=name,
            kind=Span.SPAN_KIND_INTERNAL,
            start_time_unix_nano=self.began if root else (at or now),
            end_time_unix_nano=now,
            attributes=pairs(attributes),
        )


def _messages(role: str, text: str) -> str:
    part: Plain = {"type": "text", "content": text}
    whole: dict[str, Plain] = {"role": role, "parts": [part]}
    if role == "assistant":
        whole["finish_reason"] = "stop"
    return written([whole], Layout())


def _texts(facts: Mapping[str, Plain]) -> dict[str, str | int]:
    return {f"spanproof.change.{key}": str(value) for key, value in facts.items()}
