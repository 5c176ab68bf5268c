"""Spans and log records with every value in full, as they lie in the store: for whoever copies them without loss.

Unlike ``records``, nothing is read as Python would have it: duplicate keys inside of lists of pairs and the spelling of
numbers stay. A value is what the AnyValue was (``values``: EMPTY to BYTES) and its text.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias, cast

from spanproof_collector.store.loose import read_loose_content
from spanproof_collector.store.queries import Query
from spanproof_collector.store.records import Row, each_once, richest
from spanproof_collector.store.store import Store
from spanproof_collector.store.values import EMPTY, LostContentError, whole_text

_Json: TypeAlias = "list[_Json] | dict[str, _Json] | str | int | float | bool | None"
_TRACES_PER_READ: Final = 50


class Attribute(NamedTuple):
    """A key, what its AnyValue was, and the text of that."""

    key: str
    kind: int
    text: str


Attributes: TypeAlias = tuple[Attribute, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeResource:
    """Who sent it."""

    attributes: Attributes = ()
    dropped_attributes: int = 0
    schema_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeScope:
    """The instrumentation library that wrote it."""

    name: str = ""
    version: str = ""
    attributes: Attributes = ()
    dropped_attributes: int = 0
    schema_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeEvent:
    """A moment inside a span. Time in Unix nanoseconds."""

    time: int
    name: str
    attributes: Attributes = ()
    dropped_attributes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeLink:
    """A reference to another span."""

    trace_id: str
    span_id: str
    trace_state: str = ""
    attributes: Attributes = ()
    dropped_attributes: int = 0
    flags: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeSpan:
    """One span. Ids are lower-case hex, times Unix nanoseconds, kind and status OTLP's numbers."""

    project: str
    trace_id: str
    span_id: str
    parent_span_id: str = ""
    trace_state: str = ""
    flags: int = 0
    name: str = ""
    kind: int = 0
    start: int = 0
    end: int = 0
    status: int = 0
    status_message: str = ""
    attributes: Attributes = ()
    dropped_attributes: int = 0
    events: tuple[WholeEvent, ...] = ()
    dropped_events: int = 0
    links: tuple[WholeLink, ...] = ()
    dropped_links: int = 0
    resource: WholeResource = WholeResource()
    scope: WholeScope = WholeScope()


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeLog:
    """One log record. ``event_name`` is the field, else the older attribute of that name."""

    project: str
    trace_id: str = ""
    span_id: str = ""
    record_id: str = ""
    time: int = 0
    observed_time: int = 0
    severity: int = 0
    severity_text: str = ""
    event_name: str = ""
    body: Attribute = Attribute("body", EMPTY, "")
    attributes: Attributes = ()
    dropped_attributes: int = 0
    flags: int = 0
    resource: WholeResource = WholeResource()
    scope: WholeScope = WholeScope()


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeTrace:
    """What is stored of one trace. ``lost`` counts values whose content row is not there: they read as empty."""

    project: str
    trace_id: str
    spans: tuple[WholeSpan, ...] = ()
    logs: tuple[WholeLog, ...] = ()
    lost: int = 0


def read_whole(store: Store, traces: Sequence[tuple[str, str]]) -> Iterator[WholeTrace]:
    """Yield these traces, each (project, trace id); one that is not there is left out.

    The content of at most 50 traces lies in memory at once.
    """
    by_project: dict[str, dict[str, None]] = defaultdict(dict)
    for project, trace_id in traces:
        by_project[project][trace_id] = None
    shared = _Shared()
    for project, found in by_project.items():
        asked = list(found)
        for first in range(0, len(asked), _TRACES_PER_READ):
            yield from _read_some(store, project, asked[first : first + _TRACES_PER_READ], shared)


def read_loose_whole(store: Store, project: str, record_ids: Sequence[str]) -> list[WholeLog]:
    """Return these of the log records that name no trace."""
    rows = store.rows(Query.READ_LOG_RECORDS_BY_ID, {"project": project, "records": list(record_ids)})
    reader = _Reader(project, read_loose_content(store, project, rows), _Shared())
    return [reader.log(row) for row in rows]


def _read_some(store: Store, project: str, traces: list[str], shared: "_Shared") -> Iterator[WholeTrace]:
    parameters = {"project": project, "traces": traces}
    spans: dict[str, list[Row]] = defaultdict(list)
    logs: dict[str, list[Row]] = defaultdict(list)
    content: dict[str, dict[str, str]] = defaultdict(dict)
    for row in store.rows(Query.READ_SPANS, parameters):
        spans[cast(str, row[0])].append(row)
    for row in store.rows(Query.READ_LOG_RECORDS, parameters):
        logs[cast(str, row[0])].append(row)
    for trace_id, digest, body in cast("list[tuple[str, str, str]]", store.rows(Query.READ_CONTENT, parameters)):
        content[trace_id][digest] = body
    for trace_id in traces:
        if trace_id in spans or trace_id in logs:
            reader = _Reader(project, content.get(trace_id, {}), shared)
            ordered = sorted(richest(spans.get(trace_id, ())), key=lambda row: (row[3], row[1]))
            yield WholeTrace(
                project=project,
                trace_id=trace_id,
                spans=tuple([reader.span(row) for row in ordered]),
                logs=tuple([reader.log(row) for row in each_once(logs.get(trace_id, ()))]),
                lost=reader.lost,
            )


