"""Spans as the SDKs of OpenTelemetry print them: Python, JavaScript and Go, each with spellings of its own."""

import math
from collections.abc import Iterable, Mapping
from typing import Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from spanproof_collector.importers._fields import fingerprint, listed, moment, obj, objects, text, whole
from spanproof_collector.model.values import Json

Item = Mapping[str, Json]

_TRACE_DIGITS: Final = 32
_SPAN_DIGITS: Final = 16
_MICROSECOND: Final = 1_000
_KINDS: Final = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
_CODES: Final = ("UNSET", "OK", "ERROR")
_MARKS: Final = frozenset({"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.system", "openinference.span.kind"})


class NoSpanError(Exception):
    """A value that is no span, and why."""


def is_span(value: Item) -> bool:
    """True for what an SDK prints of a span, and for its attributes alone."""
    context = _context(value)
    if context:
        return any(key in context for key in ("trace_id", "traceId", "TraceID"))
    if "traceId" in value and "timestamp" in value and "duration" in value:
        return True
    return is_attributes(value)


def is_attributes(value: Item) -> bool:
    """True for attributes that somebody kept without their span."""
    return bool(_MARKS & value.keys()) and all("." in key for key in value)


def request_of(spans: Iterable[tuple[Span, Item]]) -> ExportTraceServiceRequest:
    """Return one request with these spans, by resource and scope; each comes with the value that it was read from."""
    groups: dict[str, tuple[ResourceSpans, dict[str, ScopeSpans]]] = {}
    request = ExportTraceServiceRequest()
    for span, value in spans:
        resource = value.get("resource", value.get("Resource"))
        scope = next((found for key in _SCOPES if (found := obj(value.get(key)))), {})
        mark = fingerprint(resource)
        if mark not in groups:
            told = obj(resource)
            group = ResourceSpans(
                resource=Resource(attributes=_pairs(_attributes_of(resource))),
                schema_url=text(told.get("schema_url")) or text(told.get("schemaUrl")) or "",
            )
            groups[mark] = (group, {})
        scopes = groups[mark][1]
        inner = scopes.setdefault(fingerprint(dict(scope)), ScopeSpans(scope=_scope(scope)))
        inner.spans.append(span)
    for group, scopes in groups.values():
        group.scope_spans.extend(scopes.values())
        request.resource_spans.append(group)
    return request


_SCOPES: Final = (
    "instrumentation_scope",
    "instrumentationScope",
    "instrumentationLibrary",
    "InstrumentationScope",
    "InstrumentationLibrary",
    "scope",
)


def _scope(scope: Item) -> InstrumentationScope:
    return InstrumentationScope(
        name=text(scope.get("name", scope.get("Name"))) or "",
        version=text(scope.get("version", scope.get("Version"))) or "",
    )


def span_of(value: Item) -> Span:
    """Return the span that an SDK printed.

    Raises:
        NoSpanError: it has no valid ids.
    """
    if is_attributes(value):
        return _bare(value)
    context = _context(value) or {"traceId": value.get("traceId"), "spanId": value.get("id", value.get("spanId"))}
    start, end = _times(value)
    status = obj(_first(value, "status", "Status"))
    state = _first(context, "trace_state", "traceState", "TraceState")
    return Span(
        trace_id=_id(_first(context, "trace_id", "traceId", "TraceID"), _TRACE_DIGITS),
        span_id=_id(_first(context, "span_id", "spanId", "SpanID"), _SPAN_DIGITS),
        parent_span_id=_parent(value),
        trace_state=state if isinstance(state, str) and state != "[]" else "",
        name=text(_first(value, "name", "Name")) or "",
        kind=_kind(value),
        start_time_unix_nano=start,
        end_time_unix_nano=end,
        attributes=_pairs(_attributes_of(_first(value, "attributes", "Attributes"))),
        events=[_event(event) for event in objects(_first(value, "events", "Events"))],
        links=[link for item in objects(_first(value, "links", "Links")) if (link := _link(item)) is not None],
        status=Status(
            code=_code(_first(status, "status_code", "code", "Code")),
            message=text(_first(status, "description", "message", "Description")) or "",
        ),
        dropped_attributes_count=_dropped(value, "droppedAttributesCount", "DroppedAttributes"),
        dropped_events_count=_dropped(value, "droppedEventsCount", "DroppedEvents"),
        dropped_links_count=_dropped(value, "droppedLinksCount", "DroppedLinks"),
    )


def _bare(attributes: Item) -> Span:
    """Return a span of nothing but its attributes: its ids are a hash of them, and it has no time."""
    digest = bytes.fromhex(fingerprint(dict(attributes)))
    name = " ".join(
        filter(None, (text(attributes.get("gen_ai.operation.name")), text(attributes.get("gen_ai.request.model"))))
    )
    marked = dict(attributes) | {"spanproof.time.synthetic": True}
    return Span(
        trace_id=digest,
        span_id=digest[:8],
        name=name,
        start_time_unix_nano=1_000_000_000,
        end_time_unix_nano=1_000_000_000,
        attributes=_pairs(marked),
    )


def _first(value: Item, *keys: str) -> Json:
    return next((value[key] for key in keys if value.get(key) is not None), None)


def _context(value: Item) -> Item:
    return obj(_first(value, "context", "spanContext", "SpanContext", "_spanContext"))


