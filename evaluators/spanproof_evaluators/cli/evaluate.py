"""spanproof evaluate: rules and verifiers over stored trials, their words into the store."""

import click

from spanproof_evaluators.cli.options import (
    Unit,
    describe,
    filter_options,
    json_option,
    open_existing,
    read_filter,
    split_suites,
    store_option,
    unit_option,
)
from spanproof_evaluators.cli.output import console, tell


@click.command("evaluate", short_help="Judge stored trials by rules and checks; store the verdicts.")
@store_option
@filter_options
@unit_option
@json_option
def command(
    address: str, unit: Unit, as_json: bool, suites: tuple[str, ...], **given: tuple[str, ...] | str | None
) -> None:
    """Replay trials, apply rules and the checks of a suite, and store what they say.

    --suite takes a file that defines the suite. Without one there is no verifier, and every outcome is unavailable.

    Exit codes: 0 done, 2 could not run. What the gates say is 'spanproof report'.
    """
    from spanproof_evaluators.errors import NoTrialsError
    from spanproof_evaluators.runner import evaluate, report

    suite, labels = split_suites(suites)
    wanted = read_filter({**given, "suites": labels})
    with open_existing(address) as store:
        found = list(evaluate(store, wanted, suite, unit=unit))
    if not found:
        raise NoTrialsError(describe(wanted))
    if as_json:
        from spanproof_evaluators.reports.machine import line, report_json

        click.echo(line(report_json(report(found, suite, described=describe(wanted)))))
        return
    from spanproof_evaluators.model.assessments import by_urgency
    from spanproof_evaluators.reports.terminal import print_trials
    from spanproof_evaluators.reports.wording import plural

    print_trials(console(), by_urgency(found))
    tell(f"{plural(len(found), 'trial')} evaluated and stored. 'spanproof report' puts variants side by side.")
