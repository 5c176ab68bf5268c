"""spanproof serve: take OTLP and hold the store."""

import json
from typing import TYPE_CHECKING

import click

from spanproof_evaluators.cli.options import store_option
from spanproof_evaluators.cli.output import tell

if TYPE_CHECKING:
    from spanproof_collector.server.serve import Addresses


@click.command("serve", short_help="Take OTLP over gRPC and HTTP, and hold the store.")
@store_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--grpc-port",
    type=click.IntRange(0, 65535),
    default=4317,
    show_default=True,
    help="OTLP over gRPC; 0 takes a free port.",
)
@click.option(
    "--http-port",
    type=click.IntRange(0, 65535),
    default=4318,
    show_default=True,
    help="OTLP over HTTP; 0 takes a free port.",
)
@click.option("--insecure", is_flag=True, help="Listen where others can reach it. There are no tokens and no TLS.")
@click.option("--json", "as_json", is_flag=True, help="Say where it listens as one line of JSON, when it is ready.")
def command(address: str, host: str, grpc_port: int, http_port: int, insecure: bool, as_json: bool) -> None:
    """Take OTLP over gRPC and HTTP until SIGTERM or Ctrl-C. What was acknowledged is durable.

    Other commands with the same --store go through this process meanwhile.

    Exit codes: 0 stopped as asked, 2 could not run.
    """
    from spanproof_collector.server.serve import serve

    def ready(where: "Addresses") -> None:
        if as_json:
            click.echo(json.dumps({"grpc": where.grpc, "http": where.http, "store": where.store}))
            return
        tell(f"spanproof is ready. OTLP over gRPC {where.grpc}, over HTTP {where.http}, store {where.store}")
        tell(f"  OTEL_EXPORTER_OTLP_ENDPOINT={where.http} OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf")

    serve(address, host, grpc_port, http_port, on_ready=ready, insecure=insecure)
