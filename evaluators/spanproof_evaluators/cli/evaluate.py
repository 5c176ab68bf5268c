"""spanproof evaluate: rules and verifiers over stored trials, their words into the store."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from spanproof_evaluators.cli.options import (
    Unit,
    calibrations_option,
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
    trusted,
    unit_option,
    verifiers_option,
)
from spanproof_evaluators.cli.output import console, tell

if TYPE_CHECKING:
    from spanproof_evaluators.harness.verdicts import RunVerdicts
    from spanproof_evaluators.model.assessments import Assessment
    from spanproof_evaluators.model.suites import Suite

LISTED: Final = 200
"""Trials that the terminal lists."""


@click.command("evaluate", short_help="Judge stored trials by rules and checks; store the verdicts.")
@store_option
@filter_options
@unit_option
@settling_options
@tools_option
@calibrations_option
@click.option("--include-unsettled", is_flag=True, help="Evaluate trials that may still go on, too.")
@verifiers_option
@click.option(
    "--verdicts",
    "journals",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="The journal of a run of the suite: its verdicts, where trials were imported. Repeatable.",
)
@json_option
def command(
    address: str,
    unit: Unit,
    settle_seconds: float,
    idle_seconds: float,
    tools_file: str | None,
    calibrations_path: Path,
    include_unsettled: bool,
    verifier_files: tuple[Path, ...],
    journals: tuple[Path, ...],
    as_json: bool,
    suites: tuple[str, ...],
    **given: tuple[str, ...] | str | None,
) -> None:
    """Replay trials, apply rules and the checks of a suite, and store what they say.

    --suite takes a file that defines the suite, --verifiers one that attaches checks to trials of any kind. Without
    either, state changes that were recorded beside a session decide; what an earlier evaluation of the same evidence
    found, a replay say, stands.
    Trials that may still go on are left for later, and counted. However many trials there are, memory holds some
    hundred at a time; with --json, which tells every trial, it holds all.

    Exit codes: 0 done, 2 could not run. What the gates say is 'spanproof report'.
    """
    from spanproof_collector.trials import Settling
    from spanproof_evaluators.errors import NoTrialsError
    from spanproof_evaluators.reports.wording import plural
    from spanproof_evaluators.runner import evaluate
    from spanproof_evaluators.runner.recorded_changes import RecordedChanges

    suite, labels = split_suites(suites)
    sources = read_verifiers(verifier_files)
    verdicts = _verdicts(journals, suite)
    wanted = read_filter({**given, "suites": labels})
    settling = None if include_unsettled else Settling(settle_seconds=settle_seconds, idle_seconds=idle_seconds)
    left: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    catalogue = read_tools(tools_file)
    # as many as are told: a store holds more trials than memory does
    found = Everything() if as_json else MostUrgent()
    idle = {name: None for one in sources for name in one.idle(())}
    with open_existing(address) as store:
        for assessment in evaluate(
            store,
            wanted,
            suite,
            sources=(*sources, *verdicts, RecordedChanges()),
            unit=unit,
            settling=settling,
            catalogue=catalogue,
            left=lambda trial: left.update(["trials"]),
            kept=lambda trial, sources: kept.update(sources),
        ):
            found.add(assessment)
            if idle:
                unfit = {name for one in sources for name in one.idle([assessment.trial])}
                idle = {name: None for name in idle if name in unfit}
    later = left["trials"]
    if not found.count and not later:
        raise NoTrialsError(describe(wanted))
    if later:
        tell(f"{plural(later, 'trial')} not settled yet, left for later: --settle, or --include-unsettled")
    for name in idle:
        tell(f"verifier {name} fits none of these trials")
    for source, count in sorted(kept.items()):
        tell(f"{plural(count, 'outcome')} by {source} kept from an earlier evaluation of the same evidence")
    if as_json:
        from spanproof_evaluators.model.calibrations import read_calibrations
        from spanproof_evaluators.reports.machine import line, report_json
        from spanproof_evaluators.runner import report

        known = read_calibrations(calibrations_path)
        made = report(found.assessments, suite, described=describe(wanted), calibrations=known)
        told = report_json(trusted(made, address, labels))
        click.echo(line(told | {"left_for_later": later, "kept": {**kept}}))
        return
    from spanproof_evaluators.reports.terminal import print_trials

    print_trials(console(), found.assessments, marked=found.marked, total=found.count)
    if found.count > len(found.assessments):
        tell(f"the {len(found.assessments)} most urgent are listed; 'spanproof trials' lists every one")
    tell(f"{plural(found.count, 'trial')} evaluated and stored. 'spanproof report' puts variants side by side.")


def _verdicts(journals: tuple[Path, ...], suite: "Suite | None") -> "list[RunVerdicts]":
    from spanproof_evaluators.harness.journal import RunError
    from spanproof_evaluators.harness.verdicts import RunVerdicts

    if journals and suite is None:
        raise RunError("--verdicts needs the suite that they are by: --suite FILE")
    return [RunVerdicts.read(path, suite) for path in journals if suite is not None]


class Everything:
    """Keeps every trial: what JSON tells."""

    def __init__(self) -> None:
        self.count = 0
        self.marked: Counter[str] = Counter()
        self._kept: list[Assessment] = []

    @property
    def assessments(self) -> "list[Assessment]":
        """The trials that are kept."""
        return self._kept

    def add(self, one: "Assessment") -> None:
        """Take a trial."""
        from spanproof_evaluators.reports.wording import marks

        self.count += 1
        self.marked.update(marks(one))
        self._kept.append(one)


class MostUrgent(Everything):
    """Keeps the trials that the terminal lists, and counts the others."""

    @property
    def assessments(self) -> "list[Assessment]":
        """The most urgent trials, the most urgent first."""
        from spanproof_evaluators.model.assessments import by_urgency

        return by_urgency(self._kept)[:LISTED]

    def add(self, one: "Assessment") -> None:
        """Take a trial; let go of those that so many others come before."""
        super().add(one)
        if len(self._kept) >= 2 * LISTED:
            self._kept = self.assessments
