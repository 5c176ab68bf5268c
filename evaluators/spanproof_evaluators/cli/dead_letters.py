"""spanproof dead-letters: what was rejected, why, and what now fits."""

import sys
from base64 import b64encode
from datetime import UTC, datetime

import click

from spanproof_evaluators.cli.options import json_option, open_existing, store_option
from spanproof_evaluators.cli.output import console, tell

_MOST = 1_000_000


@click.group("dead-letters", short_help="Spans and log records that were rejected: list, show, retry, drop.")
def command() -> None:
    """Spans and log records that could not be stored, with the reason and their bytes as they came.

    Exit codes: 0 done, 2 could not run.
    """


@command.command("list")
@store_option
@click.option("--limit", type=click.IntRange(1, _MOST), default=100, show_default=True, help="How many at most.")
@json_option
def list_(address: str, limit: int, as_json: bool) -> None:
    """List dead letters, the newest first."""
    from spanproof_collector.store.dead_letters import list_letters
    from spanproof_evaluators.reports.machine import line
    from spanproof_evaluators.reports.wording import clean

    with open_existing(address) as store:
        letters = list_letters(store, limit)
    if as_json:
        for each in letters:
            click.echo(
                line(
                    {
                        "id": each.letter_id,
                        "received_at": each.received,
                        "signal": each.signal,
                        "origin": each.origin,
                        "reason": each.reason,
                        "size": each.size,
                    }
                )
            )
        return
    if not letters:
        tell("there are no dead letters")
        return
    from rich.table import Table

    table = Table("id", "received", "signal", "from", "bytes", "reason", box=None, pad_edge=False)
    for each in letters:
        when = datetime.fromtimestamp(each.received / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S")
        origin, reason = clean(each.origin), clean(each.reason)
        table.add_row(each.letter_id[:12], when, each.signal, origin, str(each.size), reason)
    console().print(table)


@command.command("show")
@click.argument("letter_id", metavar="ID")
@store_option
@click.option("--bytes", "raw", is_flag=True, help="The bytes as they came, and nothing else.")
@json_option
def show(letter_id: str, address: str, raw: bool, as_json: bool) -> None:
    """Show one dead letter; the beginning of its ID is enough. With --json its bytes are in base64."""
    from spanproof_collector.store.dead_letters import read_letter
    from spanproof_evaluators.reports.machine import line
    from spanproof_evaluators.reports.wording import clean

    with open_existing(address) as store:
        letter = read_letter(store, letter_id)
    if raw:
        sys.stdout.buffer.write(letter.bytes)
        return
    if as_json:
        click.echo(
            line(
                {
                    "id": letter.letter_id,
                    "received_at": letter.received,
                    "signal": letter.signal,
                    "origin": letter.origin,
                    "reason": letter.reason,
                    "bytes": b64encode(letter.bytes).decode(),
                }
            )
        )
        return
    click.echo(f"{letter.letter_id}\n{letter.signal} from {clean(letter.origin)}: {clean(letter.reason)}")
    click.echo(clean(letter.bytes.decode("utf-8", "backslashreplace")))


@command.command("retry", short_help="Read dead letters again, and store those that fit now.")
@click.argument("letter_ids", metavar="[ID]...", nargs=-1)
@store_option
@click.option(
    "--project", default="", help="The project to store them in: which one they were sent for is not known any more."
)
@json_option
def retry(letter_ids: tuple[str, ...], address: str, project: str, as_json: bool) -> None:
    """Read dead letters again, as spanproof reads today, and store those that fit. Without an ID, all of them.

    Those that do not fit stay, and are listed with the reason of today.
    """
    from spanproof_collector.pipeline.letters import retry_letters
    from spanproof_collector.store.dead_letters import list_letters, read_letter
    from spanproof_evaluators.reports.machine import line
    from spanproof_evaluators.reports.wording import clean, plural

    stored = left = 0
    with open_existing(address) as store:
        ids = letter_ids or [each.letter_id for each in list_letters(store, _MOST)]
        # One by one: a letter can hold tens of megabytes.
        for each in retry_letters(store, (read_letter(store, one) for one in ids), project):
            stored += not each.reason
            left += bool(each.reason)
            if as_json:
                click.echo(line({"id": each.letter_id, "stored": not each.reason, "reason": each.reason or None}))
            elif each.reason:
                click.echo(f"{each.letter_id[:12]} stays: {clean(each.reason)}")
    if not as_json:
        click.echo(f"{plural(stored, 'dead letter')} stored, {left} left")


@command.command("drop")
@click.argument("letter_ids", metavar="[ID]...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Delete all of them.")
@store_option
@json_option
def drop(letter_ids: tuple[str, ...], every: bool, address: str, as_json: bool) -> None:
    """Delete dead letters by their ids, or all of them, for good."""
    from spanproof_collector.store.dead_letters import drop_letters, list_letters, read_letter
    from spanproof_evaluators.reports.machine import line
    from spanproof_evaluators.reports.wording import plural

    if bool(letter_ids) == every:
        raise click.UsageError("say which, by the beginnings of their ids, or --all")
    with open_existing(address) as store:
        if every:
            ids = [each.letter_id for each in list_letters(store, _MOST)]
        else:
            ids = [read_letter(store, one).letter_id for one in letter_ids]
        drop_letters(store, ids)
    click.echo(line({"dropped": len(ids)}) if as_json else f"{plural(len(ids), 'dead letter')} dropped")
