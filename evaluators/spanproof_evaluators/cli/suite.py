"""spanproof suite: the tasks that an agent is tried on."""

import click

from spanproof_evaluators.cli.suite_check import check
from spanproof_evaluators.cli.suite_example import example
from spanproof_evaluators.cli.suite_mine import mine
from spanproof_evaluators.cli.suite_results import results
from spanproof_evaluators.cli.suite_run import run
from spanproof_evaluators.cli.suite_schema import schema


@click.group("suite", short_help="Try an agent on the tasks of a suite, each in a fresh world.")
def command() -> None:
    """Suites: tasks with frozen start states, run as often as asked, and checks that judge what is there afterwards.

    Exit codes: 0 done or passed, 1 a check failed, 2 could not run, 3 inconclusive.
    """


for _one in (run, check, mine, example, results, schema):
    command.add_command(_one)
