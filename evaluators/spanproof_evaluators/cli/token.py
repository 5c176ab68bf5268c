"""spanproof token: who may send to a server, and who may read from it."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from spanproof_evaluators.cli.options import json_option, open_existing, store_option
from spanproof_evaluators.cli.output import console, tell
from spanproof_evaluators.errors import EvaluatorError

if TYPE_CHECKING:
    from spanproof_collector.store.tokens import Token, TokenScope
    from spanproof_evaluators.model.canonical import Plain


class UnknownTokenError(EvaluatorError):
    """An id that no token has."""

    def __init__(self, token_id: str) -> None:
        super().__init__(f"no token has the id {token_id!r}. 'spanproof token list' lists those that are valid")
        self.token_id = token_id


@click.group("token", short_help="Make, list and revoke tokens for senders and readers.")
def command() -> None:
    """Tokens for senders and readers.

    A server demands one as soon as its store holds one, and always where other hosts can reach it.

    Exit codes: 0 done, 2 could not run.
    """


@command.command("add")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(["ingest", "read"]),
    multiple=True,
    default=["ingest"],
    show_default=True,
    help="ingest: send traces and logs. read: ask for /metrics and /api. Repeatable.",
)
@store_option
@json_option
def add(name: str, scopes: "tuple[TokenScope, ...]", address: str, as_json: bool) -> None:
    """Make a token called NAME and print it. It is shown this once: the store keeps a hash.

    A server that runs knows it within a second.
    """
    from spanproof_collector.store import open_store
    from spanproof_collector.store.tokens import add_token
    from spanproof_evaluators.reports.machine import line

    with open_store(address) as store:
        token, secret = add_token(store, name, scopes)
    if as_json:
        click.echo(line(_described(token) | {"token": secret}))
        return
    click.echo(secret)
    tell(f"The token {token.token_id} ({name}) may {_may(token)}. It is not shown again.")
    if "ingest" in token.scopes:
        tell(f'  OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20{secret}"')


@command.command("list")
@store_option
@json_option
def list_(address: str, as_json: bool) -> None:
    """List the valid tokens: id, name, what they may, when they were made. Never the token itself."""
    from spanproof_collector.store.tokens import read_tokens
    from spanproof_evaluators.reports.machine import line

    with open_existing(address) as store:
        found = read_tokens(store)
    if as_json:
        for token in found:
            click.echo(line(_described(token)))
        return
    if not found:
        tell("the store holds no token: a server on 127.0.0.1 takes what any process of this machine sends")
    for token in found:
        made = datetime.fromtimestamp(token.created // 1_000_000_000, UTC)
        console().print(f"{token.token_id}  {token.name}  may {_may(token)}  made {made:%Y-%m-%d %H:%M} UTC")


@command.command("remove")
@click.argument("token_id")
@store_option
def remove(token_id: str, address: str) -> None:
    """Revoke a token, by the id that 'list' shows. A server that runs refuses it within five seconds."""
    from spanproof_collector.store.tokens import remove_token

    with open_existing(address) as store:
        removed = remove_token(store, token_id)
    if removed is None:
        raise UnknownTokenError(token_id)
    tell(f"the token {removed.token_id} ({removed.name}) is revoked")


def _may(token: "Token") -> str:
    return " and ".join({"ingest": "send", "read": "read"}[scope] for scope in token.scopes)


def _described(token: "Token") -> dict[str, "Plain"]:
    return {
        "id": token.token_id,
        "name": token.name,
        "scopes": list(token.scopes),
        "created_at": str(token.created),
    }