def _id(value: Json, digits: int) -> bytes:
    """Return an id: Python prints numbers and ``0x…``, the others hex.

    Raises:
        NoSpanError: it is none.
    """
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 16**digits:
        return value.to_bytes(digits // 2, "big")
    if isinstance(value, str):
        plain = value.removeprefix("0x")
        try:
            found = bytes.fromhex(plain.rjust(digits, "0") if value.startswith("0x") else plain)
        except ValueError:
            found = b""
        if len(found) * 2 == digits:
            return found
    raise NoSpanError(f"no span: {'trace' if digits == _TRACE_DIGITS else 'span'} id {str(value)[:40]!r}")


def _parent(value: Item) -> bytes:
    parent = _first(value, "parent_id", "parentSpanId", "parentId", "ParentSpanID")
    if parent is None:
        around = obj(_first(value, "parent", "parentSpanContext", "Parent"))
        parent = _first(around, "span_id", "spanId", "SpanID")
    if parent is None or parent == "" or set(str(parent)) <= {"0", "x"}:
        return b""
    return _id(parent, _SPAN_DIGITS)


def _times(value: Item) -> tuple[int, int]:
    started = _first(value, "start_time", "startTime", "StartTime", "startTimeUnixNano")
    if started is None and "duration" in value:  # the console of JavaScript, in microseconds
        begin = (whole(value.get("timestamp")) or 0) * _MICROSECOND
        took = value.get("duration")
        return begin, begin + (round(took * _MICROSECOND) if isinstance(took, int | float) else 0)
    return _time(started), _time(_first(value, "end_time", "endTime", "EndTime", "endTimeUnixNano"))


def _time(value: Json) -> int:
    """Return Unix nanoseconds: a text, a number, or JavaScript's pair of seconds and nanoseconds."""
    match value:
        case [int() as seconds, int() as nanoseconds]:
            return seconds * 1_000_000_000 + nanoseconds
        case str() if value.isascii() and value.isdigit():
            return moment(int(value)) or 0
        case _:
            return moment(value) or 0


def _kind(value: Item) -> Span.SpanKind.ValueType:
    kind = _first(value, "kind", "SpanKind")
    if isinstance(kind, str):
        named = kind.rpartition(".")[2].removeprefix("SPAN_KIND_").upper()
        place = _KINDS.index(named) if named in _KINDS else 0
    elif isinstance(kind, int) and not isinstance(kind, bool):
        place = kind if "SpanKind" in value or "context" in value else kind + 1  # JavaScript counts from INTERNAL
    else:
        place = 0
    return Span.SpanKind.ValueType(place if 0 <= place < len(_KINDS) else 0)


def _code(value: Json) -> Status.StatusCode.ValueType:
    if isinstance(value, str):
        named = value.rpartition(".")[2].removeprefix("STATUS_CODE_").upper()
        return Status.StatusCode.ValueType(_CODES.index(named) if named in _CODES else 0)
    known = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(_CODES)
    return Status.StatusCode.ValueType(value if known and isinstance(value, int) else 0)


def _event(event: Item) -> Span.Event:
    return Span.Event(
        name=text(_first(event, "name", "Name")) or "",
        time_unix_nano=_time(_first(event, "timestamp", "time", "Time")),
        attributes=_pairs(_attributes_of(_first(event, "attributes", "Attributes"))),
        dropped_attributes_count=_dropped(event, "droppedAttributesCount", "DroppedAttributeCount"),
    )


def _link(link: Item) -> Span.Link | None:
    context = _context(link)
    try:
        return Span.Link(
            trace_id=_id(_first(context, "trace_id", "traceId", "TraceID"), _TRACE_DIGITS),
            span_id=_id(_first(context, "span_id", "spanId", "SpanID"), _SPAN_DIGITS),
            attributes=_pairs(_attributes_of(_first(link, "attributes", "Attributes"))),
        )
    except NoSpanError:
        return None


def _dropped(value: Item, *keys: str) -> int:
    return min(whole(_first(value, *keys)) or 0, 2**32 - 1)


def _attributes_of(value: Json) -> Item:
    """Return attributes: a mapping, a resource that holds one, or Go's list of keys and typed values."""
    if isinstance(value, list):
        return {str(item["Key"]): obj(item.get("Value")).get("Value") for item in objects(value) if "Key" in item}
    held = obj(value)
    if isinstance(held.get("attributes"), dict):
        return obj(held["attributes"])
    raw = held.get("_rawAttributes")
    if isinstance(raw, list):
        pairs = [listed(pair) for pair in raw]
        return {str(pair[0]): pair[1] for pair in pairs if len(pair) == 2}
    return held


def _pairs(attributes: Item) -> list[KeyValue]:
    return [KeyValue(key=key, value=_any_value(value)) for key, value in attributes.items()]


def _any_value(value: Json) -> AnyValue:
    match value:
        case None:
            return AnyValue()
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value) if -(2**63) <= value < 2**63 else AnyValue(string_value=str(value))
        case float():
            return AnyValue(double_value=value) if math.isfinite(value) else AnyValue(string_value=str(value))
        case str():
            return AnyValue(string_value=value.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        case list():
            return AnyValue(array_value=ArrayValue(values=map(_any_value, value)))
        case _:
            return AnyValue(kvlist_value=KeyValueList(values=_pairs(value)))
