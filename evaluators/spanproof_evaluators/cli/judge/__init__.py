"""spanproof judge: models that answer closed questions about an answer, and how far they can be believed."""

import click

from spanproof_evaluators.cli.judge import calibrate, label, rubrics, run


@click.group("judge", short_help="Ask models closed questions about answers, and measure them.")
def command() -> None:
    """Judges: a model sees task, source and answer, never how the answer came about, and answers yes or no.

    What a judge says stands beside the other results. It decides no outcome and opens no gate.

    Exit codes: 0 done, 2 could not run, 3 inconclusive.
    """


command.add_command(run.command)
command.add_command(label.command)
command.add_command(calibrate.command)
command.add_command(rubrics.command)
