"""Traces requests as nearly every sender spells them, read without making messages of all that is in them.

A request is plain where each of its spans has valid ids and is spelled as protobuf spells it itself: fields in order,
nothing twice, lengths and numbers as short as can be. Then the bytes of a span are those by which its version is told,
and its attributes can be taken out of them. Whatever is not plain, and whatever cannot be read, is left to ``decode``
and to the messages: one way for all that is odd.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol, cast

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.message import DecodeError as ProtobufError
from google.protobuf.message import Message
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from spanproof_collector.otlp.shallow import PACKAGE, Group, ShallowSpan, parser, read_span
from spanproof_collector.otlp.wire import alone, spelled

_FLAT: Final = 128
"""In fewer bytes nothing is nested deeper than protobuf reads, wherever in a request it stands."""

_Field: Final = descriptor_pb2.FieldDescriptorProto


class NotPlainError(Exception):
    """Something in a request is not spelled as protobuf spells it, or cannot be read."""


def plain_groups(body: bytes) -> Iterator[Group]:
    """Yield the groups of a request as it was sent; attributes, events and links are not looked into.

    Raises:
        NotPlainError: the request is not plain, as far as it was looked at.
    """
    try:
        request = cast(_Request, _read_request(body))
    except ProtobufError as error:
        raise NotPlainError from error
    for group in request.groups:
        for scope in group.scopes:
            yield Group(group.resource, group.schema_url, scope.scope, scope.schema_url, _plain_spans(scope.spans))


def _plain_spans(bodies: Sequence[bytes]) -> Iterator[tuple[bytes, ShallowSpan]]:
    for body in bodies:
        try:
            span: Any = read_span(body)
        except ProtobufError as error:
            raise NotPlainError from error
        if span.SerializeToString() != body:  # it holds no maps, of which the order is to be settled
            raise NotPlainError
        yield body, span


def refuse_unplain_part(number: int, body: bytes) -> None:
    """Return where a part of a span is spelled as protobuf spells it.

    Args:
        number: the field of a span that it stands in.
        body: the part as it was sent.

    Raises:
        NotPlainError: it is not, or cannot be read.
    """
    try:
        part = _READERS[number](body)
        if len(body) >= _FLAT:
            ExportTraceServiceRequest.FromString(alone(spelled(number, body)))
    except ProtobufError as error:
        raise NotPlainError from error
    if part.SerializeToString(deterministic=True) != body:
        raise NotPlainError


_PARTS: Final = trace_pb2.Span.DESCRIPTOR.fields_by_name
ATTRIBUTE: Final = _PARTS["attributes"].number
EVENT: Final = _PARTS["events"].number
LINK: Final = _PARTS["links"].number
"""Of a span's fields the numbers of those that hold messages."""

_READERS: Final[dict[int, Callable[[bytes], Message]]] = {
    ATTRIBUTE: common_pb2.KeyValue.FromString,
    EVENT: trace_pb2.Span.Event.FromString,
    LINK: trace_pb2.Span.Link.FromString,
}


class _Scope(Protocol):
    scope: common_pb2.InstrumentationScope
    spans: Sequence[bytes]
    schema_url: str


class _Group(Protocol):
    resource: resource_pb2.Resource
    scopes: Sequence[_Scope]
    schema_url: str


class _Request(Protocol):
    groups: Sequence[_Group]


def _describe() -> None:
    """Describe an export request of which the spans are bytes."""
    file = descriptor_pb2.FileDescriptorProto(
        name="spanproof/plain.proto",
        package=PACKAGE,
        syntax="proto3",
        dependency=[module.DESCRIPTOR.name for module in (common_pb2, resource_pb2)],
    )
    one, many = _Field.LABEL_OPTIONAL, _Field.LABEL_REPEATED
    message, text = _Field.TYPE_MESSAGE, _Field.TYPE_STRING
    groups = file.message_type.add(name="Traces").field
    groups.add(name="groups", number=1, label=many, type=message, type_name=f".{PACKAGE}.Group")
    group = file.message_type.add(name="Group").field
    resource = resource_pb2.Resource.DESCRIPTOR.full_name
    group.add(name="resource", number=1, label=one, type=message, type_name=f".{resource}")
    group.add(name="scopes", number=2, label=many, type=message, type_name=f".{PACKAGE}.Scope")
    group.add(name="schema_url", number=3, label=one, type=text)
    scope = file.message_type.add(name="Scope").field
    whole = common_pb2.InstrumentationScope.DESCRIPTOR.full_name
    scope.add(name="scope", number=1, label=one, type=message, type_name=f".{whole}")
    scope.add(name="spans", number=2, label=many, type=_Field.TYPE_BYTES)
    scope.add(name="schema_url", number=3, label=one, type=text)
    descriptor_pool.Default().AddSerializedFile(file.SerializeToString())


_describe()
_read_request = parser("Traces")
