"""spanproof import: recorded sessions into the store."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spanproof_evaluators.cli.options import json_option, store_option
from spanproof_evaluators.cli.output import tell

if TYPE_CHECKING:
    from spanproof_collector.importers import Progress

SHOWN = 20
"""How many rejections a person is shown."""


@click.command("import", short_help="Store recorded sessions from files and folders.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")
@store_option
@click.option("--format", "format_name", metavar="NAME", help="Read every file as this format; else it is detected.")
@json_option
def command(paths: tuple[Path, ...], address: str, format_name: str | None, as_json: bool) -> None:
    """Store recorded sessions from files and folders. The same file again stores nothing again.

    A damaged file gives what is whole of it and names what is not.

    Exit codes: 0 done, 2 could not run or nothing was usable.
    """
    from spanproof_collector.importers import import_paths
    from spanproof_collector.store import open_store
    from spanproof_collector.trials import TraceInfo, read_components
    from spanproof_evaluators.reports.wording import one_line, plural

    with open_store(address) as store:
        with _bar() as progress:
            found = import_paths(store, paths, format_name, progress)

        def touched(traces: list[TraceInfo]) -> bool:
            return any(trace.key in found.traces or (trace.loose and found.loose) for trace in traces)

        trials = sum(
            not found.traces.isdisjoint(member.traces) or not found.loose.isdisjoint(member.loose)
            for component in read_components(store, choose=touched)
            for member in component.members
        )
    if as_json:
        from spanproof_evaluators.reports.machine import line

        click.echo(
            line(
                {
                    "files": found.files,
                    "trials": trials,
                    "spans": found.spans,
                    "log_records": found.log_records,
                    "rejected": [{"path": one.path, "line": one.line, "reason": one.reason} for one in found.rejected],
                    "formats": dict(found.formats),
                    "skipped": dict(found.skipped),
                }
            )
        )
    else:
        formats = ", ".join(f"{count} {name}" for name, count in sorted(found.formats.items())) or "none"
        click.echo(
            f"{plural(found.files, 'file')} ({formats}): {plural(trials, 'trial')}, {plural(found.spans, 'span')}, "
            f"{plural(found.log_records, 'log record')}"
        )
    for what, count in sorted(found.skipped.items()):
        tell(f"passed over: {count} {what}")
    for one in found.rejected[:SHOWN]:
        place = one.path if one.line is None else f"{one.path}:{one.line}"
        tell(one_line(f"rejected: {place}: {one.reason}", 400))
    if len(found.rejected) > SHOWN:
        tell(f"and {len(found.rejected) - SHOWN} more; --json lists all")
    if not found.usable:
        tell("nothing was usable")
        click.get_current_context().exit(2)


@contextmanager
def _bar() -> "Iterator[Progress | None]":
    """Show how far the import is, on standard error, where a person watches it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def tell(done: int, total: int, file: str) -> None:
            bar.update(task, completed=done, total=total, description=file[-_WIDEST:])

        yield tell


_WIDEST = 40
"""How much of a path the bar shows: its end."""
