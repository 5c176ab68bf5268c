from collections.abc import Iterator

import pytest
from google.protobuf.message import Message
from hypothesis import given, settings
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from bench.traffic import requests
from spanproof_collector.otlp import refuse_too_many_parts
from spanproof_collector.otlp.parts import _REQUESTS, TooManyPartsError, _count
from tests.collector.otlp.requests import log_requests, trace_requests
from tests.factories import span, traces
from tests.fuzz.json_form import spell

_ATTRIBUTES = traces(span("a", {f"k{number}": number for number in range(300)}))
_NESTED = traces(span("a", {"list": [[number] for number in range(150)]}))
_EVENTS = traces(*[span(f"{number}") for number in range(300)])


@pytest.mark.parametrize("request_", [_ATTRIBUTES, _NESTED, _EVENTS])
@pytest.mark.parametrize("form", ["protobuf", "json"])
def test_a_request_of_too_many_parts_is_refused_before_it_is_read(
    request_: ExportTraceServiceRequest, form: str
) -> None:
    body = request_.SerializeToString() if form == "protobuf" else spell(request_)
    refuse_too_many_parts("traces", body, "protobuf" if form == "protobuf" else "json", limit=2000)
    with pytest.raises(TooManyPartsError, match="smaller batches"):
        refuse_too_many_parts("traces", body, "protobuf" if form == "protobuf" else "json", limit=200)


def test_real_traffic_of_many_megabytes_is_taken() -> None:
    (body,) = requests(3000, 3000)
    assert len(body) > 8_000_000
    refuse_too_many_parts("traces", body, "protobuf")


def test_what_is_no_protobuf_is_left_to_the_decoder() -> None:
    for odd in (b"\x0a" * 5_000_000, b"\xff" * 5_000_000, b"\x0a\xff\xff\xff\x7f" * 1_000_000):
        refuse_too_many_parts("traces", odd, "protobuf")


@settings(max_examples=25, deadline=None)
@given(trace_requests())
def test_every_message_that_a_request_holds_is_a_part(request: ExportTraceServiceRequest) -> None:
    body = request.SerializeToString()
    # A status is one a span, and is not counted.
    parts = sum(not isinstance(each, Status) for each in _inside(request))
    assert _count(body, 0, len(body), _REQUESTS["traces"], 10**6, 0) == parts


@settings(max_examples=25, deadline=None)
@given(log_requests())
def test_every_message_in_a_log_request_is_a_part(request: ExportLogsServiceRequest) -> None:
    body = request.SerializeToString()
    assert _count(body, 0, len(body), _REQUESTS["logs"], 10**6, 0) == sum(1 for _ in _inside(request))


def _inside(message: Message) -> Iterator[Message]:
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in value if field.is_repeated else (value,):
                yield each
                yield from _inside(each)
