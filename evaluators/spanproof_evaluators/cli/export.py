"""spanproof export: trials into a file that import reads back."""

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
    store_option,
    unit_option,
)
from spanproof_evaluators.cli.output import progress_bar, tell

if TYPE_CHECKING:
    from spanproof_collector.exporters import Format


@click.command("export", short_help="Write trials into a file that import reads back.")
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path))
@store_option
@filter_options
@unit_option
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["otlp", "parquet"]),
    help="OTLP JSON lines or Parquet.  [default: by the name of the file: .jsonl, .jsonl.gz, .parquet]",
)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@json_option
def command(
    path: Path,
    address: str,
    unit: Unit,
    format_name: "Format | None",
    force: bool,
    as_json: bool,
    **given: tuple[str, ...] | str | None,
) -> None:
    """Write the trials that are asked for into PATH, whole: every span and log record as it came, nothing lost.

    The file is there when it is complete. 'spanproof import PATH' reads it back to equal trials.

    Exit codes: 0 done, 2 could not run.
    """
    from spanproof_collector.exporters import export
    from spanproof_evaluators.errors import NoTrialsError
    from spanproof_evaluators.model.canonical import plain
    from spanproof_evaluators.reports.machine import line
    from spanproof_evaluators.reports.wording import plural

    wanted = read_filter(given)
    with open_existing(address) as store, progress_bar("export") as progress:
        made = export(store, wanted, path, unit=unit, format_name=format_name, force=force, progress=progress)
    if not made.trials:
        raise NoTrialsError(describe(wanted))
    if as_json:
        click.echo(line(plain(made)))
    else:
        click.echo(
            f"{path}: {plural(made.trials, 'trial')}, {plural(made.spans, 'span')}, "
            f"{plural(made.log_records, 'log record')}, {made.bytes:,} bytes"
        )
    if made.lost_values:
        tell(f"{plural(made.lost_values, 'value')} could not be given back by the store and are empty in the file")
