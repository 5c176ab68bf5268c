"""A catalogue of tools as people read it: YAML, with what was seen of each tool beside its entry."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import yaml

from spanproof_collector.model.tool_catalogue import CatalogueTool, ToolCatalogue
from spanproof_evaluators.model.canonical import Plain, plain
from spanproof_evaluators.model.seen_tools import SeenTool
from spanproof_evaluators.reports.wording import one_line, plural

_HEAD: Final = """\
# What tools change, for spanproof. Look at each entry: fill in or correct its class (read, write, destructive or
# handoff), and take out 'confirmed: false'. Until then it counts for nothing.
version: 1
"""


def catalogue_yaml(catalogue: ToolCatalogue, seen: Sequence[SeenTool]) -> str:
    """Return a catalogue as YAML that reads back to an equal one."""
    known = {tool.name: tool for tool in seen}
    blocks = [_block(entry, known.get(entry.name)) for entry in catalogue.tools]
    beside = [f"# {_told(tool)}\n" for tool in seen if not tool.name.strip()]
    body = "tools:\n" + "".join(blocks) if blocks else "tools: []\n"
    return _HEAD + body + "".join(beside)


def _block(entry: CatalogueTool, seen: SeenTool | None) -> str:
    lines = [] if seen is None else [f"# {_told(seen)}"]
    lines += [f"# conflict: {one_line(conflict, 200)}" for conflict in (seen.conflicts if seen is not None else ())]
    if seen is not None and seen.commands and not entry.confirmed:
        lines.append("# leave it so, unless one class is right for every command")
    elif not entry.confirmed and entry.effect_class is None:
        lines.append("# FILL IN class: read, write, destructive or handoff")
    if not entry.confirmed and entry.lookups:
        lines.append("# lookups are guesses: does the read show whether it took place? 'shows' says by which fields")
    dumped = yaml.safe_dump([entry_json(entry)], sort_keys=False, width=100)
    return "".join(f"  {line}\n" for line in (*lines, *dumped.rstrip("\n").split("\n")))


def entry_json(entry: CatalogueTool) -> dict[str, Plain]:
    """Return an entry in the shape of the file, what it does not say left out."""
    told: dict[str, Plain] = msgspec.to_builtins(entry)
    kept: dict[str, Plain] = {key: value for key, value in told.items() if value is not None and value not in ([], ())}
    if entry.confirmed:
        del kept["confirmed"]
    elif entry.effect_class is None:
        kept = {"name": entry.name, "class": None, **kept}
    return kept


def _told(seen: SeenTool) -> str:
    """Return what was seen of a tool in one line."""
    name = one_line(seen.name, 80) or "a tool without a name"
    said = (
        f"{seen.proposed} by {one_line(seen.why, 200)}" if seen.proposed else f"unclassified: {one_line(seen.why, 200)}"
    )
    return f"{name}: {plural(seen.calls, 'call')} in {plural(seen.trials, 'trial')}; {said}"


def seen_json(tool: SeenTool) -> dict[str, Plain]:
    """Return what was seen of a tool."""
    classes: Mapping[str, Mapping[str, int]] = tool.classes
    return {
        "name": tool.name,
        "calls": tool.calls,
        "trials": tool.trials,
        "class": tool.proposed or "unclassified",
        "why": tool.why,
        "classes": plain(classes),
        "conflicts": list(tool.conflicts),
        "entry": None if tool.entry is None else "confirmed" if tool.entry.confirmed else "proposed",
    }
