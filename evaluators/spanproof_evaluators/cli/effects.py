"""spanproof effects: what tools change, proposed from stored traces for a person to confirm."""

from collections.abc import Iterator
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
    store_option,
    tools_option,
    unit_option,
)
from spanproof_evaluators.cli.output import tell

if TYPE_CHECKING:
    from spanproof_collector.model.trials import Trial


@click.group("effects", short_help="Propose what tools change, for a person to confirm.")
def command() -> None:
    """Propose what tools change, for a person to confirm.

    Exit codes: 0 done, 2 could not run.
    """


@command.command("classify")
@store_option
@filter_options
@unit_option
@tools_option
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the catalogue into this file.")
@json_option
def classify(
    address: str,
    unit: Unit,
    tools_file: str | None,
    out: Path | None,
    as_json: bool,
    **given: tuple[str, ...] | str | None,
) -> None:
    """Propose a catalogue of the tools that trials called: YAML for a person to read, correct and confirm.

    Entries that --tools names, and those of a file that --out would write over, stay as they are; new ones say
    'confirmed: false' and count for nothing until somebody takes that out. The same file is then given to the other
    commands with --tools or SPANPROOF_TOOLS.
    """
    from spanproof_collector.model.tool_catalogue import ToolCatalogue
    from spanproof_collector.trials import read_trials
    from spanproof_evaluators.errors import EvaluatorError, NoTrialsError
    from spanproof_evaluators.reports.catalogue import catalogue_yaml, entry_json, seen_json
    from spanproof_evaluators.reports.machine import line
    from spanproof_evaluators.reports.wording import plural
    from spanproof_evaluators.runner.classifying import proposed_catalogue, seen_tools

    existing = read_tools(tools_file)
    if out is not None and out.exists():
        there = read_tools(str(out))
        named = {entry.name for entry in existing.tools}
        more = tuple(entry for entry in there.tools if entry.name not in named)
        existing = ToolCatalogue(tools=(*existing.tools, *more))
    wanted = read_filter(given)
    count = 0
    with open_existing(address) as store:

        def counted() -> "Iterator[Trial]":
            nonlocal count
            for trial in read_trials(store, wanted, unit=unit):
                count += 1
                yield trial

        seen = seen_tools(counted(), existing)
    if not count:
        raise NoTrialsError(describe(wanted))
    made = proposed_catalogue(seen, existing)
    written = catalogue_yaml(made, seen)
    if out is not None:
        beside = out.with_name(out.name + ".new")
        try:
            beside.write_text(written, encoding="utf-8")
            beside.replace(out)
        except OSError as error:
            raise EvaluatorError(f"{out} cannot be written: {error.strerror}") from error
    if as_json:
        click.echo(
            line(
                {
                    "trials": count,
                    "tools": [seen_json(tool) for tool in seen],
                    "catalogue": {"version": made.version, "tools": [entry_json(entry) for entry in made.tools]},
                }
            )
        )
    elif out is None:
        click.echo(written, nl=False)
    new = len(made.tools) - len(existing.tools)
    blank = sum(not entry.confirmed and entry.effect_class is None for entry in made.tools)
    where = f" in {out}" if out is not None else ""
    tell(
        f"{plural(len(seen), 'tool')} in {plural(count, 'trial')}: {plural(new, 'new entry', 'new entries')} to confirm"
        f"{where}, {blank} to fill in"
    )
