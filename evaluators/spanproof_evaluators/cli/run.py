"""``spanproof run``: passes everything through to the agent side, whose command it is."""

import click

from spanproof_instrumentation.run import main


@click.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    short_help="Run an agent without a change to it, and record what it does.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> int:
    """Run an agent without a change to it, and record what it does."""
    return main(arguments)
