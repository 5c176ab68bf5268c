"""Rows of our Parquet files back into the spans and log records that they were made of."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias, cast

from spanproof_collector.exporters.parquet import TYPES
from spanproof_collector.store import WholeLog, WholeSpan
from spanproof_collector.store.whole import Attribute, Attributes, WholeEvent, WholeLink, WholeResource, WholeScope

_Row: TypeAlias = Mapping[str, object]


def spans_of(rows: Iterable[_Row]) -> list[WholeSpan]:
    """Return the spans among the rows."""
    return [_span(row) for row in rows if row["record"] == "span"]


def logs_of(rows: Iterable[_Row]) -> list[WholeLog]:
    """Return the log records among the rows."""
    return [_log(row) for row in rows if row["record"] == "log_record"]


def _text(row: _Row, name: str) -> str:
    return cast("str | None", row[name]) or ""


def _count(row: _Row, name: str) -> int:
    return cast("int | None", row[name]) or 0


def _list(row: _Row, name: str) -> list[_Row]:
    return cast("list[_Row] | None", row[name]) or []


def _object(row: _Row, name: str) -> _Row | None:
    return cast("_Row | None", row[name])


def _attributes(row: _Row) -> Attributes:
    return tuple([_attribute(_text(each, "key"), each) for each in _list(row, "attributes")])


def _attribute(key: str, row: _Row) -> Attribute:
    return Attribute(key, TYPES.index(_text(row, "type")), _text(row, "value"))


def _resource(row: _Row | None) -> WholeResource:
    if row is None:
        return WholeResource()
    return WholeResource(
        attributes=_attributes(row),
        dropped_attributes=_count(row, "dropped_attributes"),
        schema_url=_text(row, "schema_url"),
    )


def _scope(row: _Row | None) -> WholeScope:
    if row is None:
        return WholeScope()
    return WholeScope(
        name=_text(row, "name"),
        version=_text(row, "version"),
        attributes=_attributes(row),
        dropped_attributes=_count(row, "dropped_attributes"),
        schema_url=_text(row, "schema_url"),
    )


def _span(row: _Row) -> WholeSpan:
    return WholeSpan(
        project=_text(row, "project"),
        trace_id=_text(row, "trace_id"),
        span_id=_text(row, "span_id"),
        parent_span_id=_text(row, "parent_span_id"),
        name=_text(row, "name"),
        kind=_count(row, "kind"),
        start=_count(row, "start_unix_nano"),
        end=_count(row, "end_unix_nano"),
        status=_count(row, "status"),
        status_message=_text(row, "status_message"),
        trace_state=_text(row, "trace_state"),
        flags=_count(row, "flags"),
        attributes=_attributes(row),
        dropped_attributes=_count(row, "dropped_attributes"),
        events=tuple(
            [
                WholeEvent(
                    time=_count(event, "time_unix_nano"),
                    name=_text(event, "name"),
                    attributes=_attributes(event),
                    dropped_attributes=_count(event, "dropped_attributes"),
                )
                for event in _list(row, "events")
            ]
        ),
        dropped_events=_count(row, "dropped_events"),
        links=tuple(
            [
                WholeLink(
                    trace_id=_text(link, "trace_id"),
                    span_id=_text(link, "span_id"),
                    trace_state=_text(link, "trace_state"),
                    attributes=_attributes(link),
                    dropped_attributes=_count(link, "dropped_attributes"),
                    flags=_count(link, "flags"),
                )
                for link in _list(row, "links")
            ]
        ),
        dropped_links=_count(row, "dropped_links"),
        resource=_resource(_object(row, "resource")),
        scope=_scope(_object(row, "scope")),
    )


def _log(row: _Row) -> WholeLog:
    body = _object(row, "body")
    return WholeLog(
        project=_text(row, "project"),
        trace_id=_text(row, "trace_id"),
        span_id=_text(row, "span_id"),
        record_id=_text(row, "record_id"),
        event_name=_text(row, "name"),
        time=_count(row, "start_unix_nano"),
        observed_time=_count(row, "observed_unix_nano"),
        severity=_count(row, "severity"),
        severity_text=_text(row, "severity_text"),
        body=Attribute("body", 0, "") if body is None else _attribute("body", body),
        attributes=_attributes(row),
        dropped_attributes=_count(row, "dropped_attributes"),
        flags=_count(row, "flags"),
        resource=_resource(_object(row, "resource")),
        scope=_scope(_object(row, "scope")),
    )
