"""A tool as stored trials show it."""

from collections.abc import Mapping
from dataclasses import dataclass

from spanproof_collector.model.tool_catalogue import CatalogueTool, Lookup
from spanproof_collector.model.trials import EffectClass


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenTool:
    """One tool: how often it was called, and what is said of it.

    ``classes`` counts calls by source and class: ``declared``, ``mcp``, ``inferred``, ``observed``; a call counts for
    its name too where something else outranks that.
    """

    name: str
    calls: int
    trials: int
    classes: Mapping[str, Mapping[str, int]]
    proposed: EffectClass | None
    """``None``: nobody says anything, or different things of different calls. A person fills it in."""

    why: str
    commands: bool = False
    """True where it runs what it is told to: then each call has the class of its command."""

    conflicts: tuple[str, ...] = ()
    entry: CatalogueTool | None = None
    """What the catalogue says already, by this name or by a pattern that is confirmed."""

    lookups: tuple[Lookup, ...] = ()
    """Reads that may tell whether its calls took place."""
