"""A comparison in the terminal: the verdict, the difference with its error, and what else differs."""

from collections.abc import Mapping
from typing import Final

from rich.console import Console
from rich.text import Text

from spanproof_evaluators.model.comparisons import Compared, Comparison, Word
from spanproof_evaluators.reports.terminal._layout import print_block, print_heading, print_line, print_text, words
from spanproof_evaluators.reports.wording import plural, quantity, ratio

_STYLES: Final[Mapping[Word, str]] = {
    "improved": "bold green",
    "non_inferior": "bold green",
    "inconclusive": "bold yellow",
    "regressed": "bold red",
}
_SAYS: Final[Mapping[Word, str]] = {
    "improved": "its solve rate rose beyond chance",
    "non_inferior": "a drop beyond the margin is ruled out",
    "inconclusive": "a drop beyond the margin is neither shown nor ruled out",
    "regressed": "it fell beyond chance",
}
_NAME: Final = 22


def print_comparison(console: Console, found: Comparison) -> None:
    """Print a comparison."""
    title = f"{plural(found.tasks, 'task')}, {plural(found.trials, 'trial')} each"
    print_text(console, Text.assemble(words(found.b, "bold"), " against ", words(found.a, "bold"), f": {title}"))
    said = Text(found.verdict.replace("_", "-").upper(), style=_STYLES[found.verdict])
    print_text(console, Text.assemble(said, f": {_SAYS[found.verdict]} (margin {found.margin * 100:g} points)"))
    if found.solve_rate.reason:
        print_text(console, Text(f"because {found.solve_rate.reason}", style="yellow"))
    if len(found.differing) > 1:
        print_text(
            console,
            Text(
                f"They differ in {len(found.differing)} labels, so the difference is of all of them together.",
                style="yellow",
            ),
        )
    print_heading(console, "Solve rate", "mean over tasks; difference b - a with 95 % interval")
    _row(console, found.solve_rate)
    if found.categories:
        print_heading(console, "By category", "p after Holm; a fall beyond chance is a veto")
        for one in found.categories:
            _row(console, one)
    print_heading(console, "What explains", "lower is better; decides nothing")
    for one in found.beside:
        _row(console, one, change="rise")
    if found.differing:
        print_heading(console, "What differs")
        for key, (old, new) in found.differing.items():
            told = words(f"{', '.join(old) or 'none'} -> {', '.join(new) or 'none'}", "", 300)
            print_block(console, [words(key)], [told], indent=_NAME)
    print_line(console, Text())


def _row(console: Console, one: Compared, change: str = "drop") -> None:
    """Print one measure of both; a change for the worse is a drop of some and a rise of others."""
    name = words(one.name.replace("_", " "))
    if one.difference is None:
        print_block(console, [name], [Text(f"unavailable: {one.reason}", style="yellow")], indent=_NAME)
        return
    large = max(abs(one.a or 0), abs(one.b or 0)) >= 10
    show = _amount if large else ratio
    chunks = [Text(f"{show(one.a)} -> {show(one.b)}"), Text(_signed(one.difference, large), style="bold")]
    if one.interval:
        chunks.append(Text(f"[{', '.join(_signed(end, large) for end in one.interval)}]"))
    chunks.append(Text(f"{one.worse} worse, {one.better} better of {plural(one.tasks, 'task')}", style="dim"))
    p = one.p_adjusted if one.p_adjusted is not None else one.p_value
    if p is not None:
        chunks.append(Text(f"p {p:.3f} ({'Holm' if one.p_adjusted is not None else one.p_method})", style="dim"))
    if one.verdict == "regressed":
        chunks.append(Text("FELL", style="bold red"))
    if one.mde:
        chunks.append(Text(f"finds a {change} of {one.mde:.3f} in 80 of 100", style="dim"))
    gaps = [(one.unavailable, "task without a value", "tasks without a value")]
    gaps += [(one.trials_without, "trial without one", "trials without one")]
    gaps += [(one.trials_left_out, "trial left out", "trials left out")]
    chunks += [Text(plural(count, *called), style="yellow") for count, *called in gaps if count]
    print_block(console, [name], chunks, indent=_NAME)


def _amount(number: float | None) -> str:
    return "unavailable" if number is None else quantity(number)


def _signed(number: float, large: bool) -> str:
    """Return a difference with its sign: of rates with three places, of larger amounts with three digits."""
    return f"{'-' if number < 0 else '+'}{quantity(abs(number))}" if large else f"{number:+.3f}"
