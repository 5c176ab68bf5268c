"""spanproof doctor: does a span get through, and if not, where does it stop?"""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from click.core import ParameterSource

from spanproof_evaluators.cli.options import json_option, store_option
from spanproof_evaluators.cli.output import console

if TYPE_CHECKING:
    from spanproof_evaluators.cli.diagnosis.findings import Finding
    from spanproof_evaluators.model.canonical import Plain

_FILE: Final = click.Path(path_type=Path, exists=True, dir_okay=False)
_FAILED: Final = 2


@click.command("doctor", short_help="Send a span through the whole path, and say where it stops.")
@store_option
@click.option(
    "--endpoint",
    metavar="ADDRESS",
    help="The server's HTTP address; else OTEL_EXPORTER_OTLP_ENDPOINT, else http://localhost:4318.",
)
@click.option(
    "--grpc-endpoint",
    metavar="ADDRESS",
    help="Its gRPC address; else what OTEL_EXPORTER_OTLP_ENDPOINT says of gRPC, else the same host at 4317.",
)
@click.option("--token", envvar="SPANPROOF_TOKEN", help="For sending; else the one in OTEL_EXPORTER_OTLP_HEADERS.")
@click.option("--read-token", envvar="SPANPROOF_READ_TOKEN", help="For reading back; else the same.")
@click.option("--ca", "authority", type=_FILE, metavar="FILE", help="Who signed the server's certificate, in PEM.")
@click.option("--client-cert", type=_FILE, metavar="FILE", help="This client's certificate, in PEM.")
@click.option("--client-key", type=_FILE, metavar="FILE", help="The key of that certificate.")
@click.argument("agent", nargs=-1, type=click.UNPROCESSED, metavar="[-- CMD …]")
@json_option
@click.pass_context
def command(
    context: click.Context,
    address: str,
    endpoint: str | None,
    grpc_endpoint: str | None,
    token: str | None,
    read_token: str | None,
    authority: Path | None,
    client_cert: Path | None,
    client_key: Path | None,
    agent: tuple[str, ...],
    as_json: bool,
) -> None:
    """Send a span over HTTP and over gRPC, and read it back from the server and from the store.

    With a command after -- run it as 'spanproof run' does too, and count the spans that it starts against those that
    arrive. What is sent to try the server is in the project spanproof.doctor, which is in no list of trials
    that does not ask for it.

    Exit codes: 0 all is well, 2 something is not.
    """
    from spanproof_evaluators.cli.diagnosis.counting import count
    from spanproof_evaluators.cli.diagnosis.diagnosing import diagnose
    from spanproof_evaluators.cli.diagnosis.findings import Finding
    from spanproof_evaluators.cli.diagnosis.target import Target, places, token_in_environment
    from spanproof_evaluators.reports.machine import line

    try:
        http, grpc = places(endpoint, grpc_endpoint)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    target = Target(
        http=http,
        grpc=grpc,
        token=token or token_in_environment(),
        read_token=read_token,
        authority=authority,
        client_certificate=client_cert,
        client_key=client_key,
    )
    given = context.get_parameter_source("address") is not ParameterSource.DEFAULT
    findings = []
    for finding in diagnose(target, address, store_given=given):
        findings.append(finding)
        if not as_json:
            _show(finding)
    counted = None
    if agent:
        if findings[0].state == "ok":
            counted, found = count(target, address, agent)
        else:
            found = Finding(step="count", state="skipped", explanation=f"without a server {agent[0]} was not run")
        findings.append(found)
        if not as_json:
            _show(found)
    well = all(finding.state != "failed" for finding in findings)
    if as_json:
        steps: list[Plain] = [
            {"step": each.step, "state": each.state, "explanation": each.explanation, "advice": each.advice or None}
            for each in findings
        ]
        click.echo(
            line({"ok": well, "endpoint": str(http), "grpc_endpoint": str(grpc), "steps": steps, "spans": counted})
        )
    elif well:
        console().print("All is well.")
    context.exit(0 if well else _FAILED)


def _show(finding: "Finding") -> None:
    mark = {"ok": "ok", "failed": "FAILED", "skipped": "skipped"}[finding.state]
    console().print(f"{mark:<8}{finding.step:<16}{finding.explanation}", soft_wrap=True)
    if finding.advice:
        console().print(f"{'':<24}{finding.advice}", soft_wrap=True)
