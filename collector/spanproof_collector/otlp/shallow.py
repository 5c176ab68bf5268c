"""Spans and log records parsed down to their fields and no further: attributes, events and links stay bytes.

Python pays for each message it touches. Of 25 attributes of a span 20 are spelled as in the span before; as bytes they
are looked up (``attributes``), and nothing in them is parsed or copied again.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol, cast

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

_PACKAGE: Final = "spanproof.shallow"
_TYPE_BYTES: Final = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
_LABEL_REPEATED: Final = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED


class ShallowSpan(Protocol):
    """A span's fields, named as OTLP names them; attributes, events and links each as the bytes of one message."""

    trace_id: bytes
    span_id: bytes
    trace_state: str
    parent_span_id: bytes
    name: str
    kind: int
    start_time_unix_nano: int
    end_time_unix_nano: int
    attributes: Sequence[bytes]
    dropped_attributes_count: int
    events: Sequence[bytes]
    dropped_events_count: int
    links: Sequence[bytes]
    dropped_links_count: int
    status: trace_pb2.Status
    flags: int


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


class _Items(Protocol):
    items: Sequence[bytes]


def shallow_spans(scope_spans: trace_pb2.ScopeSpans) -> Iterator[tuple[bytes, ShallowSpan]]:
    """Yield each span's deterministic bytes, and its fields."""
    for body in cast(_Items, _read_spans(scope_spans.SerializeToString(deterministic=True))).items:
        yield body, cast(ShallowSpan, _read_span(body))


def shallow_records(scope_logs: logs_pb2.ScopeLogs) -> Iterator[tuple[bytes, ShallowRecord]]:
    """Yield each log record's deterministic bytes, and its fields."""
    for body in cast(_Items, _read_records(scope_logs.SerializeToString(deterministic=True))).items:
        yield body, cast(ShallowRecord, _read_record(body))


def _add_shallow(file: descriptor_pb2.FileDescriptorProto, whole: Descriptor, opaque: frozenset[str]) -> None:
    """Describe a message as ``whole`` is, but for its opaque fields, which are bytes."""
    shallow = file.message_type.add()
    whole.CopyToProto(shallow)
    del shallow.nested_type[:], shallow.enum_type[:]
    for field in shallow.field:
        if field.name in opaque:
            field.type = _TYPE_BYTES
            field.ClearField("type_name")


def _add_items(file: descriptor_pb2.FileDescriptorProto, name: str, number: int) -> None:
    """Describe a message of which nothing matters but one repeated field, its items as bytes."""
    file.message_type.add(name=name).field.add(name="items", number=number, label=_LABEL_REPEATED, type=_TYPE_BYTES)


def _describe() -> None:
    file = descriptor_pb2.FileDescriptorProto(
        name="spanproof/shallow.proto",
        package=_PACKAGE,
        syntax="proto3",
        dependency=[module.DESCRIPTOR.name for module in (common_pb2, trace_pb2, logs_pb2)],
    )
    _add_shallow(file, trace_pb2.Span.DESCRIPTOR, frozenset({"attributes", "events", "links"}))
    _add_items(file, "Spans", trace_pb2.ScopeSpans.DESCRIPTOR.fields_by_name["spans"].number)
    _add_shallow(file, logs_pb2.LogRecord.DESCRIPTOR, frozenset({"attributes"}))
    _add_items(file, "LogRecords", logs_pb2.ScopeLogs.DESCRIPTOR.fields_by_name["log_records"].number)
    descriptor_pool.Default().AddSerializedFile(file.SerializeToString())


def _parser(name: str) -> Callable[[bytes], Message]:
    described = descriptor_pool.Default().FindMessageTypeByName(f"{_PACKAGE}.{name}")
    return message_factory.GetMessageClass(described).FromString


_describe()
_read_span, _read_spans = _parser("Span"), _parser("Spans")
_read_record, _read_records = _parser("LogRecord"), _parser("LogRecords")
