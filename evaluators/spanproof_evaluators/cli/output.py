"""Output: results to standard output, everything else to standard error."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console


def console() -> "Console":
    """Return a console on standard output that colors only where a terminal reads."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, soft_wrap=False)


def tell(text: str) -> None:
    """Say something beside the result."""
    click.echo(text, err=True)
