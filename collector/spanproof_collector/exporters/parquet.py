"""Spans and log records as Parquet: one row each, every value in full, in columns that docs/retention.md lists.

An attribute is its key, the type of its AnyValue by name, and its text: an int in decimal, bytes in base64, an array or
a list of pairs as OTLP/JSON spells it. So nothing is lost, duplicate keys included, and SQL can search it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from spanproof_collector.errors import DecodeError
from spanproof_collector.store import WholeLog, WholeSpan
from spanproof_collector.store.whole import Attributes, WholeResource, WholeScope

MARK: Final = b"spanproof.export"
"""In the metadata of the schema: which version of these columns it is."""

VERSION: Final = b"1"
TYPES: Final = ("empty", "string", "bool", "int", "double", "array", "kvlist", "bytes")
"""The types of an AnyValue by the numbers of ``store.values``."""

_ATTRIBUTES: Final = pa.list_(pa.struct([("key", pa.string()), ("type", pa.string()), ("value", pa.string())]))
_SHARED: Final = [("attributes", _ATTRIBUTES), ("dropped_attributes", pa.uint32()), ("schema_url", pa.string())]
_EVENTS: Final = pa.list_(
    pa.struct(
        [
            ("time_unix_nano", pa.uint64()),
            ("name", pa.string()),
            ("attributes", _ATTRIBUTES),
            ("dropped_attributes", pa.uint32()),
        ]
    )
)
_LINKS: Final = pa.list_(
    pa.struct(
        [
            ("trace_id", pa.string()),
            ("span_id", pa.string()),
            ("trace_state", pa.string()),
            ("attributes", _ATTRIBUTES),
            ("dropped_attributes", pa.uint32()),
            ("flags", pa.uint32()),
        ]
    )
)
SCHEMA: Final = pa.schema(
    [
        ("record", pa.string()),
        ("project", pa.string()),
        ("trace_id", pa.string()),
        ("span_id", pa.string()),
        ("parent_span_id", pa.string()),
        ("name", pa.string()),
        ("kind", pa.uint8()),
        ("start_unix_nano", pa.uint64()),
        ("end_unix_nano", pa.uint64()),
        ("status", pa.uint8()),
        ("status_message", pa.string()),
        ("trace_state", pa.string()),
        ("flags", pa.uint32()),
        ("attributes", _ATTRIBUTES),
        ("dropped_attributes", pa.uint32()),
        ("events", _EVENTS),
        ("dropped_events", pa.uint32()),
        ("links", _LINKS),
        ("dropped_links", pa.uint32()),
        ("resource", pa.struct(_SHARED)),
        ("scope", pa.struct([("name", pa.string()), ("version", pa.string()), *_SHARED])),
        ("record_id", pa.string()),
        ("observed_unix_nano", pa.uint64()),
        ("severity", pa.uint8()),
        ("severity_text", pa.string()),
        ("body", pa.struct([("type", pa.string()), ("value", pa.string())])),
    ],
    metadata={MARK: VERSION},
)


class ParquetWriter:
    """Writes a file of row groups, each as large as what one call gives."""

    def __init__(self, path: Path) -> None:
        self._writer = pq.ParquetWriter(path, SCHEMA, compression="zstd")

    def spans(self, spans: Sequence[WholeSpan]) -> None:
        """Add spans."""
        self._write([_of_span(span) for span in spans])

    def logs(self, records: Sequence[WholeLog]) -> None:
        """Add log records."""
        self._write([_of_log(record) for record in records])

    def close(self) -> None:
        """Write the end of the file."""
        self._writer.close()

    def _write(self, rows: list[dict[str, object]]) -> None:
        if rows:
            self._writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))


def is_ours(schema: pa.Schema) -> bool:
    """Whether a file of this schema was written here.

    Raises:
        DecodeError: it was, by a newer spanproof.
    """
    version = (schema.metadata or {}).get(MARK)
    if version is None:
        return False
    if version != VERSION:
        raise DecodeError(
            f"the Parquet columns have version {version.decode()}, this spanproof reads {VERSION.decode()}"
        )
    return True


def _of_span(span: WholeSpan) -> dict[str, object]:
    return {
        "record": "span",
        "project": span.project,
        "trace_id": span.trace_id,
        "span_id": span.span_id,
        "parent_span_id": span.parent_span_id,
        "name": span.name,
        "kind": span.kind,
        "start_unix_nano": span.start,
        "end_unix_nano": span.end,
        "status": span.status,
        "status_message": span.status_message,
        "trace_state": span.trace_state,
        "flags": span.flags,
        "attributes": _of_attributes(span.attributes),
        "dropped_attributes": span.dropped_attributes,
        "events": [
            {
                "time_unix_nano": event.time,
                "name": event.name,
                "attributes": _of_attributes(event.attributes),
                "dropped_attributes": event.dropped_attributes,
            }
            for event in span.events
        ],
        "dropped_events": span.dropped_events,
        "links": [
            {
                "trace_id": link.trace_id,
                "span_id": link.span_id,
                "trace_state": link.trace_state,
                "attributes": _of_attributes(link.attributes),
                "dropped_attributes": link.dropped_attributes,
                "flags": link.flags,
            }
            for link in span.links
        ],
        "dropped_links": span.dropped_links,
        "resource": _of_resource(span.resource),
        "scope": _of_scope(span.scope),
    }


def _of_log(record: WholeLog) -> dict[str, object]:
    return {
        "record": "log_record",
        "project": record.project,
        "trace_id": record.trace_id,
        "span_id": record.span_id,
        "name": record.event_name,
        "start_unix_nano": record.time,
        "flags": record.flags,
        "attributes": _of_attributes(record.attributes),
        "dropped_attributes": record.dropped_attributes,
        "resource": _of_resource(record.resource),
        "scope": _of_scope(record.scope),
        "record_id": record.record_id,
        "observed_unix_nano": record.observed_time,
        "severity": record.severity,
        "severity_text": record.severity_text,
        "body": {"type": TYPES[record.body.kind], "value": record.body.text},
    }


def _of_attributes(attributes: Attributes) -> list[dict[str, str]]:
    return [{"key": each.key, "type": TYPES[each.kind], "value": each.text} for each in attributes]


def _of_resource(resource: WholeResource) -> dict[str, object]:
    return {
        "attributes": _of_attributes(resource.attributes),
        "dropped_attributes": resource.dropped_attributes,
        "schema_url": resource.schema_url,
    }


def _of_scope(scope: WholeScope) -> dict[str, object]:
    return {
        "name": scope.name,
        "version": scope.version,
        "attributes": _of_attributes(scope.attributes),
        "dropped_attributes": scope.dropped_attributes,
        "schema_url": scope.schema_url,
    }
