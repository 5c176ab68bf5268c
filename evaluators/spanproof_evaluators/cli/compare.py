"""spanproof compare: one variant against another, paired by task."""

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
    split_suites,
    store_option,
    tools_option,
    unit_option,
)
from spanproof_evaluators.cli.output import console

INCONCLUSIVE = 3


@click.command("compare", short_help="One variant against another, paired by task.")
@click.argument("baseline", metavar="A")
@click.argument("candidate", metavar="B")
@store_option
@filter_options
@unit_option
@tools_option
@settling_options
@click.option(
    "--margin",
    type=click.FloatRange(min=0, max=100),
    default=5.0,
    show_default=True,
    metavar="POINTS",
    help="The drop of the solve rate that is accepted, in percentage points.",
)
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    baseline: str,
    candidate: str,
    address: str,
    unit: Unit,
    tools_file: str | None,
    settle_seconds: float,
    idle_seconds: float,
    margin: float,
    as_json: bool,
    suites: tuple[str, ...],
    **given: tuple[str, ...] | str | None,
) -> None:
    """Compare variant B with variant A, from what 'spanproof evaluate' stored.

    Both must have tried the same tasks as often each; else the comparison is refused and says where they differ.
    The difference is the mean over tasks; a category that fell is a veto after Holm's correction.

    Exit codes: 0 improved or not worse than the margin, 1 regressed, 2 could not run, 3 inconclusive.
    """
    from spanproof_collector.model.filters import UNNAMED
    from spanproof_collector.trials import Settling
    from spanproof_evaluators.errors import FilterError
    from spanproof_evaluators.runner import assess, compare, observed

    if given.get("variants"):
        raise FilterError("compare takes its variants as A and B; leave --variant out")
    suite, labels = split_suites(suites)
    settling = Settling(settle_seconds=settle_seconds, idle_seconds=idle_seconds)
    wanted = read_filter({**given, "suites": labels, "variants": (baseline, candidate)})
    catalogue = read_tools(tools_file)
    with open_existing(address) as store:
        # of each trial only what is compared is kept: a store holds more trials than memory does
        found = [
            (one.trial.variant or UNNAMED, observed(one))
            for one in assess(store, wanted, suite, unit=unit, settling=settling, catalogue=catalogue)
        ]
    a, b = ([seen for variant, seen in found if variant == name] for name in (baseline, candidate))
    made = compare(a, b, names=(baseline, candidate), margin=margin / 100)
    if as_json:
        from spanproof_evaluators.reports.machine import line

        click.echo(line(made.to_json() | {"filter": describe(wanted)}))
    else:
        from spanproof_evaluators.reports.terminal import print_comparison

        print_comparison(console(), made)
    context.exit({"regressed": 1, "inconclusive": INCONCLUSIVE}.get(made.verdict, 0))
