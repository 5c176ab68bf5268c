"""spanproof evaluate: rules and verifiers over stored trials, their words into the store."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spanproof_evaluators.cli.options import (
    Unit,
    describe,
    filter_options,
    json_option,
    open_existing,
    read_filter,
    read_tools,
    read_verifiers,
    settling_options,
    split_suites,
    store_option,
    tools_option,
    unit_option,
    verifiers_option,
)
from spanproof_evaluators.cli.output import console, tell

if TYPE_CHECKING:
    from spanproof_collector.model.trials import Trial


@click.command("evaluate", short_help="Judge stored trials by rules and checks; store the verdicts.")
@store_option
@filter_options
@unit_option
@settling_options
@tools_option
@click.option("--include-unsettled", is_flag=True, help="Evaluate trials that may still go on, too.")
@verifiers_option
@json_option
def command(
    address: str,
    unit: Unit,
    settle_seconds: float,
    idle_seconds: float,
    tools_file: str | None,
    include_unsettled: bool,
    verifier_files: tuple[Path, ...],
    as_json: bool,
    suites: tuple[str, ...],
    **given: tuple[str, ...] | str | None,
) -> None:
    """Replay trials, apply rules and the checks of a suite, and store what they say.

    --suite takes a file that defines the suite, --verifiers one that attaches checks to trials of any kind. Without
    either, state changes that were recorded beside a session decide; what an earlier evaluation of the same evidence
    found, a replay say, stands.
    Trials that may still go on are left for later, and counted.

    Exit codes: 0 done, 2 could not run. What the gates say is 'spanproof report'.
    """
    from spanproof_collector.trials import Settling
    from spanproof_evaluators.errors import NoTrialsError
    from spanproof_evaluators.reports.wording import plural
    from spanproof_evaluators.runner import evaluate, report
    from spanproof_evaluators.runner.recorded_changes import RecordedChanges

    suite, labels = split_suites(suites)
    sources = read_verifiers(verifier_files)
    wanted = read_filter({**given, "suites": labels})
    settling = None if include_unsettled else Settling(settle_seconds=settle_seconds, idle_seconds=idle_seconds)
    left: list[Trial] = []
    kept: Counter[str] = Counter()
    catalogue = read_tools(tools_file)
    with open_existing(address) as store:
        found = list(
            evaluate(
                store,
                wanted,
                suite,
                sources=(*sources, RecordedChanges()),
                unit=unit,
                settling=settling,
                catalogue=catalogue,
                left=left.append,
                kept=lambda trial, sources: kept.update(sources),
            )
        )
    if not found and not left:
        raise NoTrialsError(describe(wanted))
    if left:
        tell(f"{plural(len(left), 'trial')} not settled yet, left for later: --settle, or --include-unsettled")
    for one in sources:
        for name in one.idle(assessment.trial for assessment in found):
            tell(f"verifier {name} fits none of these trials")
    for source, count in sorted(kept.items()):
        tell(f"{plural(count, 'outcome')} by {source} kept from an earlier evaluation of the same evidence")
    if as_json:
        from spanproof_evaluators.reports.machine import line, report_json

        told = report_json(report(found, suite, described=describe(wanted)))
        click.echo(line(told | {"left_for_later": len(left), "kept": {**kept}}))
        return
    from spanproof_evaluators.model.assessments import by_urgency
    from spanproof_evaluators.reports.terminal import print_trials

    print_trials(console(), by_urgency(found))
    tell(f"{plural(len(found), 'trial')} evaluated and stored. 'spanproof report' puts variants side by side.")
