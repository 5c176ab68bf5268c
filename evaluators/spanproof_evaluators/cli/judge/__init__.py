"""spanproof judge: models that answer closed questions about an answer, and how far they can be believed."""

from importlib import import_module
from typing import Final

import click

COMMANDS: Final = ("run", "rubrics")
"""Each is a module of this folder with a click command called ``command``."""


class JudgeGroup(click.Group):
    """Loads a command's module when the command runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which they are met."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, ``None`` where there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"{__name__}.{cmd_name}").command
        if not isinstance(command, click.Command):
            raise TypeError(f"{__name__}.{cmd_name}.command is no click command")
        return command


@click.group("judge", cls=JudgeGroup, short_help="Ask models closed questions about answers, and measure them.")
def command() -> None:
    """Judges: a model sees task, source and answer, never how the answer came about, and answers yes or no.

    What a judge says stands beside the other results. It decides no outcome and opens no gate.

    Exit codes: 0 done, 2 could not run, 3 inconclusive.
    """
