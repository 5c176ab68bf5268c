import json

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanproof_collector.errors import DecodeError
from spanproof_collector.otlp.json_form import read_logs, read_traces

TRACE = "0AF7651916CD43DD8448EB211C80319C"
SPAN = "b7ad6b7169203331"


def _read(span: dict[str, object]) -> Span:
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
    return read_traces(body).resource_spans[0].scope_spans[0].spans[0]


def _value(spelled: object) -> AnyValue:
    return _read({"attributes": [{"key": "k", "value": spelled}]}).attributes[0].value


def test_ids_are_hex_in_either_case() -> None:
    span = _read({"traceId": TRACE, "spanId": SPAN, "parentSpanId": SPAN.upper()})
    assert span.trace_id.hex() == TRACE.lower()
    assert span.span_id.hex() == span.parent_span_id.hex() == SPAN


@pytest.mark.parametrize("text", ["not hex", "CvdlGRbNQ92ESOshHIAxnA==", "abc", "a1 b2 c3 d4 e5 f6 a7 b8"])
def test_an_id_that_is_not_hex_gets_a_length_that_no_id_has(text: str) -> None:
    assert len(_read({"traceId": text}).trace_id) not in (0, 8, 16)


@pytest.mark.parametrize("time", [1700000000000000001, "1700000000000000001"])
def test_64_bit_numbers_come_as_text_or_as_numbers(time: object) -> None:
    span = _read({"startTimeUnixNano": time, "attributes": [{"key": "n", "value": {"intValue": time}}]})
    assert span.start_time_unix_nano == span.attributes[0].value.int_value == 1700000000000000001


def test_enums_are_integers() -> None:
    span = _read({"kind": 3, "status": {"code": 2, "message": "no"}})
    assert (span.kind, span.status.code, span.status.message) == (3, 2, "no")


@pytest.mark.parametrize(
    ("spelled", "value"),
    [
        ({}, AnyValue()),
        (None, AnyValue()),
        ({"stringValue": ""}, AnyValue(string_value="")),
        ({"boolValue": False}, AnyValue(bool_value=False)),
        ({"intValue": "-7"}, AnyValue(int_value=-7)),
        ({"doubleValue": 3}, AnyValue(double_value=3.0)),
        ({"doubleValue": "-Infinity"}, AnyValue(double_value=float("-inf"))),
        ({"bytesValue": "/w=="}, AnyValue(bytes_value=b"\xff")),
        ({"bytesValue": "_w"}, AnyValue(bytes_value=b"\xff")),
        ({"stringValue": "x", "unheardOf": {"a": 1}}, AnyValue(string_value="x")),
    ],
)
def test_a_value_is_read_as_its_member_says(spelled: object, value: AnyValue) -> None:
    read = _value(spelled)
    assert read == value
    assert read.WhichOneof("value") == value.WhichOneof("value")


def test_arrays_and_pairs_nest() -> None:
    read = _value({"arrayValue": {"values": [{}, {"kvlistValue": {"values": [{"key": "a", "value": {}}]}}]}})
    assert read.array_value.values[1].kvlist_value.values[0].key == "a"
    assert len(_value({"arrayValue": {}}).array_value.values) == 0


def test_unknown_members_are_ignored_everywhere() -> None:
    assert _read({"name": "a", "newField": [1, {"b": None}]}).name == "a"


def test_half_a_character_is_replaced_and_the_span_kept() -> None:
    body = rb'{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"cut \ud83d","traceState":"\ud83d\ude00"}]}]}]}'
    span = read_traces(body).resource_spans[0].scope_spans[0].spans[0]
    assert (span.name, span.trace_state) == ("cut \ufffd", "\U0001f600")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"resourceSpans": {}}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": 1}]}]}]}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano": -1}]}]}]}',
        b'{"resourceSpans": [{"resource": {"attributes": [{"key": "k", "value": {"bytesValue": "?"}}]}}]}',
        b'{"resourceSpans": [{"scopeSpans"',
    ],
)
def test_what_is_no_otlp_json_is_refused(body: bytes) -> None:
    with pytest.raises(DecodeError, match="not OTLP/JSON"):
        read_traces(body)


def test_a_log_record_keeps_every_field() -> None:
    spelled = {
        "timeUnixNano": "1",
        "observedTimeUnixNano": 2,
        "severityNumber": 9,
        "severityText": "INFO",
        "body": {"kvlistValue": {"values": [{"key": "a", "value": {"intValue": 1}}]}},
        "attributes": [{"key": "k", "value": {"stringValue": "v"}}],
        "droppedAttributesCount": 3,
        "flags": 1,
        "traceId": TRACE,
        "spanId": SPAN,
        "eventName": "said",
    }
    body = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [spelled]}]}]}).encode()
    record = read_logs(body).resource_logs[0].scope_logs[0].log_records[0]
    assert {field.name for field, _ in record.ListFields()} == {field.name for field in record.DESCRIPTOR.fields}
