"""Measures in the terminal: one line a measure and variant, the number with its counts first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final

from rich.console import Console
from rich.text import Text

from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.model.reports import Report, VariantReport
from spanproof_evaluators.reports.sections import Section, bracket, shown, tasks_of
from spanproof_evaluators.reports.terminal._layout import (
    flow,
    padded,
    print_heading,
    print_line,
    print_text,
    words,
    wrap,
)
from spanproof_evaluators.reports.wording import beside, headline, interval, left_out

_NAME: Final = 18
_INTERVAL: Final = len("0.000-0.000")
_LEAST: Final = 30
"""What a number needs beside the name of its variant; with less it goes to a line of its own."""

_LONGEST_NAME: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """Where what begins."""

    variant: int
    number: int
    interval: int
    named_beside: bool
    """The measure's name has a column; else a line of its own."""


def print_section(console: Console, section: Section, report: Report, *, verbose: bool = False) -> None:
    """Print a block of measures, variants under one another.

    Args:
        console: where to.
        section: which measures.
        report: what they are of.
        verbose: with everything that stands beside a number.
    """
    variants = report.variants
    print_heading(console, section.title, section.about)
    measures, lacking = shown(section, report, whole=verbose)
    columns = _columns(console.width, measures, variants)
    for name, called in measures.items():
        lines: list[Text] = []
        for variant in variants:
            told = _chunks(variant.numbers[name], tasks_of(name, variant), columns, verbose=verbose)
            told += (
                [Text(words(beside_it, "", 200).plain, style="dim")]
                if (beside_it := bracket(report, name, variant))
                else []
            )
            lines.extend(_labelled(variant.name if len(variants) > 1 else "", told, columns, console.width))
        label = words(called, "", _LONGEST_NAME)
        begins = wrap(label, _NAME) if columns.named_beside else []
        if not columns.named_beside:
            print_line(console, label)
        for begin, line in zip_longest(begins, lines, fillvalue=Text()):
            print_line(console, padded(begin, columns.variant).append_text(line))
    if lacking:
        print_text(console, Text(f"unavailable, -v says why: {', '.join(lacking)}", style="yellow"))


def _columns(width: int, measures: Mapping[str, str], variants: Sequence[VariantReport]) -> _Columns:
    """Return the columns that fit."""
    found = [(variant.numbers[name], tasks_of(name, variant)) for name in measures for variant in variants]
    numbers = [headline(measure, tasks) for measure, tasks in found if measure.value is not None]
    labels = [words(variant.name, "", _LONGEST_NAME).cell_len for variant in variants] if len(variants) > 1 else []
    label = max(labels, default=-2) + 2
    number = max(map(len, numbers), default=0) + 2
    named_beside = _NAME + 2 + label + number + _INTERVAL <= width
    first = _NAME + 2 if named_beside else 2
    if width - first - label < _LEAST:
        label = 2
    return _Columns(variant=first, number=first + label, interval=number, named_beside=named_beside)


def _chunks(measure: Measure, tasks: int, columns: _Columns, *, verbose: bool) -> list[Text]:
    """Return the number and what stands beside it."""
    if measure.value is None:
        if verbose:
            return [words(f"{headline(measure, tasks)}: {beside(measure)}", "yellow", 400)]
        gone = left_out(replace(measure, unavailable=0))  # the reason says what is unavailable
        return [Text(f"{headline(measure, tasks)}: {measure.reason}", style="yellow"), Text(gone, style="dim")]
    number = padded(Text(headline(measure, tasks)), columns.interval - 2)
    if verbose:
        return [number, words(beside(measure), "dim", 400)]
    aside = Text(left_out(measure), style="yellow" if measure.unavailable else "dim")
    return [number, padded(Text(interval(measure), style="dim"), _INTERVAL if aside else 0), aside]


def _labelled(label: str, told: list[Text], columns: _Columns, width: int) -> list[Text]:
    """Return the lines of one variant."""
    lines = flow(told, width - columns.number)
    begin = words(label, "", _LONGEST_NAME)
    own_line = [begin] if columns.variant + begin.cell_len + 2 > columns.number and begin else []
    begins = [Text() if own_line else begin]
    room = columns.number - columns.variant
    return [
        *own_line,
        *(padded(first, room).append_text(line) for first, line in zip_longest(begins, lines, fillvalue=Text())),
    ]
