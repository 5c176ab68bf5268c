"""A journal of failures as a table of three columns: task, result, layer. In Markdown, in Tagalog or in English.

| Gawain               | Resulta                    | Layer        |
|----------------------|----------------------------|--------------|
| pagination /payments | "tapos na", 2 test ang pula | beripikasyon |
"""

import re
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from spanproof_evaluators.model.result_files._format import JournalRow, ResultFile

Layer: TypeAlias = Literal["specification", "context", "environment", "verification", "state"]
LAYERS: Final[tuple[Layer, ...]] = ("specification", "context", "environment", "verification", "state")
"""The five places where agents usually fail (R080)."""

_NAMES: Final[dict[str, Layer]] = {
    **{name: name for name in LAYERS},
    "task specification": "specification",
    "execution environment": "environment",
    "verification feedback": "verification",
    "state management": "state",
    "espesipikasyon": "specification",
    "espesipikasyon ng gawain": "specification",
    "konteksto": "context",
    "kapaligiran": "environment",
    "kapaligiran ng pagpapatakbo": "environment",
    "beripikasyon": "verification",
    "feedback ng beripikasyon": "verification",
    "estado": "state",
    "pamamahala ng estado": "state",
}
_HEADERS: Final = (("gawain", "resulta", "layer"), ("task", "result", "layer"))
_RULE: Final = re.compile(r"^:?-{3,}:?$")
_CELL: Final = re.compile(r"(?<!\\)\|")


def layer_of(name: str) -> Layer | None:
    """Return the layer that a word names, ``None`` where it is none of the five."""
    return _NAMES.get(" ".join(name.casefold().split()))


def is_journal(text: str) -> bool:
    """Return whether a text begins with such a table's header."""
    first = next((line for line in text.splitlines() if line.strip().startswith("|")), "")
    return tuple(cell.casefold() for cell in _cells(first)) in _HEADERS


def read_journal(text: str) -> ResultFile:
    """Return the rows of a table.

    Raises:
        ValueError: a row has other than three cells.
    """
    rows: list[JournalRow] = []
    doubts: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip().startswith("|"):
            continue
        cells = _cells(line)
        if tuple(cell.casefold() for cell in cells) in _HEADERS or all(_RULE.match(cell) for cell in cells):
            continue
        if len(cells) != 3:
            raise ValueError(f"line {number} has {len(cells)} cells, and not 3: task, result, layer")
        layer = layer_of(cells[2])
        if layer is None:
            doubts.append(f"line {number}: {cells[2]!r} is none of the layers {', '.join(LAYERS)}")
        rows.append(JournalRow(task=cells[0], result=cells[1], layer=layer or cells[2]))
    return ResultFile(format="journal", journal=tuple(rows), doubts=tuple(doubts))


def journal_table(rows: Sequence[JournalRow]) -> str:
    """Return rows as such a table, with English headers."""
    lines = [("Task", "Result", "Layer"), *((one.task, one.result, one.layer) for one in rows)]
    cells = [[cell.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines]
    widths = [max(3, *(len(line[column]) for line in cells)) for column in range(3)]
    told = [
        "| " + " | ".join(cell.ljust(wide) for cell, wide in zip(line, widths, strict=True)) + " |" for line in cells
    ]
    rule = "|" + "|".join("-" * (wide + 2) for wide in widths) + "|"
    return "\n".join([told[0], rule, *told[1:]]) + "\n"


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|").replace("\\\\", "\\") for cell in _CELL.split(inner)]
