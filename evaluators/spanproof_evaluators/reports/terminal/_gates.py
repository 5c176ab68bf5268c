"""Gates in the terminal: variants side by side where there is room, else one under the other."""

from collections.abc import Sequence
from itertools import zip_longest

from rich.console import Console
from rich.text import Text

from spanproof_evaluators.model.decisions import GateResult
from spanproof_evaluators.model.reports import VariantReport
from spanproof_evaluators.reports.terminal._layout import (
    padded,
    print_block,
    print_heading,
    print_line,
    print_text,
    state,
    words,
    wrap,
)
from spanproof_evaluators.reports.wording import gate_says

_Cells = Sequence[tuple[Text, int]]
"""Texts and the widths that they have."""


def print_gates(console: Console, variants: Sequence[VariantReport], *, verbose: bool = False) -> None:
    """Print the gates in their order; verbose with what they measure, why they are there and all that they say."""
    if not variants:
        return
    print_heading(console, "Gates", "in order: the first hard one that fails decides")
    names = [words(variant.name, "dim", 60) for variant in variants]
    rows = list(zip(*(variant.decision.gates for variant in variants), strict=True))
    titles = [f"{row[0].gate.order} {row[0].gate.id}" for row in rows]
    limits = [row[0].limit + ("" if row[0].gate.hard else ", soft") for row in rows]
    title_width, limit_width = max(map(len, titles)), max(map(len, limits))
    left = title_width + 2 + limit_width + 2
    widths = _widths(console.width - left, names, rows)
    if widths:
        _print_cells(console, Text(), left, list(zip(names, widths, strict=True)))
    for title, limit, row in zip(titles, limits, rows, strict=True):
        begin = Text.assemble(title.ljust(title_width), "  ", (limit, "dim"))
        if widths:
            _print_cells(console, begin, left, [(_said(one), width) for one, width in zip(row, widths, strict=True)])
        else:
            print_line(console, begin)
            for name, one in zip(names, row, strict=True):
                print_block(console, [], [name, _said(one)], indent=4)
        if verbose:
            print_text(console, Text(f"{row[0].gate.measure}: {row[0].gate.because}", style="dim"), indent=4)
            for name, one in zip(names, row, strict=True):
                print_text(console, Text.assemble(name, words(f": {one.explanation}", "dim", 400)), indent=4)


def _widths(room: int, names: Sequence[Text], rows: Sequence[Sequence[GateResult]]) -> list[int]:
    """Return a width for each variant, none where they do not fit beside each other."""
    wanted = [max(name.cell_len, *(_said(row[at]).cell_len for row in rows)) for at, name in enumerate(names)]
    share = room // len(names) - 2
    if share < len("INCONCLUSIVE"):
        return []
    widths = [min(width, share) for width in wanted]
    spare = room - 2 * (len(names) - 1) - sum(widths)
    for at, width in enumerate(wanted):
        more = min(width - widths[at], spare)
        widths[at] += more
        spare -= more
    return widths


def _said(said: GateResult) -> Text:
    """Return a verdict and what it was decided by."""
    return Text.assemble(state(said.decision, upper=True), " ", words(gate_says(said)))


def _print_cells(console: Console, begin: Text, left: int, cells: _Cells) -> None:
    """Print cells beside each other, each wrapped in its own width."""
    columns = [wrap(cell, width) for cell, width in cells]
    for at, row in enumerate(zip_longest(*columns, fillvalue=Text())):
        line = begin.copy() if at == 0 else Text()
        end = left
        for cell, (_, width) in zip(row, cells, strict=True):
            line = padded(line, end).append_text(cell)
            end += width + 2
        print_line(console, line)