class _Shared:
    """Resources and scopes by their text; their values are always in the row."""

    def __init__(self) -> None:
        self._resources: dict[str, WholeResource] = {}
        self._scopes: dict[str, WholeScope] = {}

    def resource(self, text: str) -> WholeResource:
        found = self._resources.get(text)
        if found is None:
            fields = _object(text)
            found = self._resources[text] = WholeResource(
                attributes=_triples(fields.get("attributes")),
                dropped_attributes=cast(int, fields.get("dropped", 0)),
                schema_url=cast(str, fields.get("schema_url", "")),
            )
        return found

    def scope(self, text: str) -> WholeScope:
        found = self._scopes.get(text)
        if found is None:
            fields = _object(text)
            found = self._scopes[text] = WholeScope(
                name=cast(str, fields.get("name", "")),
                version=cast(str, fields.get("version", "")),
                attributes=_triples(fields.get("attributes")),
                dropped_attributes=cast(int, fields.get("dropped", 0)),
                schema_url=cast(str, fields.get("schema_url", "")),
            )
        return found


class _Reader:
    """Reads rows in the columns of READ_SPANS and READ_LOG_RECORDS."""

    def __init__(self, project: str, content: Mapping[str, str], shared: _Shared) -> None:
        self._project = project
        self._content = content
        self._shared = shared
        self.lost = 0

    def span(self, row: Row) -> WholeSpan:
        return WholeSpan(
            project=self._project,
            trace_id=cast(str, row[0]),
            span_id=cast(str, row[1]),
            parent_span_id=cast(str, row[2]),
            start=cast(int, row[3]),
            end=cast(int, row[4]),
            name=cast(str, row[5]),
            kind=cast(int, row[6]),
            status=cast(int, row[7]),
            status_message=cast(str, row[8]),
            trace_state=cast(str, row[9]),
            flags=cast(int, row[10]),
            attributes=self._columns(row, 11),
            dropped_attributes=cast(int, row[14]),
            events=tuple(
                [
                    WholeEvent(
                        time=int(cast(str, event.get("time", "0"))),
                        name=cast(str, event.get("name", "")),
                        attributes=self._attributes(event.get("attributes")),
                        dropped_attributes=cast(int, event.get("dropped", 0)),
                    )
                    for event in _objects(cast(str, row[15]))
                ]
            ),
            dropped_events=cast(int, row[16]),
            links=tuple(
                [
                    WholeLink(
                        trace_id=cast(str, link.get("trace_id", "")),
                        span_id=cast(str, link.get("span_id", "")),
                        trace_state=cast(str, link.get("trace_state", "")),
                        attributes=self._attributes(link.get("attributes")),
                        dropped_attributes=cast(int, link.get("dropped", 0)),
                        flags=cast(int, link.get("flags", 0)),
                    )
                    for link in _objects(cast(str, row[17]))
                ]
            ),
            dropped_links=cast(int, row[18]),
            resource=self._shared.resource(cast(str, row[19])),
            scope=self._shared.scope(cast(str, row[20])),
        )

    def log(self, row: Row) -> WholeLog:
        return WholeLog(
            project=self._project,
            trace_id=cast(str, row[0]),
            span_id=cast(str, row[1]),
            record_id=cast(str, row[2]),
            time=cast(int, row[3]),
            observed_time=cast(int, row[4]),
            severity=cast(int, row[5]),
            severity_text=cast(str, row[6]),
            event_name=cast(str, row[7]),
            body=self._attribute("body", cast(int, row[8]), cast(str, row[9])),
            attributes=self._columns(row, 10),
            dropped_attributes=cast(int, row[13]),
            flags=cast(int, row[14]),
            resource=self._shared.resource(cast(str, row[15])),
            scope=self._shared.scope(cast(str, row[16])),
        )

    def _columns(self, row: Row, first: int) -> Attributes:
        keys, types, texts = cast("tuple[list[str], list[int], list[str]]", row[first : first + 3])
        return tuple([self._attribute(*each) for each in zip(keys, types, texts, strict=True)])

    def _attributes(self, attributes: _Json) -> Attributes:
        return tuple([self._attribute(*each) for each in _triples(attributes)])

    def _attribute(self, key: str, type_number: int, text: str) -> Attribute:
        try:
            return Attribute(key, *whole_text(type_number, text, self._content))
        except LostContentError:
            self.lost += 1
            return Attribute(key, EMPTY, "")


def _triples(attributes: _Json) -> Attributes:
    return tuple([Attribute(*each) for each in cast("list[tuple[str, int, str]]", attributes or [])])


def _object(text: str) -> dict[str, _Json]:
    return cast("dict[str, _Json]", json.loads(text)) if text else {}


def _objects(text: str) -> list[dict[str, _Json]]:
    return cast("list[dict[str, _Json]]", json.loads(text)) if text else []
