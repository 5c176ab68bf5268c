"""Strands Agents: the conventions, with content in span events unless the latest conventions are asked for."""

from typing import ClassVar, Final

from msgspec.structs import replace

from spanproof_collector.dialects._conventions import agent_run, read_operation
from spanproof_collector.dialects._dialect import Dialect, SpanView
from spanproof_collector.dialects._join import canonical
from spanproof_collector.dialects._told_by_events import with_events
from spanproof_collector.model.readings import Absent, Reading, ToolRun
from spanproof_instrumentation import semconv

_STATUS: Final = "gen_ai.tool.status"
_MANY_AGENTS: Final = frozenset({"invoke_graph", "invoke_swarm"})


class Strands(Dialect):
    """Spans of the scope ``strands.telemetry.tracer``, or with a tool's status under its name."""

    name: ClassVar = "strands"
    marks: ClassVar = frozenset({_STATUS, "event_loop.cycle_id"})
    scopes: ClassVar = ("strands.",)

    def read(self, span: SpanView) -> Reading | None:
        """What the span says, by its operation; what it lacks, its events say."""
        attributes = span.attributes
        operation = attributes.get(semconv.OPERATION)
        if isinstance(operation, str) and operation in _MANY_AGENTS:
            return with_events(agent_run(attributes, "invoke_workflow", history=span.history), span)
        reading = with_events(read_operation(attributes, history=span.history), span)
        if isinstance(reading, ToolRun) and attributes.get(_STATUS) == "error":
            said = "error" if isinstance(reading.result, Absent) else reading.result
            return replace(reading, error=said if isinstance(said, str) else canonical(said))
        return reading
