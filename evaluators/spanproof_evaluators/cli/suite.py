"""spanproof suite: the tasks that an agent is tried on."""

import click

from spanproof_evaluators.cli.suite_run import run


@click.group("suite", short_help="Try an agent on the tasks of a suite, each in a fresh world.")
def command() -> None:
    """Suites: tasks with frozen start states, run as often as asked, and checks that judge what is there afterwards."""


command.add_command(run)
