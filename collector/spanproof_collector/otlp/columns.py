"""Walks protobuf requests once and returns columns for the store: spans and log records verbatim, content, steps.

The boundary at which a dialect that fails costs the projection of one span, and never the span, is ``_projected`` and
``_projected_log``: what is derived can be rebuilt, what is not stored is lost.
"""

import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import msgspec
from google.protobuf.message import DecodeError as ProtobufError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2
from zlib_ng.zlib_ng import crc32

from spanproof_collector.dialects import LogProjection, Projection, SpanView, project, project_log
from spanproof_collector.model.spans import SPAN_KINDS, STATUS_CODES, SpanEvent
from spanproof_collector.model.values import Value
from spanproof_collector.otlp import any_values
from spanproof_collector.otlp.attributes import read_attributes, spelled_attributes
from spanproof_collector.otlp.batch import Batch, Rejected
from spanproof_collector.otlp.content import Placer, Sent, TracePlacer
from spanproof_collector.otlp.decode import Signal
from spanproof_collector.otlp.identity import (
    broken_id,
    group_bytes,
    log_ids,
    parent_id,
    project_of,
    record_id,
    span_version,
)
from spanproof_collector.otlp.plain import EVENT, LINK, NotPlainError, plain_groups, refuse_deep_part
from spanproof_collector.otlp.refused import Refused
from spanproof_collector.otlp.shallow import Group, read_rest, read_span, shallow_records, spelled_groups, unread_fields

_logger = logging.getLogger(__name__)
_encode = msgspec.json.Encoder().encode
_read = any_values.read
_read_event = trace_pb2.Span.Event.FromString
_read_link = trace_pb2.Span.Link.FromString

_ERROR: Final = STATUS_CODES.index("ERROR")
_KINDS: Final = len(SPAN_KINDS)
_CODES: Final = len(STATUS_CODES)
MAX_SEVERITY: Final = 24

_TOGETHER: Final = 32
_TOGETHER_BYTES: Final = 256 * 1024
"""So many spans are taken through a step together, unless they are this big before."""

_SPAN_COLUMNS: Final = (
    "project",
    "trace_id",
    "span_id",
    "parent_span_id",
    "start_unix_nano",
    "end_unix_nano",
    "name",
    "kind",
    "status",
    "status_message",
    "trace_state",
    "flags",
    "attribute.key",
    "attribute.type",
    "attribute.value",
    "dropped_attributes",
    "events",
    "dropped_events",
    "links",
    "dropped_links",
    "resource",
    "scope",
    "version",
)
_LOG_COLUMNS: Final = (
    "project",
    "trace_id",
    "span_id",
    "record_id",
    "time_unix_nano",
    "observed_unix_nano",
    "severity",
    "severity_text",
    "event_name",
    "body_type",
    "body",
    "attribute.key",
    "attribute.type",
    "attribute.value",
    "dropped_attributes",
    "flags",
    "resource",
    "scope",
)
_STEP_SHARED: Final = (
    "project",
    "trace_id",
    "span_id",
    "parent_span_id",
    "start_unix_nano",
    "end_unix_nano",
    "name",
    "version",
)
_LOG_STEP_SHARED: Final = ("project", "trace_id", "span_id", "record_id", "time_unix_nano", "event_name")


class Origin(NamedTuple):
    """Where a request came from, as the columns ``source`` and ``path`` say it."""

    source: str = "otlp"
    path: str = ""


WIRE: Final = Origin()


def convert_traces(
    request: ExportTraceServiceRequest, sent: Sent, origin: Origin = WIRE, refused: Iterable[Refused] = ()
) -> Batch:
    """Return the rows of a traces request. Spans whose ids have no valid length are rejected alone.

    Args:
        request: what could be read.
        sent: content that the store has already.
        origin: where the request came from.
        refused: what of it could not be read.
    """
    return _convert_spans(spelled_groups(request), sent, origin, _rejected("traces", refused, origin), plain=False)


def convert_plain_traces(body: bytes, sent: Sent, origin: Origin = WIRE) -> Batch | None:
    """Return the rows of a traces request as it was sent, ``None`` where a span is rejected or nothing can be read.

    They are the rows that ``convert_traces`` makes of it, at half of the cost, but for the versions of spans that
    protobuf would spell in fewer or other bytes.
    """
    try:
        batch = _convert_spans(plain_groups(body), sent, origin, [], plain=True)
    except (NotPlainError, ProtobufError):
        return None
    return batch if batch.spans else None


