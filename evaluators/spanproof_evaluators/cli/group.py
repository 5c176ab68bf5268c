"""The command line: commands by name, each loaded only when it is asked for."""

from importlib import import_module
from typing import Final

import click

COMMANDS: Final = (
    "demo",
    "serve",
    "doctor",
    "token",
    "run",
    "import",
    "trials",
    "show",
    "evaluate",
    "rules",
    "verifiers",
    "suite",
    "journal",
    "replay",
    "report",
    "verify-report",
    "effects",
    "compare",
    "gate",
    "baseline",
    "judge",
    "publish",
    "reindex",
    "export",
    "delete",
    "retention",
    "dead-letters",
)
"""Each is a module of this folder with a click command called ``command``; ``import`` lies in ``import_.py``,
a dash is an underscore."""


class CommandGroup(click.Group):
    """Loads a command's module when the command runs, so that help and small commands start at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which they are met."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, ``None`` where there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_") + ("_" if cmd_name == "import" else "")
        module = import_module(f"spanproof_evaluators.cli.{name}")
        command = module.command
        if not isinstance(command, click.Command):
            raise TypeError(f"{module.__name__}.command is no click command")
        return command


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done or passed, 1 a gate failed, 2 could not run, 3 inconclusive; of 'run' the agent's own.",
)
@click.version_option(package_name="spanproof")
def cli() -> None:
    """Was the agent's task done, and what proves it?"""
