"""Finds what names a user: spans, their events, log records and resources, by the keys that senders use."""

from dataclasses import dataclass
from typing import Final, cast

import msgspec

from spanproof_collector.dialects import user_keys
from spanproof_collector.store import Query, Store
from spanproof_collector.store.values import INT, STRING

USER_KEYS: Final = tuple(
    dict.fromkeys(
        (
            *user_keys(),
            "enduser.pseudo.id",
            "user.email",
            "user.account_id",
            "user.account_uuid",
            "user_id",
            "gen_ai.user.id",
            "langfuse.user.id",
            "langfuse.trace.user_id",
            "mlflow.trace.user",
            "mlflow.user",
            "traceloop.association.properties.user_id",
            "langsmith.metadata.user_id",
            "metadata.user_id",
        )
    )
)
"""The attributes that name a user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What names a user."""

    traces: frozenset[tuple[str, str]]
    """Each (project, trace id)."""

    spans: frozenset[tuple[str, str, str]]
    """Each (project, trace id, span id)."""

    records: frozenset[tuple[str, str]]
    """Each (project, record id)."""

    loose: frozenset[tuple[str, str]]
    """Those of the records that name no trace."""


def find_user(store: Store, user: str) -> Named:
    """Return everything that names the user. It reads every span's attributes: there is no index of users."""
    needles = [msgspec.json.encode([key, kind, user]).decode() for key in USER_KEYS for kind in (STRING, INT)]
    asked = {"user": user, "keys": list(USER_KEYS), "needles": needles}
    spans = cast("list[tuple[str, str, str]]", store.rows(Query.FIND_USER_SPANS, asked))
    records = cast("list[tuple[str, str, str]]", store.rows(Query.FIND_USER_LOG_RECORDS, asked))
    return Named(
        traces=frozenset((project, trace_id) for project, trace_id, _ in (*spans, *records) if trace_id),
        spans=frozenset(spans),
        records=frozenset((project, record_id) for project, _, record_id in records),
        loose=frozenset((project, record_id) for project, trace_id, record_id in records if not trace_id),
    )
