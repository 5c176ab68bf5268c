"""Rows of the store's tables with only the facts a test is about."""

from collections.abc import Mapping, Sequence

from spanproof_collector.model.values import Value
from spanproof_collector.store import Store
from spanproof_collector.store.values import encode

INGESTED = 1_700_000_000_000

Columns = dict[str, list[object]]


def span_row(**facts: object) -> dict[str, object]:
    """Return one row of ``spans``."""
    return {
        "project": "default",
        "trace_id": "a" * 32,
        "span_id": "b" * 16,
        "parent_span_id": "",
        "start_unix_nano": 1_700_000_000_000_000_001,
        "end_unix_nano": 1_700_000_000_000_000_002,
        "name": "chat",
        "kind": 3,
        "status": 0,
        "status_message": "",
        "trace_state": "",
        "flags": 0,
        "attribute.key": [],
        "attribute.type": [],
        "attribute.value": [],
        "dropped_attributes": 0,
        "events": "",
        "dropped_events": 0,
        "links": "",
        "dropped_links": 0,
        "resource": "",
        "scope": "",
        "source": "otlp",
        "path": "",
        "version": 1,
        "ingested_at": INGESTED,
        **facts,
    }


def log_row(**facts: object) -> dict[str, object]:
    """Return one row of ``log_records``."""
    return {
        "project": "default",
        "trace_id": "a" * 32,
        "span_id": "",
        "record_id": "r",
        "time_unix_nano": 1_700_000_000_000_000_001,
        "observed_unix_nano": 0,
        "severity": 9,
        "severity_text": "INFO",
        "event_name": "",
        "body_type": 0,
        "body": "",
        "attribute.key": [],
        "attribute.type": [],
        "attribute.value": [],
        "dropped_attributes": 0,
        "flags": 0,
        "resource": "",
        "scope": "",
        "source": "otlp",
        "path": "",
        "ingested_at": INGESTED,
        **facts,
    }


def columns(rows: Sequence[Mapping[str, object]]) -> Columns:
    """Return the rows by column."""
    return {name: [row[name] for row in rows] for name in rows[0]}


def put_spans(store: Store, *rows: Mapping[str, object], token: str = "t") -> None:
    """Insert rows of ``spans``."""
    store.insert("spans", columns(rows), token)


def put_content(store: Store, trace_id: str, rows: Sequence[tuple[str, str]], token: str = "c") -> None:
    """Insert content rows of one trace."""
    store.insert(
        "content",
        {
            "project": ["default"] * len(rows),
            "trace_id": [trace_id] * len(rows),
            "hash": [digest for digest, _ in rows],
            "body": [body for _, body in rows],
        },
        token,
    )


def attributes(pairs: Sequence[tuple[str, Value]]) -> tuple[dict[str, object], list[tuple[str, str]]]:
    """Return the attribute columns of these pairs, and the content rows that they need."""
    encoded = [encode(value) for _, value in pairs]
    facts: dict[str, object] = {
        "attribute.key": [key for key, _ in pairs],
        "attribute.type": [value.type for value in encoded],
        "attribute.value": [value.text for value in encoded],
    }
    return facts, [row for value in encoded for row in value.content]
