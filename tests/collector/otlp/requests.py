"""Requests of every shape that OTLP allows, for property tests."""

from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

_words = st.text(st.characters(codec="utf-8"), max_size=12)
_long = st.one_of(
    st.integers(500, 530).map(lambda length: "x" * length),
    st.integers(120, 300).map(lambda length: "é" * length),
    st.lists(st.text('ab \\"', max_size=200), min_size=1, max_size=6).map(lambda items: str(items)),
    st.lists(st.integers(40, 400), min_size=2, max_size=5).map(
        lambda sizes: "[" + ", ".join('{"content": "' + "y" * size + '"}' for size in sizes) + "]"
    ),
    st.lists(st.integers(40, 400), min_size=2, max_size=5).map(
        lambda sizes: "[" + ",".join('{"content":"' + "z" * size + '"}' for size in sizes) + "]"
    ),
)
_keys = st.sampled_from(["a", "b", "gen_ai.input.messages", "gen_ai.operation.name", "event.name", ""])
_int64 = st.integers(-(2**63), 2**63 - 1)
_uint64 = st.integers(0, 2**64 - 1)
_uint32 = st.integers(0, 2**32 - 1)

_scalars = st.one_of(
    st.just(AnyValue()),
    _words.map(lambda text: AnyValue(string_value=text)),
    _long.map(lambda text: AnyValue(string_value=text)),
    st.booleans().map(lambda truth: AnyValue(bool_value=truth)),
    _int64.map(lambda number: AnyValue(int_value=number)),
    # NaN is unequal to itself; a test of its own reads it back.
    st.floats(allow_nan=False).map(lambda number: AnyValue(double_value=number)),
    st.binary(max_size=600).map(lambda data: AnyValue(bytes_value=data)),
)


def _pairs(values: st.SearchStrategy[AnyValue], most: int) -> st.SearchStrategy[list[KeyValue]]:
    return st.lists(st.builds(lambda key, value: KeyValue(key=key, value=value), _keys, values), max_size=most)


values = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda items: AnyValue(array_value=ArrayValue(values=items))),
        _pairs(inner, 4).map(lambda pairs: AnyValue(kvlist_value=KeyValueList(values=pairs))),
    ),
    max_leaves=6,
)
attributes = _pairs(values, 6)
_trace_ids = st.binary(min_size=16, max_size=16).filter(any)
_span_ids = st.binary(min_size=8, max_size=8).filter(any)
_resources = st.builds(
    lambda pairs, dropped: Resource(attributes=pairs, dropped_attributes_count=dropped), _pairs(values, 3), _uint32
)
_scopes = st.builds(
    lambda name, version, pairs, dropped: InstrumentationScope(
        name=name, version=version, attributes=pairs, dropped_attributes_count=dropped
    ),
    _words,
    _words,
    _pairs(values, 2),
    _uint32,
)
_events = st.builds(
    lambda time, name, pairs, dropped: Span.Event(
        time_unix_nano=time, name=name, attributes=pairs, dropped_attributes_count=dropped
    ),
    _uint64,
    _words,
    _pairs(values, 3),
    _uint32,
)
_links = st.builds(
    lambda trace, span, state, pairs, dropped, flags: Span.Link(
        trace_id=trace, span_id=span, trace_state=state, attributes=pairs, dropped_attributes_count=dropped, flags=flags
    ),
    _trace_ids,
    _span_ids,
    _words,
    _pairs(values, 2),
    _uint32,
    _uint32,
)
_statuses = st.builds(lambda code, message: Status(code=code, message=message), st.integers(0, 2), _words)


@st.composite
def _span(draw: st.DrawFn) -> Span:
    return Span(
        trace_id=draw(_trace_ids),
        span_id=draw(_span_ids),
        parent_span_id=draw(st.one_of(st.just(b""), _span_ids)),
        trace_state=draw(_words),
        flags=draw(_uint32),
        name=draw(_words),
        kind=draw(st.integers(0, 5)),  # type: ignore[arg-type]  # enums are open
        start_time_unix_nano=draw(_uint64),
        end_time_unix_nano=draw(_uint64),
        attributes=draw(attributes),
        dropped_attributes_count=draw(_uint32),
        events=draw(st.lists(_events, max_size=2)),
        dropped_events_count=draw(_uint32),
        links=draw(st.lists(_links, max_size=2)),
        dropped_links_count=draw(_uint32),
        status=draw(_statuses),
    )


@st.composite
def _record(draw: st.DrawFn) -> LogRecord:
    in_trace = draw(st.booleans())
    return LogRecord(
        trace_id=draw(_trace_ids) if in_trace else b"",
        span_id=draw(_span_ids) if in_trace else b"",
        time_unix_nano=draw(_uint64),
        observed_time_unix_nano=draw(_uint64),
        severity_number=draw(st.integers(0, 24)),  # type: ignore[arg-type]  # enums are open
        severity_text=draw(_words),
        body=draw(values),
        attributes=draw(attributes),
        dropped_attributes_count=draw(_uint32),
        flags=draw(_uint32),
        event_name=draw(_words),
    )


@st.composite
def trace_requests(draw: st.DrawFn) -> ExportTraceServiceRequest:
    """Draw a traces request."""
    scope_spans = st.builds(
        lambda scope, spans, url: ScopeSpans(scope=scope, spans=spans, schema_url=url),
        _scopes,
        st.lists(_span(), min_size=1, max_size=3),
        _words,
    )
    groups = st.builds(
        lambda resource, scopes, url: ResourceSpans(resource=resource, scope_spans=scopes, schema_url=url),
        _resources,
        st.lists(scope_spans, min_size=1, max_size=2),
        _words,
    )
    return ExportTraceServiceRequest(resource_spans=draw(st.lists(groups, min_size=1, max_size=2)))


@st.composite
def log_requests(draw: st.DrawFn) -> ExportLogsServiceRequest:
    """Draw a logs request."""
    scope_logs = st.builds(
        lambda scope, records, url: ScopeLogs(scope=scope, log_records=records, schema_url=url),
        _scopes,
        st.lists(_record(), min_size=1, max_size=3),
        _words,
    )
    groups = st.builds(
        lambda resource, scopes, url: ResourceLogs(resource=resource, scope_logs=scopes, schema_url=url),
        _resources,
        st.lists(scope_logs, min_size=1, max_size=2),
        _words,
    )
    return ExportLogsServiceRequest(resource_logs=draw(st.lists(groups, min_size=1, max_size=2)))
