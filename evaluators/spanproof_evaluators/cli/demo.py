"""spanproof demo: a small world, a careful and a fast agent, the whole loop, a report."""

from pathlib import Path

import click

from spanproof_evaluators.cli.output import console, tell


@click.command("demo", short_help="A small shop, two agents, the whole loop, a report.")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    help="Where worlds, store and report go; made anew each time.  [default: .spanproof-demo]",
)
@click.option("--json", "as_json", is_flag=True, help="The report as JSON on standard output.")
def command(folder: Path | None, as_json: bool) -> None:
    """Run two agents on a small shop, judge them by what is in its database and mailbox, and report.

    Needs no key, no account and no network.

    Exit codes: 0 done (that one agent fails its gate is the point), 2 could not run.
    """
    from spanproof_evaluators.demo.run import FOLDER, run_demo

    made = run_demo(Path(FOLDER) if folder is None else folder, on_step=tell)
    if as_json:
        from spanproof_evaluators.reports.machine import line, report_json

        click.echo(line(report_json(made.report)))
    else:
        from spanproof_evaluators.reports.terminal import print_report

        print_report(console(), made.report)
    tell("")
    tell(f"{made.verdict} Done in {made.seconds:.1f} s.")
    tell(f"In a browser: {made.html}")
    tell("Next:")
    for next_command in made.next_commands:
        tell(f"  {next_command}")
