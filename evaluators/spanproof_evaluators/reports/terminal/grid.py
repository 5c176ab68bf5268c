"""A grid in the terminal: the table, what each factor makes, and which of them makes more."""

from rich.console import Console
from rich.text import Text

from spanproof_evaluators.model.grids import Cell, Estimate, Grid
from spanproof_evaluators.reports.terminal._layout import print_block, print_heading, print_line, print_text, words
from spanproof_evaluators.reports.wording import counts, plural, ratio


def print_grid(console: Console, found: Grid) -> None:
    """Print a grid: one row a level of the first factor, one column a level of the second."""
    first, *others = found.factors
    columns = others[0].levels if others else ("",)
    heading = f"Solve rate by {first.key}" + (f" and {others[0].key}" if others else "")
    print_heading(console, heading, "n/d (value), 95 % interval")
    cells = {cell.levels: cell for cell in found.cells}
    told = {
        (row, column): _cell(cells[(row, column) if others else (row,)]) for row in first.levels for column in columns
    }
    widest = max(len(text) for text in (*told.values(), *columns)) + 2
    name = max(len(level) for level in first.levels) + 2
    if others:
        print_text(console, Text(" " * name + "".join(column.ljust(widest) for column in columns), style="bold"))
    for row in first.levels:
        line = "".join(told[row, column].ljust(widest) for column in columns)
        print_text(console, Text.assemble((row.ljust(name), "bold"), line))
    print_heading(console, "What each makes", "better less worse, mean over tasks; 95 % interval")
    for one in found.differences:
        note = f"  {one.note}" if one.note else ""
        said = f"{one.better} over {one.worse}: {_estimate(one.estimate)}{note}"
        print_block(console, [words(one.key, "bold")], [words(said, "", 300)], indent=name + 2)
    print_text(console, words(found.said, "bold", 300))
    if found.larger is not None:
        print_text(console, words(f"first less second: {_estimate(found.larger)}", "dim", 300))
    if found.left_out:
        told_of = f"left out, without a verdict somewhere: {plural(len(found.left_out), 'task')}"
        print_text(console, words(told_of, "yellow", 300))
    print_line(console, Text())


def _cell(cell: Cell) -> str:
    rate = cell.solve_rate
    if rate is None or rate.value is None:
        return "unavailable"
    interval = f"  {ratio(rate.interval[0])}-{ratio(rate.interval[1])}" if rate.interval is not None else ""
    return f"{counts(rate)} ({ratio(rate.value)}){interval}"


def _estimate(one: Estimate) -> str:
    between = "no interval" if one.interval is None else f"{one.interval[0]:+.3f} to {one.interval[1]:+.3f}"
    return f"{one.value:+.3f} ({between}, {plural(one.tasks, 'task')})"
