"""spanproof suite check: is it a set whose numbers mean something, and can its checks fail?"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from spanproof_evaluators.cli.options import json_option, store_option
from spanproof_evaluators.cli.output import tell

if TYPE_CHECKING:
    from spanproof_evaluators.model.canonical import Plain
    from spanproof_evaluators.model.suite_findings import SuiteFinding
    from spanproof_evaluators.model.trust_cards import TaskTrust

_SHOWN: Final = 8


@click.command("check", short_help="Check a suite itself; with --run, whether its checks can fail.")
@click.argument("file", metavar="SUITE", type=click.Path(path_type=Path))
@click.option(
    "--run",
    "tried",
    is_flag=True,
    help="Try every task's checks on agents and worlds that must not pass, and on one that must.",
)
@click.option(
    "--task",
    "tasks",
    multiple=True,
    metavar="TASK",
    help="With --run: only this task, and no card is kept. Repeatable.",
)
@click.option("-j", "--jobs", type=click.IntRange(1, 64), default=2, show_default=True, help="Tasks at a time.")
@click.option(
    "--mutants", type=click.IntRange(0, 1000), default=8, show_default=True, help="Altered end states a task, at most."
)
@click.option(
    "--baselines",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".spanproof-baselines"),
    show_default=True,
    help="The folder of saved baselines.",
)
@click.option(
    "--calibrations",
    type=click.Path(path_type=Path),
    default=Path(".spanproof-judge/calibrations"),
    show_default=True,
    help="The folder of calibrations of judges, or one of them.",
)
@click.option(
    "--similar",
    type=click.FloatRange(0.1, 1.0),
    default=0.8,
    show_default=True,
    help="Prompts are near duplicates from this similarity on.",
)
@store_option
@json_option
def check(
    file: Path,
    tried: bool,
    tasks: tuple[str, ...],
    jobs: int,
    mutants: int,
    baselines: Path,
    calibrations: Path,
    similar: float,
    address: str,
    as_json: bool,
) -> int:
    """Check SUITE itself: size, shares, refusals, runs, origins, duplicates, power, baseline, judges.

    With --run every task's checks are tried: by an agent that does nothing, one that prints all it can see, one that
    tampers, the reference solution, altered end states of it, and a variant that nobody can solve. What comes of it is
    the suite's trust card, kept beside the store and shown by 'spanproof report'.

    Exit codes: 0 no failure (there may be warnings), 1 a failure, 2 could not run.
    """
    from spanproof_evaluators.model.suite_findings import failed
    from spanproof_evaluators.runner.python_suites import open_suite
    from spanproof_evaluators.runner.suite_checks import check_suite

    opened = open_suite(file)
    findings = check_suite(opened, baselines=baselines, calibrations=calibrations, similar=similar)
    card = None
    if tried:
        from spanproof_evaluators.harness.trust import try_suite
        from spanproof_evaluators.model.trust_cards import folder_of, save_card
        from spanproof_evaluators.runner.suite_checks.trust import of_card

        card = try_suite(opened, tasks=tasks, mutants=mutants, jobs=jobs, told=_told)
        findings += of_card(card)
        if not tasks:
            tell(f"wrote {save_card(folder_of(address), card)}")
    if as_json:
        from spanproof_evaluators.model.canonical import plain
        from spanproof_evaluators.reports.machine import line
        from spanproof_evaluators.reports.trust import card_json

        told: dict[str, Plain] = {
            "suite": {"id": opened.suite.id, "hash": opened.suite.hash},
            "tasks": len(opened.suite.tasks),
            "decision": "fail" if failed(findings) else "pass",
            "findings": plain(findings),
            "trust_card": None if card is None else card_json(card),
        }
        click.echo(line(told))
    else:
        _print(findings)
        if card is not None:
            from spanproof_evaluators.cli.output import console
            from spanproof_evaluators.reports.trust import print_card

            print_card(console(), card)
        counts = [f"{sum(one.level == level for one in findings)} {level}s" for level in ("failure", "warning")]
        tell(f"{opened.suite.id}: {len(opened.suite.tasks)} tasks, {', '.join(counts)}")
    return 1 if failed(findings) else 0


def _told(trust: "TaskTrust") -> None:
    from spanproof_evaluators.reports.wording import clean

    tell(clean(f"{trust.task}: {'; '.join(trust.problems) or 'no problem seen'}"))


def _print(findings: "Iterable[SuiteFinding]") -> None:
    from spanproof_evaluators.reports.wording import clean

    for one in findings:
        click.echo(f"{one.level.upper() if one.level == 'failure' else one.level:<8} {clean(one.says)}")
        if one.tasks and one.level in ("warning", "failure"):
            more = f" and {len(one.tasks) - _SHOWN} more" if len(one.tasks) > _SHOWN else ""
            click.echo(f"{'':<8}   {clean(', '.join(one.tasks[:_SHOWN]))}{more}")
