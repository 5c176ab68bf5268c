"""Rows of the store back into the spans and log records that were sent."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar, cast

from spanproof_collector.model.spans import (
    SPAN_KINDS,
    STATUS_CODES,
    LogRecord,
    Pairs,
    Resource,
    Scope,
    Span,
    SpanEvent,
    SpanLink,
)
from spanproof_collector.model.values import Value
from spanproof_collector.store.values import LostContentError, decode

WIRE: Final = "otlp"
"""What ``source`` says of what was sent, and not read from a file."""

Row: TypeAlias = "tuple[object, ...]"
Name = TypeVar("Name")
_Json: TypeAlias = "list[_Json] | dict[str, _Json] | str | int | float | bool | None"


@dataclass(frozen=True, kw_only=True)
class Records:
    """Everything that is stored of one trace, in the order of time, then of ids.

    ``source`` is ``otlp`` or ``import:<format>``, ``path`` is ``None`` where nothing was imported: those of the first
    span, else of the first log record.
    """

    spans: tuple[Span, ...] = ()
    logs: tuple[LogRecord, ...] = ()
    source: str = "otlp"
    path: str | None = None
    received_at: int = 0
    """When the last of what stands came over the wire, in Unix nanoseconds, to the millisecond; 0: all is of files."""

    lost: tuple[tuple[str, str], ...] = ()
    """Values whose content row is not there, as (span id or record id, key): they read as ``None``, and are not
    what was sent."""


class RecordReader:
    """Builds the records of one trace. What many rows share, resources and scopes, is read once.

    ``shared`` outlives the reader: pass the same one for all traces of a read.
    """

    def __init__(self, project: str, content: Mapping[str, str], shared: "Shared") -> None:
        self._project = project
        self._content = content
        self._shared = shared
        self._lost: list[tuple[str, str]] = []

    def read(self, spans: Iterable[Row], logs: Iterable[Row]) -> Records:
        """Return the trace's records, of rows in the columns of READ_SPANS and READ_LOG_RECORDS."""
        span_rows = sorted(richest(spans), key=lambda row: (row[3], row[1]))
        log_rows = each_once(logs)
        source, path = "otlp", ""
        if span_rows:
            source, path = cast("tuple[str, str]", span_rows[0][21:23])
        elif log_rows:
            source, path = cast("tuple[str, str]", log_rows[0][17:19])
        arrivals = [*((row[21], row[24]) for row in span_rows), *((row[17], row[19]) for row in log_rows)]
        return Records(
            spans=tuple(self._span(row) for row in span_rows),
            logs=tuple(self._log(row) for row in log_rows),
            source=source,
            path=path or None,
            received_at=max((cast(int, milli) for came, milli in arrivals if came == WIRE), default=0) * 1_000_000,
            lost=tuple(self._lost),
        )

    def _span(self, row: Row) -> Span:
        span_id = cast(str, row[1])
        return Span(
            project=self._project,
            trace_id=cast(str, row[0]),
            span_id=span_id,
            parent_span_id=cast(str, row[2]),
            start=cast(int, row[3]),
            end=cast(int, row[4]),
            name=cast(str, row[5]),
            kind=_named(SPAN_KINDS, cast(int, row[6])),
            status=_named(STATUS_CODES, cast(int, row[7])),
            status_message=cast(str, row[8]),
            trace_state=cast(str, row[9]),
            flags=cast(int, row[10]),
            pairs=self._columns(span_id, row, 11),
            dropped_attributes=cast(int, row[14]),
            events=self._events(span_id, cast(str, row[15])),
            dropped_events=cast(int, row[16]),
            links=self._links(span_id, cast(str, row[17])),
            dropped_links=cast(int, row[18]),
            resource=self._shared.resource(cast(str, row[19])),
            scope=self._shared.scope(cast(str, row[20])),
            version=cast(int, row[23]),
        )

    def _log(self, row: Row) -> LogRecord:
        record_id = cast(str, row[2])
        return LogRecord(
            project=self._project,
            trace_id=cast(str, row[0]),
            span_id=cast(str, row[1]),
            record_id=record_id,
            time=cast(int, row[3]),
            observed_time=cast(int, row[4]),
            severity=cast(int, row[5]),
            severity_text=cast(str, row[6]),
            event_name=cast(str, row[7]),
            body=self._value(record_id, "body", cast(int, row[8]), cast(str, row[9])),
            pairs=self._columns(record_id, row, 10),
            dropped_attributes=cast(int, row[13]),
            flags=cast(int, row[14]),
            resource=self._shared.resource(cast(str, row[15])),
            scope=self._shared.scope(cast(str, row[16])),
        )

    def _columns(self, owner: str, row: Row, first: int) -> Pairs:
        keys, types, texts = cast("tuple[list[str], list[int], list[str]]", row[first : first + 3])
        return tuple(
            [
                # Most values are short strings: they are what the row holds.
                (key, text if type_number == 1 else self._value(owner, key, type_number, text))
                for key, type_number, text in zip(keys, types, texts, strict=True)
            ]
        )

    def _value(self, owner: str, key: str, type_number: int, text: str) -> Value:
        try:
            return decode(type_number, text, self._content)
        except LostContentError:
            self._lost.append((owner, key))
            return None

    def _attributes(self, owner: str, attributes: _Json) -> Pairs:
        triples = cast("list[tuple[str, int, str]]", attributes or [])
        return tuple([(key, self._value(owner, key, type_number, text)) for key, type_number, text in triples])

    def _events(self, owner: str, text: str) -> tuple[SpanEvent, ...]:
        return tuple(
            SpanEvent(
                time=int(cast(str, event.get("time", "0"))),
                name=cast(str, event.get("name", "")),
                pairs=self._attributes(owner, event.get("attributes")),
                dropped_attributes=cast(int, event.get("dropped", 0)),
            )
            for event in _objects(text)
        )

    def _links(self, owner: str, text: str) -> tuple[SpanLink, ...]:
        return tuple(
            SpanLink(
                trace_id=cast(str, link.get("trace_id", "")),
                span_id=cast(str, link.get("span_id", "")),
                trace_state=cast(str, link.get("trace_state", "")),
                pairs=self._attributes(owner, link.get("attributes")),
                dropped_attributes=cast(int, link.get("dropped", 0)),
                flags=cast(int, link.get("flags", 0)),
            )
            for link in _objects(text)
        )


