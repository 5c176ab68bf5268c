"""The entry point of the command line: errors that are ours become one line and an exit code.

The one boundary at which every SpanproofError ends is ``main``.
"""

import os
import sys
from collections.abc import Sequence

import click

from spanproof_evaluators.cli.group import cli
from spanproof_instrumentation.errors import SpanproofError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code: 0 pass or done, 1 gate failed, 2 could not run, 3 inconclusive."""
    try:
        code = cli.main(args=arguments, prog_name="spanproof", standalone_mode=False)
    except SpanproofError as error:
        from spanproof_evaluators.reports.wording import clean

        click.echo(f"spanproof: {clean(str(error))}", err=True)
        return 2
    except BrokenPipeError:
        # Whoever read has enough; what is still buffered must not fail at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except click.ClickException as error:
        error.show()
        return 2
    except click.Abort:
        click.echo("spanproof: stopped", err=True)
        return 2
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    sys.exit(main())
