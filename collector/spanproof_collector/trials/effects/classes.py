"""The class of a call's effect, and by whose word it has it.

In this order: what the call's span declares, what the MCP server's hints say, the confirmed entry of the catalogue, the
rules for names. What somebody saw change comes on top of all (``states``). Decision 10.
"""

from collections.abc import Mapping

from spanproof_collector.dialects import evidence
from spanproof_collector.model.readings import ToolDefinition
from spanproof_collector.model.tool_catalogue import ToolCatalogue
from spanproof_collector.model.trials import ClassSource, EffectClass
from spanproof_collector.trials.effects.names import infer_class
from spanproof_collector.trials.tool_calls import JoinedCall


def class_of(
    call: JoinedCall, tools: Mapping[str, ToolDefinition], catalogue: ToolCatalogue
) -> tuple[EffectClass, ClassSource | None]:
    """Return the class of a call, and its source; ``unclassified`` has none."""
    if any(run.handoff_to is not None for _, run in call.runs):
        return "handoff", "declared"
    for item, _ in reversed(call.runs):
        declared = evidence.effect(item.span.attributes).effect_class
        if declared is not None:
            return declared, "declared"
    hinted = hinted_class(tools.get(call.name))
    if hinted is not None:
        return hinted, "mcp"
    catalogued = catalogue.class_of(call.name)
    if catalogued is not None:
        return catalogued, "catalog"
    inferred = infer_class(call.name, call.arguments)
    return inferred, None if inferred == "unclassified" else "inferred"


def hinted_class(tool: ToolDefinition | None) -> EffectClass | None:
    """Return what a tool's hints say of it; ``None`` where it gives none."""
    if tool is None or (tool.read_only_hint is None and tool.destructive_hint is None):
        return None
    if tool.read_only_hint:
        return "read"
    return "destructive" if tool.destructive_hint else "write"
