"""Tokens in the store: who may send and who may read. A token is random and long; only its SHA-256 is kept."""

import hashlib
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast, get_args

from spanproof_collector.store.queries import Query
from spanproof_collector.store.store import Store

TokenScope = Literal["ingest", "read"]
SCOPES: Final[tuple[TokenScope, ...]] = get_args(TokenScope)
_PREFIX: Final = "spanproof_"
_BYTES: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What the store knows of a token. ``created`` is in Unix nanoseconds, to the millisecond."""

    token_id: str
    name: str
    scopes: tuple[TokenScope, ...]
    hash: str
    created: int


def hash_of(secret: str) -> str:
    """Return what the store keeps of a token: its SHA-256 in hex. A slow hash guards short secrets; these are long."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def add_token(store: Store, name: str, scopes: Sequence[TokenScope]) -> tuple[Token, str]:
    """Make a token, and return what is kept of it and the token itself, which nobody can read again."""
    secret = _PREFIX + secrets.token_urlsafe(_BYTES)
    token = Token(
        token_id=secrets.token_hex(4),
        name=name,
        scopes=tuple(scope for scope in SCOPES if scope in scopes),
        hash=hash_of(secret),
        created=time.time_ns() // 1_000_000 * 1_000_000,
    )
    _write(store, token, removed=False)
    return token, secret


def read_tokens(store: Store) -> list[Token]:
    """Return every token that holds, the oldest first."""
    found = [
        Token(
            token_id=cast(str, token_id),
            name=cast(str, name),
            scopes=tuple(cast("list[TokenScope]", scopes)),
            hash=cast(str, kept),
            created=cast(int, milli) * 1_000_000,
        )
        for token_id, name, scopes, kept, milli, removed in store.rows(Query.READ_TOKENS)
        if not removed
    ]
    return sorted(found, key=lambda token: (token.created, token.token_id))


def remove_token(store: Store, named: str) -> Token | None:
    """Let the token of this id hold no more, and return it; ``None`` where there is none."""
    for token in read_tokens(store):
        if token.token_id == named:
            _write(store, token, removed=True)
            return token
    return None


def _write(store: Store, token: Token, *, removed: bool) -> None:
    store.insert(
        "tokens",
        {
            "token_id": [token.token_id],
            "name": [token.name],
            "scopes": [list(token.scopes)],
            "hash": [token.hash],
            "created_at": [token.created // 1_000_000],
            "removed": [removed],
            "version": [time.time_ns()],
        },
        f"{token.token_id} {removed}",
    )
