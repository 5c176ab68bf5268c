"""spanproof serve: take OTLP and hold the store."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import click

from spanproof_evaluators.cli.options import store_option
from spanproof_evaluators.cli.output import tell

if TYPE_CHECKING:
    from spanproof_collector.server.serve import Addresses, Tls

_PORT: Final = click.IntRange(0, 65535)
_FILE: Final = click.Path(path_type=Path)


@click.command("serve", short_help="Take OTLP over gRPC and HTTP, and hold the store.")
@store_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--grpc-port", type=_PORT, default=4317, show_default=True, help="OTLP over gRPC; 0 takes a free port.")
@click.option("--http-port", type=_PORT, default=4318, show_default=True, help="OTLP over HTTP; 0 takes a free port.")
@click.option(
    "--http-prefix",
    "http_prefixes",
    multiple=True,
    metavar="PATH",
    help="Take OTLP over HTTP below this path too, for senders that cannot leave it out: /api/public/otel.",
)
@click.option(
    "--tls-cert", type=_FILE, metavar="FILE", help="Encrypt both ports: the certificate and its chain, in PEM."
)
@click.option("--tls-key", type=_FILE, metavar="FILE", help="The key of that certificate, in PEM, without a password.")
@click.option("--tls-client-ca", type=_FILE, metavar="FILE", help="Let in only clients with a certificate of this CA.")
@click.option("--insecure", is_flag=True, help="Listen where others can reach it although no token keeps anybody out.")
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="On standard error: sentences, or a JSON object a line.",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="The least that is logged.",
)
@click.option("--json", "as_json", is_flag=True, help="Say where it listens as one line of JSON, when it is ready.")
def command(
    address: str,
    host: str,
    grpc_port: int,
    http_port: int,
    http_prefixes: tuple[str, ...],
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_client_ca: Path | None,
    insecure: bool,
    log_format: Literal["text", "json"],
    log_level: str,
    as_json: bool,
) -> None:
    """Take OTLP over gRPC and HTTP until SIGTERM or Ctrl-C. What was acknowledged is durable.

    Other commands with the same --store go through this process meanwhile. On a host that others can reach senders need
    a token, which 'spanproof token add' makes; elsewhere they need one as soon as the store holds one. Over HTTP there
    are /healthz, /readyz and /metrics too.

    Exit codes: 0 stopped as asked, 2 could not run.
    """
    from spanproof_collector.server.logs import log_to_stderr
    from spanproof_collector.server.serve import serve

    tls = _tls(tls_cert, tls_key, tls_client_ca)
    log_to_stderr(log_format, log_level)

    def ready(where: "Addresses") -> None:
        if as_json:
            click.echo(json.dumps({"grpc": where.grpc, "http": where.http, "store": where.store}))
            return
        if log_format == "json":
            return  # the log says it
        if log_level in ("warning", "error"):  # else the log says it
            tell(f"spanproof is ready. OTLP over gRPC {where.grpc}, over HTTP {where.http}, store {where.store}")
        tell(f"  OTEL_EXPORTER_OTLP_ENDPOINT={where.http} OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf")
        if where.tokens:
            tell('  OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20TOKEN", made with: spanproof token add NAME')
        tell("  Try it from another terminal: spanproof doctor")

    serve(
        address,
        host,
        grpc_port,
        http_port,
        on_ready=ready,
        insecure=insecure,
        tls=tls,
        http_prefixes=http_prefixes,
    )


def _tls(certificate: Path | None, key: Path | None, client_authority: Path | None) -> "Tls | None":
    """Return what the three options say.

    Raises:
        click.UsageError: one of them is missing.
    """
    if certificate is None and key is None and client_authority is None:
        return None
    if certificate is None or key is None:
        missing = "--tls-key" if certificate is not None else "--tls-cert"
        raise click.UsageError(f"{missing} is missing: TLS needs a certificate and its key")
    from spanproof_collector.server.tls import Tls

    return Tls(certificate=certificate, key=key, client_authority=client_authority)
