"""Spans and log records parsed down to their fields and no further: attributes, events and links stay bytes.

Python pays for each message it touches. Of 25 attributes of a span 20 are spelled as in the span before; as bytes they
are looked up (``attributes``), and nothing in them is parsed or copied again.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from typing import Final, NamedTuple, Protocol, cast

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

PACKAGE: Final = "spanproof.shallow"
_TYPE_BYTES: Final = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES


class ShallowSpan(Protocol):
    """The fields that spans have, named as OTLP names them; attributes each as the bytes of one message."""

    trace_id: bytes
    span_id: bytes
    parent_span_id: bytes
    name: str
    kind: int
    start_time_unix_nano: int
    end_time_unix_nano: int
    attributes: Sequence[bytes]
    status: trace_pb2.Status
    flags: int


class RestOfSpan(Protocol):
    """The fields that few spans have; events and links each as the bytes of one message."""

    trace_state: str
    dropped_attributes_count: int
    events: Sequence[bytes]
    dropped_events_count: int
    links: Sequence[bytes]
    dropped_links_count: int


class ShallowRecord(Protocol):
    """A log record's fields, named as OTLP names them; attributes each as the bytes of one message."""

    time_unix_nano: int
    observed_time_unix_nano: int
    severity_number: int
    severity_text: str
    body: common_pb2.AnyValue
    attributes: Sequence[bytes]
    dropped_attributes_count: int
    flags: int
    trace_id: bytes
    span_id: bytes
    event_name: str


class Group(NamedTuple):
    """The spans of one scope of one resource, each as bytes."""

    resource: resource_pb2.Resource
    resource_url: str
    scope: common_pb2.InstrumentationScope
    scope_url: str
    spans: Iterable[bytes]


def spelled_groups(request: ExportTraceServiceRequest) -> Iterator[Group]:
    """Yield the groups of a request; the bytes of a span are those that protobuf spells it with."""
    for group in request.resource_spans:
        for scope in group.scope_spans:
            spans = (span.SerializeToString(deterministic=True) for span in scope.spans)
            yield Group(group.resource, group.schema_url, scope.scope, scope.schema_url, spans)


def shallow_records(scope_logs: logs_pb2.ScopeLogs) -> Iterator[tuple[bytes, ShallowRecord]]:
    """Yield each log record's deterministic bytes, and its fields."""
    for record in scope_logs.log_records:
        body = record.SerializeToString(deterministic=True)
        yield body, cast(ShallowRecord, _read_record(body))


def _add_shallow(
    file: descriptor_pb2.FileDescriptorProto, name: str, whole: Descriptor, protocol: type, opaque: frozenset[str]
) -> None:
    """Describe a message of those fields of ``whole`` that the protocol names; the opaque ones are bytes."""
    described = descriptor_pb2.DescriptorProto()
    whole.CopyToProto(described)
    shallow = file.message_type.add(name=name)
    shallow.field.extend(field for field in described.field if field.name in protocol.__annotations__)
    for field in shallow.field:
        if field.name in opaque:
            field.type = _TYPE_BYTES
            field.ClearField("type_name")


def _describe() -> None:
    file = descriptor_pb2.FileDescriptorProto(
        name="spanproof/shallow.proto",
        package=PACKAGE,
        syntax="proto3",
        dependency=[module.DESCRIPTOR.name for module in (common_pb2, trace_pb2, logs_pb2)],
    )
    span, record = trace_pb2.Span.DESCRIPTOR, logs_pb2.LogRecord.DESCRIPTOR
    _add_shallow(file, "Span", span, ShallowSpan, frozenset({"attributes"}))
    _add_shallow(file, "RestOfSpan", span, RestOfSpan, frozenset({"events", "links"}))
    _add_shallow(file, "LogRecord", record, ShallowRecord, frozenset({"attributes"}))
    descriptor_pool.Default().AddSerializedFile(file.SerializeToString())


def parser(name: str) -> Callable[[bytes], Message]:
    """Return what reads the bytes of a message of ours."""
    described = descriptor_pool.Default().FindMessageTypeByName(f"{PACKAGE}.{name}")
    return message_factory.GetMessageClass(described).FromString


_describe()
read_span = cast(Callable[[bytes], ShallowSpan], parser("Span"))
read_rest = cast(Callable[[bytes], RestOfSpan], parser("RestOfSpan"))
unread_fields = cast(Callable[[ShallowSpan], Sized], UnknownFieldSet)
"""What a span has besides the fields of a ``ShallowSpan``: nothing, or a rest to be read."""

_read_record = parser("LogRecord")
