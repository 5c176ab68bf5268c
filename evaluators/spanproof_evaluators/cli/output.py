"""Output: results to standard output, everything else to standard error."""

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from rich.console import Console

WIDTH_OF_A_PIPE: Final = 160
"""Where nobody watches and COLUMNS does not say how wide lines are."""


def console() -> "Console":
    """Return a console on standard output that colors only where a terminal reads.

    What the output's encoding cannot hold is written as an escape: text of a trace can be in any script.
    """
    from rich.console import Console

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    told = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=False, width=None if told else WIDTH_OF_A_PIPE)


def tell(text: str) -> None:
    """Say something beside the result."""
    click.echo(text, err=True)


@contextlib.contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on standard error while the block runs, where a terminal is there; give what is told of progress."""
    if not sys.stderr.isatty():
        yield lambda done, of: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, of: shown.update(task, completed=done, total=of)