def _convert_spans(
    groups: Iterable[Group], sent: Sent, origin: Origin, rejected: list[Rejected], *, plain: bool
) -> Batch:
    placer = Placer(sent)
    rows: list[tuple[object, ...]] = []
    projections: list[tuple[object, ...]] = []
    for group in groups:
        resource = _resource(group.resource, group.resource_url)
        project_name = project_of(group.resource)
        labels = _labels_of(group.resource)
        scope = _scope(group.scope, group.scope_url)
        scope_name = group.scope.name
        group_sum = crc32(group_bytes(group.resource, group.resource_url, group.scope, group.scope_url))
        traces: dict[bytes, TracePlacer] = {}
        for some in _together(group.spans):
            views = []
            for body, span in zip(some, [read_span(body) for body in some], strict=True):
                trace, span_id, parent = span.trace_id, span.span_id, span.parent_span_id
                reason = broken_id(trace, span_id, parent)
                if reason:
                    if plain:
                        raise NotPlainError
                    rejected += _rejected("traces", (Refused(reason, body),), origin)
                    continue
                of_trace = traces.get(trace)
                if of_trace is None:
                    of_trace = traces[trace] = placer.of_trace(project_name, trace.hex())
                keys, types, texts, values = read_attributes(span.attributes[:], of_trace, sent=plain)
                rest = _read_rest(body, of_trace, sent=plain) if unread_fields(span) else _NO_REST
                state, dropped, events, dropped_events, links, dropped_links, happened = rest
                kind = span.kind
                status = span.status
                code = status.code
                name = span.name
                rows.append(
                    (
                        project_name,
                        of_trace.trace_id,
                        span_id.hex(),
                        parent_id(parent),
                        span.start_time_unix_nano,
                        span.end_time_unix_nano,
                        name,
                        kind if 0 <= kind < _KINDS else 0,
                        code if 0 <= code < _CODES else 0,
                        status.message,
                        state,
                        span.flags,
                        keys,
                        types,
                        texts,
                        dropped,
                        events,
                        dropped_events,
                        links,
                        dropped_links,
                        resource,
                        scope,
                        span_version(body, group_sum),
                    )
                )
                views.append(
                    SpanView(
                        attributes=labels | values if labels else values,
                        scope=scope_name,
                        name=name,
                        events=tuple(map(_event, happened)) if happened else (),
                    )
                )
            projections += _projected(views)
    if not rows:
        return Batch(rejected=tuple(rejected))
    spans: dict[str, list[object]] = dict(zip(_SPAN_COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
    steps = {name: spans[name] for name in _STEP_SHARED}
    steps.update(zip(Projection._fields, map(list, zip(*projections, strict=True)), strict=True))
    steps["failed"] = [status == _ERROR for status in spans["status"]]
    _stamp(spans, steps, len(rows), origin)
    return Batch(spans=spans, steps=steps, content=placer.finish(), rejected=tuple(rejected))


def _together(bodies: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield the spans that take each step before any takes the next: its code, and they, stay in the caches."""
    some: list[bytes] = []
    size = 0
    for body in bodies:
        some.append(body)
        size += len(body)
        if len(some) == _TOGETHER or size > _TOGETHER_BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some


_Rest: TypeAlias = tuple[str, int, str, int, str, int, tuple[trace_pb2.Span.Event, ...]]
"""Trace state; dropped attributes; events as JSON, dropped ones; links as JSON, dropped ones; the events."""

_NO_REST: Final[_Rest] = ("", 0, "", 0, "", 0, ())


def _read_rest(body: bytes, placer: TracePlacer, *, sent: bool) -> _Rest:
    rest = read_rest(body)
    events, links = rest.events, rest.links
    if sent:
        for number, parts in ((EVENT, events), (LINK, links)):
            for part in parts:
                refuse_deep_part(number, part)
    happened = tuple(map(_read_event, events))
    return (
        rest.trace_state,
        rest.dropped_attributes_count,
        _events(happened, placer) if happened else "",
        rest.dropped_events_count,
        _links(map(_read_link, links), placer) if links else "",
        rest.dropped_links_count,
        happened,
    )


def convert_logs(
    request: ExportLogsServiceRequest, sent: Sent, origin: Origin = WIRE, refused: Iterable[Refused] = ()
) -> Batch:
    """Return the rows of a logs request. An id of no valid length counts as absent, as OTLP asks of receivers.

    Args:
        request: what could be read.
        sent: content that the store has already.
        origin: where the request came from.
        refused: what of it could not be read.
    """
    rejected = tuple(_rejected("logs", refused, origin))
    placer = Placer(sent)
    rows: list[tuple[object, ...]] = []
    projections: list[LogProjection] = []
    for group in request.resource_logs:
        resource = _resource(group.resource, group.schema_url)
        project_name = project_of(group.resource)
        labels = _labels_of(group.resource)
        for scope_logs in group.scope_logs:
            scope = _scope(scope_logs.scope, scope_logs.schema_url)
            shared = group_bytes(group.resource, group.schema_url, scope_logs.scope, scope_logs.schema_url)
            for serialized, record in shallow_records(scope_logs):
                trace_id, span_id = log_ids(record)
                of_trace = placer.of_trace(project_name, trace_id) if trace_id else None
                keys, types, texts, values = read_attributes(record.attributes, of_trace)
                body_type, body, body_value = _read(record.body)
                if of_trace is not None:
                    body_type, body = of_trace.place(body_type, body)
                severity = record.severity_number
                event_name = record.event_name or older_event_name(values)
                rows.append(
                    (
                        project_name,
                        trace_id,
                        span_id,
                        record_id(serialized, shared),
                        record.time_unix_nano,
                        record.observed_time_unix_nano,
                        severity if 0 <= severity <= MAX_SEVERITY else 0,
                        record.severity_text,
                        event_name,
                        body_type,
                        body,
                        keys,
                        types,
                        texts,
                        record.dropped_attributes_count,
                        record.flags,
                        resource,
                        scope,
                    )
                )
                projections.append(
                    _projected_log(labels | values if labels else values, event_name, body_value, scope_logs.scope.name)
                )
    if not rows:
        return Batch(rejected=rejected)
    records: dict[str, list[object]] = dict(zip(_LOG_COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
    steps = {name: records[name] for name in _LOG_STEP_SHARED}
    steps.update(zip(LogProjection._fields, map(list, zip(*projections, strict=True)), strict=True))
    _stamp(records, steps, len(rows), origin)
    return Batch(log_records=records, log_steps=steps, content=placer.finish(), rejected=rejected)


def _stamp(rows: dict[str, list[object]], steps: dict[str, list[object]], count: int, origin: Origin) -> None:
    now: list[object] = [time.time_ns() // 1_000_000] * count
    rows["source"] = [origin.source] * count
    rows["path"] = [origin.path] * count
    rows["ingested_at"] = now
    steps["ingested_at"] = now


def _rejected(signal: Signal, refused: Iterable[Refused], origin: Origin) -> list[Rejected]:
    shown = f"{origin.source} {origin.path}".rstrip()
    return [Rejected(signal=signal, reason=each.reason, body=each.body, origin=shown) for each in refused]


def _projected(spans: Sequence[SpanView]) -> list[tuple[object, ...]]:
    try:
        return project(spans)
    except Exception:
        return [_projected_alone(span) for span in spans]


def _projected_alone(span: SpanView) -> tuple[object, ...]:
    try:
        return project([span])[0]
    except Exception:
        _logger.exception("a dialect fails on a span of scope %r, which is stored without a projection", span.scope)
        return project([SpanView(attributes={})])[0]


def _event(event: trace_pb2.Span.Event) -> SpanEvent:
    return SpanEvent(
        time=event.time_unix_nano,
        name=event.name,
        pairs=tuple((pair.key, any_values.plain(pair.value)) for pair in event.attributes),
    )


def _projected_log(values: dict[str, Value], event_name: str, body: Value, scope_name: str) -> LogProjection:
    try:
        return project_log(values, event_name=event_name, body=body, scope_name=scope_name)
    except Exception:
        _logger.exception("a dialect fails on event %r, which is stored without a projection", event_name)
        return project_log({}, event_name="", body=None)


def older_event_name(values: Mapping[str, Value]) -> str:
    """Return the event name that older senders put into an attribute, or ``""``."""
    older = values.get("event.name")
    return older if isinstance(older, str) else ""


def _events(events: Iterable[trace_pb2.Span.Event], placer: TracePlacer) -> str:
    return _encode(
        [
            {
                "time": str(event.time_unix_nano),
                "name": event.name,
                "attributes": spelled_attributes(event.attributes, placer),
                "dropped": event.dropped_attributes_count,
            }
            for event in events
        ]
    ).decode()


def _links(links: Iterable[trace_pb2.Span.Link], placer: TracePlacer) -> str:
    return _encode(
        [
            {
                "trace_id": link.trace_id.hex(),
                "span_id": link.span_id.hex(),
                "trace_state": link.trace_state,
                "attributes": spelled_attributes(link.attributes, placer),
                "dropped": link.dropped_attributes_count,
                "flags": link.flags,
            }
            for link in links
        ]
    ).decode()


def _labels_of(resource: resource_pb2.Resource) -> dict[str, Value]:
    """Return the labels that a resource carries for all of its spans."""
    return {pair.key: any_values.plain(pair.value) for pair in resource.attributes if pair.key.startswith("spanproof.")}


def _resource(resource: resource_pb2.Resource, schema_url: str) -> str:
    return _encode(
        {
            "attributes": spelled_attributes(resource.attributes, None),
            "dropped": resource.dropped_attributes_count,
            "schema_url": schema_url,
        }
    ).decode()


def _scope(scope: common_pb2.InstrumentationScope, schema_url: str) -> str:
    return _encode(
        {
            "name": scope.name,
            "version": scope.version,
            "attributes": spelled_attributes(scope.attributes, None),
            "dropped": scope.dropped_attributes_count,
            "schema_url": schema_url,
        }
    ).decode()
