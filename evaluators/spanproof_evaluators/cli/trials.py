"""spanproof trials: the trials that there are, the most urgent first."""

import click

from spanproof_evaluators.cli.options import (
    Unit,
    describe,
    filter_options,
    json_option,
    open_existing,
    read_filter,
    read_tools,
    settling_options,
    store_option,
    tools_option,
    unit_option,
)
from spanproof_evaluators.cli.output import console, tell


@click.command("trials", short_help="List trials, the most urgent first.")
@store_option
@filter_options
@unit_option
@settling_options
@tools_option
@click.option("--settled/--unsettled", "only", default=None, help="Only trials that are settled, or that are not.")
@json_option
def command(
    address: str,
    unit: Unit,
    settle_seconds: float,
    idle_seconds: float,
    tools_file: str | None,
    only: bool | None,
    as_json: bool,
    **given: tuple[str, ...] | str | None,
) -> None:
    """List trials: false successes, unknown effects, unproven claims, the rest; then the newest first.

    Filters can be repeated: of one option any value fits, of different options all must. Verdicts are those that
    'spanproof evaluate' stored. With --json one object a line.

    Exit codes: 0 done, 2 could not run.
    """
    from spanproof_collector.trials import Settling
    from spanproof_evaluators.model.assessments import by_urgency
    from spanproof_evaluators.reports.machine import line, trial_json
    from spanproof_evaluators.runner import assess

    wanted = read_filter(given)
    settling = Settling(settle_seconds=settle_seconds, idle_seconds=idle_seconds)
    catalogue = read_tools(tools_file)
    with open_existing(address) as store:
        every = assess(store, wanted, unit=unit, settling=settling, catalogue=catalogue)
        found = by_urgency(one for one in every if only in (None, one.settled))
    if as_json:
        for one in found:
            click.echo(line(trial_json(one)))
        return
    if not found:
        tell(f"no trial matches {describe(wanted)}" if describe(wanted) else "the store holds no trial")
        return
    from spanproof_evaluators.reports.terminal import print_trials

    print_trials(console(), found)