class Shared:
    """Resources and scopes by their text. Their values are always in the row, so one copy serves every trace."""

    def __init__(self) -> None:
        self._resources: dict[str, Resource] = {}
        self._scopes: dict[str, Scope] = {}

    def resource(self, text: str) -> Resource:
        """Return the resource that the text spells."""
        found = self._resources.get(text)
        if found is None:
            fields = _object(text)
            found = self._resources[text] = Resource(
                attributes=_inline(fields),
                dropped_attributes=cast(int, fields.get("dropped", 0)),
                schema_url=cast(str, fields.get("schema_url", "")),
            )
        return found

    def scope(self, text: str) -> Scope:
        """Return the scope that the text spells."""
        found = self._scopes.get(text)
        if found is None:
            fields = _object(text)
            found = self._scopes[text] = Scope(
                name=cast(str, fields.get("name", "")),
                version=cast(str, fields.get("version", "")),
                attributes=_inline(fields),
                dropped_attributes=cast(int, fields.get("dropped", 0)),
                schema_url=cast(str, fields.get("schema_url", "")),
            )
        return found


def _inline(fields: Mapping[str, _Json]) -> Pairs:
    triples = cast("list[tuple[str, int, str]]", fields.get("attributes") or [])
    return tuple([(key, decode(type_number, text, {})) for key, type_number, text in triples])


def richest(rows: Iterable[Row]) -> Iterable[Row]:
    """Yield one row for each span id, that of the greatest version, also where a sender moved its start.

    Of equal versions the earlier start stands, and of equal rows that of the last path, which is what files in their
    order leave.
    """
    best: dict[object, Row] = {}
    for row in rows:
        known = best.setdefault(row[1], row)
        if known is not row and _rank(row) > _rank(known):
            best[row[1]] = row
    return best.values()


def _rank(row: Row) -> tuple[int, int, str]:
    return cast(int, row[23]), -cast(int, row[3]), cast(str, row[22])


def each_once(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of log records in order of time, then of ids; of one that came again that of the last path."""
    ordered = sorted(rows, key=lambda row: (row[3], row[2], row[18]))
    return list({(row[3], row[2]): row for row in ordered}.values())


def _named(names: Sequence[Name], number: int) -> Name:
    # A number that OTLP does not know (yet) reads as its zero value, as protobuf's own rule is.
    return names[number] if number < len(names) else names[0]


def _object(text: str) -> dict[str, _Json]:
    return cast("dict[str, _Json]", json.loads(text)) if text else {}


def _objects(text: str) -> list[dict[str, _Json]]:
    return cast("list[dict[str, _Json]]", json.loads(text)) if text else []
