"""spanproof reindex: what the dialects read, made again from the spans that are stored."""

import click

from spanproof_evaluators.cli.options import json_option, open_existing, store_option


@click.command("reindex", short_help="Read everything stored again, after spanproof has learned to read more.")
@store_option
@json_option
def command(address: str, as_json: bool) -> None:
    """Make the projection that trials and filters rest on again, from the spans and log records as they came.

    Nothing that was received changes. Needed after an upgrade of spanproof that reads more kinds of spans.

    Exit codes: 0 done, 2 could not run.
    """
    from spanproof_collector.trials import reindex
    from spanproof_evaluators.reports.machine import line
    from spanproof_evaluators.reports.wording import plural

    with open_existing(address) as store:
        found = reindex(store)
    if as_json:
        click.echo(line({"spans": found.spans, "log_records": found.log_records}))
        return
    click.echo(f"{plural(found.spans, 'span')} and {plural(found.log_records, 'log record')} read again")
