"""spanproof suite mine: recorded trials as drafts of tasks."""

from pathlib import Path

import click

from spanproof_evaluators.cli.options import (
    describe,
    filter_options,
    json_option,
    open_existing,
    read_filter,
    split_suites,
    store_option,
)
from spanproof_evaluators.cli.output import tell


@click.command("mine", short_help="Recorded trials as drafts of tasks, failures included.")
@click.option("-n", "--most", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Drafts, at most.")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write there; else to standard output."
)
@click.option("--beside", type=click.Path(path_type=Path), help="A suite whose tasks are not to be found again.")
@click.option(
    "--similar",
    type=click.FloatRange(0.1, 1.0),
    default=0.8,
    show_default=True,
    help="Prompts are one from this similarity on.",
)
@click.option("--id", "suite_id", default="mined", show_default=True, help="The id of the suite of drafts.")
@store_option
@filter_options
@json_option
def mine(
    most: int,
    output: Path | None,
    beside: Path | None,
    similar: float,
    suite_id: str,
    address: str,
    as_json: bool,
    suites: tuple[str, ...],
    **given: tuple[str, ...] | str | None,
) -> None:
    """Take candidates for tasks from recorded trials: from every stratum by turns, those that went wrong first.

    Strata are what became of a trial, the agent, and whether it changed things. Personal data is taken out by rule.
    Answers are left behind: what is right is for a person to write, and the file loads nowhere before that.

    Exit codes: 0 done, 2 could not run.
    """
    from spanproof_evaluators.errors import EvaluatorError, NoTrialsError
    from spanproof_evaluators.reports.drafts import drafts_yaml
    from spanproof_evaluators.reports.machine import line
    from spanproof_evaluators.reports.wording import clean
    from spanproof_evaluators.runner import assess
    from spanproof_evaluators.runner.mining import candidates
    from spanproof_evaluators.runner.python_suites import open_suite

    suite, labels = split_suites(suites)
    known = [task.prompt for task in open_suite(beside).suite.tasks] if beside is not None else []
    wanted = read_filter({**given, "suites": labels})
    with open_existing(address) as store:
        found = assess(store, wanted, suite)
        mined = candidates.mine(found, most=most, similar=similar, known=known)
    if not mined.candidates:
        if not mined.left:
            raise NoTrialsError(describe(wanted))
        why = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in mined.left.items())
        raise EvaluatorError(f"no trial can be made a task of: {why}. Prompts are recorded where content is captured")
    whole = candidates.drafts(mined)
    told = drafts_yaml(whole, suite_id=suite_id)
    if output is not None:
        try:
            output.write_text(told, encoding="utf-8")
        except OSError as error:
            raise EvaluatorError(f"{output} cannot be written: {error.strerror}") from error
        tell(f"wrote {output}")
    if as_json:
        click.echo(
            line({"suite": {"id": suite_id, "tasks": [*whole]}, "strata": {**mined.strata}, "left": {**mined.left}})
        )
    elif output is None:
        click.echo(told, nl=False)
    chosen = [one.stratum for one in mined.candidates]
    for name, count in mined.strata.items():
        tell(clean(f"{name}: {chosen.count(name)} of {count}"))
    for reason, count in mined.left.items():
        tell(f"left out: {count} {reason.replace('_', ' ')}")
