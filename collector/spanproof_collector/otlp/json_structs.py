"""The JSON objects of OTLP, member for member. Numbers may come as text; what is unknown is ignored."""

import msgspec


class Struct(msgspec.Struct, rename="camel", gc=False):
    """One JSON object of OTLP. A member that is null counts as absent."""


class ArrayValue(Struct):
    """An array."""

    values: "list[AnyValue] | None" = None


class KvList(Struct):
    """Pairs of key and value."""

    values: "list[KeyValue] | None" = None


class AnyValue(Struct):
    """A value; the first member that is there counts."""

    string_value: str | None = None
    bool_value: bool | None = None
    int_value: int | None = None
    double_value: float | None = None
    array_value: ArrayValue | None = None
    kvlist_value: KvList | None = None
    bytes_value: str | None = None


class KeyValue(Struct):
    """An attribute."""

    key: str | None = None
    value: AnyValue | None = None


class Resource(Struct):
    """A resource."""

    attributes: list[KeyValue] | None = None
    dropped_attributes_count: int | None = None


class Scope(Struct):
    """An instrumentation scope."""

    name: str | None = None
    version: str | None = None
    attributes: list[KeyValue] | None = None
    dropped_attributes_count: int | None = None


class Status(Struct):
    """A span's status."""

    message: str | None = None
    code: int | None = None


class Event(Struct):
    """A span's event."""

    time_unix_nano: int | None = None
    name: str | None = None
    attributes: list[KeyValue] | None = None
    dropped_attributes_count: int | None = None


class Link(Struct):
    """A span's link."""

    trace_id: str | None = None
    span_id: str | None = None
    trace_state: str | None = None
    attributes: list[KeyValue] | None = None
    dropped_attributes_count: int | None = None
    flags: int | None = None


class Span(Struct):
    """A span."""

    trace_id: str | None = None
    span_id: str | None = None
    trace_state: str | None = None
    parent_span_id: str | None = None
    flags: int | None = None
    name: str | None = None
    kind: int | None = None
    start_time_unix_nano: int | None = None
    end_time_unix_nano: int | None = None
    attributes: list[KeyValue] | None = None
    dropped_attributes_count: int | None = None
    events: list[Event] | None = None
    dropped_events_count: int | None = None
    links: list[Link] | None = None
    dropped_links_count: int | None = None
    status: Status | None = None


class ScopeSpans(Struct):
    """Spans of one scope, each unread."""

    scope: Scope | None = None
    spans: list[msgspec.Raw] | None = None
    schema_url: str | None = None


class ResourceSpans(Struct):
    """Spans of one resource."""

    resource: Resource | None = None
    scope_spans: list[ScopeSpans] | None = None
    schema_url: str | None = None


class LogRecord(Struct):
    """A log record."""

    time_unix_nano: int | None = None
    observed_time_unix_nano: int | None = None
    severity_number: int | None = None
    severity_text: str | None = None
    body: AnyValue | None = None
    attributes: list[KeyValue] | None = None
    dropped_attributes_count: int | None = None
    flags: int | None = None
    trace_id: str | None = None
    span_id: str | None = None
    event_name: str | None = None


class ScopeLogs(Struct):
    """Log records of one scope, each unread."""

    scope: Scope | None = None
    log_records: list[msgspec.Raw] | None = None
    schema_url: str | None = None


class ResourceLogs(Struct):
    """Log records of one resource."""

    resource: Resource | None = None
    scope_logs: list[ScopeLogs] | None = None
    schema_url: str | None = None


class Traces(Struct):
    """A traces request."""

    resource_spans: list[ResourceSpans] | None = None


class Logs(Struct):
    """A logs request."""

    resource_logs: list[ResourceLogs] | None = None


class TracesApart(Struct):
    """A traces request, each of its groups unread."""

    resource_spans: list[msgspec.Raw] | None = None


class LogsApart(Struct):
    """A logs request, each of its groups unread."""

    resource_logs: list[msgspec.Raw] | None = None
