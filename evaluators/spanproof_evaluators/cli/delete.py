"""spanproof delete: trials, sessions and users out of the store, with nothing left behind."""

import sys
from typing import TYPE_CHECKING

import click

from spanproof_evaluators.cli.options import (
    Unit,
    filter_options,
    json_option,
    open_existing,
    read_filter,
    store_option,
    unit_option,
)
from spanproof_evaluators.cli.output import tell

if TYPE_CHECKING:
    from spanproof_collector.model.filters import Filter
    from spanproof_collector.retention import Deleted
    from spanproof_collector.store import Store
    from spanproof_evaluators.model.canonical import Plain


@click.command("delete", short_help="Delete trials, a session or a user, with nothing left behind.")
@store_option
@filter_options
@unit_option
@click.option("--user", metavar="ID", help="Every trial and log record that names this user.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and delete nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
def command(
    address: str,
    unit: Unit,
    user: str | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    **given: tuple[str, ...] | str | None,
) -> None:
    """Delete what is asked for: spans, log records, their content, verdicts and dead letters, from the disk too.

    --session takes every trial of which anything names the session; --user every one of which anything names the user.
    Trials go whole. What is sent or imported again after that is stored again.

    Exit codes: 0 done, also where there was nothing; 2 could not run, or not confirmed.
    """
    from spanproof_evaluators.reports.machine import line

    wanted = read_filter(given)
    _check(wanted, user)
    with open_existing(address) as store:
        if not (yes or dry_run):
            _confirm(_delete(store, wanted, user, unit, dry_run=True), asks=sys.stdin.isatty())
        gone = _delete(store, wanted, user, unit, dry_run=dry_run)
    if as_json:
        click.echo(line(deleted_json(gone)))
        return
    click.echo(deleted_text(gone))


def deleted_json(gone: "Deleted") -> "dict[str, Plain]":
    """Return what went, for scripts."""
    counted = gone.counted
    return {
        "trials": gone.trials,
        "spans": counted.spans,
        "log_records": counted.log_records,
        "content_rows": counted.content_rows,
        "results": counted.results,
        "dead_letters": counted.dead_letters,
        "bytes": counted.bytes,
        "dry_run": gone.dry_run,
        "old_parts": gone.old_parts,
    }


def deleted_text(gone: "Deleted") -> str:
    """Return what went, in a sentence."""
    from spanproof_evaluators.reports.wording import plural

    counted = gone.counted
    told = ", ".join(
        (
            plural(gone.trials, "trial"),
            plural(counted.spans, "span"),
            plural(counted.log_records, "log record"),
            plural(counted.content_rows, "content row"),
            plural(counted.results, "result"),
            plural(counted.dead_letters, "dead letter"),
            f"{counted.bytes:,} bytes",
        )
    )
    left = (
        f". {plural(gone.old_parts, 'old file')} of the engine's go when whoever reads them is done"
        if gone.old_parts
        else ""
    )
    return f"{'would go' if gone.dry_run else 'deleted'}: {told}{left}"


def _check(wanted: "Filter", user: str | None) -> None:
    from spanproof_collector.model.filters import Filter
    from spanproof_evaluators.errors import FilterError

    if user is None and wanted == Filter():
        raise FilterError("say what to delete: --session, --user or a filter; --since 1970-01-01 is everything")
    if user is not None and wanted != Filter(projects=wanted.projects):
        raise FilterError("--user goes with --project and with no other condition: a user's trials go whole")


def _delete(store: "Store", wanted: "Filter", user: str | None, unit: Unit, *, dry_run: bool) -> "Deleted":
    from spanproof_collector.model.filters import Filter
    from spanproof_collector.retention import delete, delete_sessions, delete_user

    if user is not None:
        return delete_user(store, user, projects=wanted.projects, dry_run=dry_run)
    if wanted.sessions and wanted == Filter(projects=wanted.projects, sessions=wanted.sessions):
        return delete_sessions(store, wanted.sessions, projects=wanted.projects, dry_run=dry_run)
    return delete(store, wanted, unit=unit, dry_run=dry_run)


def _confirm(would: "Deleted", *, asks: bool) -> None:
    from spanproof_evaluators.errors import FilterError

    tell(deleted_text(would))
    if not asks:
        raise FilterError("nobody can be asked here: say --yes to delete, or --dry-run to see what would go")
    click.confirm("Delete it for good?", abort=True, err=True)
