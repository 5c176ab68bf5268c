"""Traces requests as they were sent, read without making messages of all that is in them.

The bytes of a span are those by which its version is told, and its attributes are taken out of them one by one. A
request with a span that is rejected, and one that cannot be read, is left to ``decode``, which says what is wrong.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Protocol, cast

from google.protobuf import descriptor_pb2, descriptor_pool
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from spanproof_collector.otlp.shallow import PACKAGE, Group, parser
from spanproof_collector.otlp.wire import alone, spelled

_FLAT: Final = 128
"""In fewer bytes nothing is nested deeper than protobuf reads, wherever in a request it stands."""

_Field: Final = descriptor_pb2.FieldDescriptorProto


class NotPlainError(Exception):
    """A span of a request is rejected."""


def plain_groups(body: bytes) -> Iterator[Group]:
    """Yield the groups of a request; the bytes of a span are those it was sent in, and nobody has looked into them.

    Raises:
        ProtobufError: the request cannot be read, as far as it was looked at.
    """
    request = cast(_Request, _read_request(body))
    for group in request.groups:
        for scope in group.scopes:
            yield Group(group.resource, group.schema_url, scope.scope, scope.schema_url, scope.spans)


def refuse_deep_part(number: int, body: bytes) -> None:
    """Return where protobuf reads a part of a span also inside a request, where it is nested deeper.

    Args:
        number: the field of a span that it stands in.
        body: the part as it was sent.

    Raises:
        ProtobufError: it does not.
    """
    if len(body) >= _FLAT:
        ExportTraceServiceRequest.FromString(alone(spelled(number, body)))


_PARTS: Final = trace_pb2.Span.DESCRIPTOR.fields_by_name
ATTRIBUTE: Final = _PARTS["attributes"].number
EVENT: Final = _PARTS["events"].number
LINK: Final = _PARTS["links"].number
"""Of a span's fields the numbers of those that hold messages."""


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
