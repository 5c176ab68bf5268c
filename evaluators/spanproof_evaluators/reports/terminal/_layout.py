"""Layout: lines that break between words, never inside one, with what goes on indented under what it belongs to.

Lines are measured in cells, as a terminal shows them. What must stay whole, an id or a mark, is one chunk.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from spanproof_evaluators.reports.wording import cut, one_line

COLORS: Final[dict[str, str]] = {
    "pass": "green",
    "verified": "green",
    "fail": "bold red",
    "failed": "bold red",
    "inconclusive": "yellow",
    "unavailable": "yellow",
    "unknown": "yellow",
    "reported": "yellow",
}

_WHOLE: Final = 72
"""Words up to this many cells are never broken, however narrow the terminal: the longest ids are hashes of 64."""

_NARROWEST: Final = 12


def words(text: str, style: str = "", longest: int = 160) -> Text:
    """Return text from a trace, harmless and on one line."""
    return Text(one_line(text, longest), style=style)


def value(text: str, longest: int, style: str = "") -> list[Text]:
    """Return a long text as chunks: as much as is shown, and a note where it was cut."""
    shown, note = cut(text, longest)
    return [Text(shown, style=style), Text(note, style="yellow")]


def state(word: str, *, upper: bool = False) -> Text:
    """Return a state in its color."""
    return Text(word.upper() if upper else word, style=COLORS.get(word, ""))


def spans(span_ids: Iterable[str], most: int = 4) -> list[Text]:
    """Return span ids, each whole; of many the first."""
    every = list(span_ids)
    found = [Text.assemble(("span ", "dim"), (one_line(span_id), "cyan")) for span_id in every[:most]]
    return [*found, *([Text(f"and {len(every) - most} more", style="dim")] if len(every) > most else [])]


def padded(text: Text, width: int) -> Text:
    """Return a copy with blanks up to a width."""
    found = text.copy()
    found.pad_right(max(width - text.cell_len, 0))
    return found


def print_heading(console: Console, title: str, about: str = "") -> None:
    """Print an empty line and a heading."""
    print_line(console, Text())
    print_block(console, [], [Text(title, style="bold"), Text(about, style="dim")], indent=0)


def print_block(console: Console, head: Sequence[Text], body: Sequence[Text] = (), *, indent: int) -> None:
    """Print what a line begins with, padded to ``indent``, and the rest beside it, going on under itself."""
    begin = Text("  ").join(part for part in head if part)
    lines = flow(body, console.width - indent)
    if begin and begin.cell_len + 1 > indent and body:
        print_line(console, begin)
        begin = Text()
    for first, line in zip_longest([begin], lines, fillvalue=Text()):
        print_line(console, padded(first, indent if line else 0).append_text(line))


def print_line(console: Console, line: Text) -> None:
    """Print one line as it is; where it is too long for the terminal, the terminal may wrap it."""
    line.rstrip()
    console.print(line, soft_wrap=True)


def print_text(console: Console, text: Text, indent: int = 0) -> None:
    """Print a paragraph."""
    for line in wrap(text, console.width - indent):
        print_line(console, Text(" " * indent).append_text(line))


def flow(chunks: Sequence[Text], width: int) -> list[Text]:
    """Return chunks in lines, two spaces apart. A chunk that has no room goes to the next line as a whole."""
    lines: list[Text] = []
    line = Text()
    for chunk in chunks:
        if not chunk:
            continue
        if line and line.cell_len + 2 + chunk.cell_len <= width:
            line = line.append("  ").append_text(chunk)
            continue
        if line:
            lines.append(line)
        *full, line = [chunk.copy()] if chunk.cell_len <= width else wrap(chunk, width)
        lines.extend(full)
    return [*lines, line]


def wrap(text: Text, width: int) -> list[Text]:
    """Return a text in lines, broken before words. Only a word that no id could be is broken itself."""
    width = max(width, _NARROWEST)
    breaks: list[int] = []
    used = 0
    for match in re.finditer(r"\S+\s*", text.plain):
        word = match.group().rstrip()
        size = cell_len(word)
        if used and used + size > width:
            breaks.append(match.start())
            used = 0
        if size > max(width, _WHOLE):
            for at, character in enumerate(word, match.start()):
                cells = cell_len(character)
                if used + cells > width:
                    breaks.append(at)
                    used = 0
                used += cells
        else:
            used += size
        used += len(match.group()) - len(word)
    lines = list(text.divide(breaks))
    for line in lines:
        line.rstrip()
    return lines
