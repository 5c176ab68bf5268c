"""spanproof baseline: what a variant did, saved under a name."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import click

from spanproof_evaluators.cli.options import (
    Unit,
    describe,
    filter_options,
    json_option,
    open_existing,
    read_filter,
    read_tools,
    split_suites,
    store_option,
    tools_option,
    unit_option,
)
from spanproof_evaluators.cli.output import tell

_folder = click.option(
    "--baselines",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".spanproof-baselines"),
    show_default=True,
    help="The folder of saved baselines; it may lie in the repository.",
)


@click.group("baseline", short_help="Save what a variant did, to compare later ones with.")
def command() -> None:
    """Save, list and remove baselines: files without content, that 'spanproof gate --baseline NAME' compares with.

    Exit codes: 0 done, 2 could not run.
    """


@command.command("save")
@click.argument("name")
@click.option("--replace", is_flag=True, help="Write over the one of that name.")
@_folder
@store_option
@filter_options
@unit_option
@tools_option
def save(
    name: str,
    replace: bool,
    folder: Path,
    address: str,
    unit: Unit,
    tools_file: str | None,
    suites: tuple[str, ...],
    **given: tuple[str, ...] | str | None,
) -> None:
    """Save the trials of one variant as 'spanproof evaluate' judged them.

    It is the one that --variant names, or the only one there.
    """
    from spanproof_collector.model.filters import UNNAMED
    from spanproof_evaluators.errors import FilterError, NoTrialsError
    from spanproof_evaluators.model.baselines import Baseline, save_baseline
    from spanproof_evaluators.runner import assess, observed, report

    suite, labels = split_suites(suites)
    wanted = read_filter({**given, "suites": labels})
    catalogue = read_tools(tools_file)
    with open_existing(address) as store:
        found = list(assess(store, wanted, suite, unit=unit, catalogue=catalogue))
    if not found:
        raise NoTrialsError(describe(wanted))
    variants = sorted({one.trial.variant or UNNAMED for one in found})
    if len(variants) != 1:
        raise FilterError(f"a baseline is one variant: name it with --variant. There are: {', '.join(variants)}")
    made = Baseline.model_validate(
        {
            "name": name,
            "variant": variants[0],
            "saved_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "suite": suite.id if suite else None,
            "suite_hash": suite.hash if suite else None,
            "certificate": report(found, suite, described=describe(wanted)).certificate,
            "trials": [asdict(observed(one)) for one in found],
        }
    )
    path = save_baseline(folder, made, replace=replace)
    tell(f"saved {len(found)} trials of {variants[0]} as {path}")


@command.command("list")
@_folder
@json_option
def list_(folder: Path, as_json: bool) -> None:
    """List the saved baselines."""
    from spanproof_evaluators.model.baselines import names, read_baseline
    from spanproof_evaluators.reports.machine import line
    from spanproof_evaluators.reports.wording import one_line, plural

    for name in names(folder):
        one = read_baseline(folder, name)
        tasks = len({trial.task_id for trial in one.trials})
        if as_json:
            told = {"name": one.name, "variant": one.variant, "saved_at": one.saved_at, "suite": one.suite}
            click.echo(line({**told, "trials": len(one.trials), "tasks": tasks, "certificate": one.certificate}))
        else:
            size = f"{plural(len(one.trials), 'trial')} of {plural(tasks, 'task')}"
            click.echo(f"{name}  {one_line(one.variant)}  {size}  {one.saved_at}  {one.certificate[:12]}")


@command.command("remove")
@click.argument("name")
@_folder
def remove(name: str, folder: Path) -> None:
    """Remove a saved baseline."""
    from spanproof_evaluators.model.baselines import path_of, read_baseline

    read_baseline(folder, name)
    path_of(folder, name).unlink()
    tell(f"removed {name}")
