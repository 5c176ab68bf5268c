"""spanproof publish: verdicts as OpenTelemetry events, to wherever traces are looked at."""

import time

import click

from spanproof_evaluators.cli.options import (
    Unit,
    describe,
    filter_options,
    json_option,
    open_existing,
    read_filter,
    split_suites,
    store_option,
    unit_option,
)
from spanproof_evaluators.cli.output import tell


@click.command("publish", short_help="Send verdicts to an OpenTelemetry backend.")
@click.argument("endpoint", envvar="OTEL_EXPORTER_OTLP_ENDPOINT")
@click.option(
    "--header", "headers", multiple=True, metavar="KEY=VALUE", help="Sent along, such as a token. Repeatable."
)
@store_option
@filter_options
@unit_option
@json_option
def command(
    endpoint: str,
    headers: tuple[str, ...],
    address: str,
    unit: Unit,
    as_json: bool,
    suites: tuple[str, ...],
    **given: tuple[str, ...] | str | None,
) -> None:
    """Send what 'spanproof evaluate' stored to ENDPOINT, as gen_ai.evaluation.result events under the spans they judge.

    ENDPOINT is http://HOST:4318 or https://… (OTLP over HTTP), grpc://HOST:4317 or grpcs://…; also
    OTEL_EXPORTER_OTLP_ENDPOINT. Sent twice, they are there twice: log records have no identity.

    Exit codes: 0 done, 2 could not run, or something was turned down.
    """
    from spanproof_evaluators.errors import FilterError, NoTrialsError, PublishError
    from spanproof_evaluators.reports.machine import line
    from spanproof_evaluators.reports.wording import plural
    from spanproof_evaluators.runner import assess
    from spanproof_evaluators.runner.publishing import publish, sender

    pairs = []
    for header in headers:
        key, equals, value = header.partition("=")
        if not equals or not key:
            raise FilterError("--header takes KEY=VALUE")
        pairs.append((key, value))
    send = sender(endpoint, pairs)
    suite, labels = split_suites(suites)
    wanted = read_filter({**given, "suites": labels})
    with open_existing(address) as store:
        found = list(assess(store, wanted, suite, unit=unit))
    if not found:
        raise NoTrialsError(describe(wanted))
    taken, refused, why = publish(found, send, at=time.time_ns())
    if as_json:
        click.echo(line({"trials": len(found), "taken": taken, "refused": refused, "why": why or None}))
    else:
        tell(f"{plural(taken, 'result')} of {plural(len(found), 'trial')} sent to {endpoint}")
    if refused:
        raise PublishError(f"{plural(refused, 'result')} turned down: {why}")
