import json

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanproof_collector.errors import DecodeError
from spanproof_collector.otlp import Sent, convert_traces
from spanproof_collector.otlp.json_form import read_logs, read_traces

TRACE = "0AF7651916CD43DD8448EB211C80319C"
SPAN = "b7ad6b7169203331"


def _read(span: dict[str, object]) -> Span:
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
    found = read_traces(body)
    assert found.refused == ()
    return found.request.resource_spans[0].scope_spans[0].spans[0]


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
    span = read_traces(body).request.resource_spans[0].scope_spans[0].spans[0]
    assert (span.name, span.trace_state) == ("cut \ufffd", "\U0001f600")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"resourceSpans": {}}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": {}}]}]}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "a"},]}]}]}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "a"}, {"name": "b"]}]}]}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": NaN}]}], "schemaUrl": 1}]}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "a"}, {"name": "b',
        b'{"resourceSpans": [{"resource": {"attributes": [{"key": "k", "value": {"bytesValue": "?"}}]}}]}',
        b'{"resourceSpans": [{"scopeSpans"',
    ],
)
def test_what_is_no_otlp_json_is_refused(body: bytes) -> None:
    with pytest.raises(DecodeError, match="not OTLP/JSON"):
        read_traces(body)


_VALUE = b'{"attributes": [{"key": "k", "value": %s}]}'


@pytest.mark.parametrize(
    "odd",
    [
        _VALUE % b'{"intValue": "99999999999999999999"}',
        _VALUE % b'{"intValue": 99999999999999999999}',
        _VALUE % b'{"intValue": "1.5"}',
        _VALUE % b'{"bytesValue": "%%"}',
        _VALUE % b'{"doubleValue": NaN}',
        _VALUE % b'{"doubleValue": -Infinity}',
        _VALUE % b'{"stringValue": 5}',
        _VALUE % b'{"stringValue": "\xff"}',
        _VALUE % b'{"stringValue": "a\x01b"}',
        _VALUE % (b'{"arrayValue": {"values": [' * 60 + b"{}" + b"]}}" * 60),
        _VALUE % (b'{"arrayValue": {"values": [' * 20_000 + b"{}" + b"]}}" * 20_000),
        b'{"unheardOf": ' + b"[" * 20_000 + b"]" * 20_000 + b"}",
        b'{"droppedAttributesCount": -1}',
        b'{"attributes": [null]}',
        b'{"events": [null]}',
        b'{"name": 1}',
        b'{"name": "a" "b"}',
        b'{"status": "ERROR"}',
        b'{"kind": "SPAN_KIND_INTERNAL"}',
        b'{"startTimeUnixNano": -1}',
        b'{"startTimeUnixNano": ""}',
        b"null",
        b"7",
        b'"a span"',
        b"[]",
    ],
    ids=lambda odd: odd[:60].decode("latin-1"),
)
def test_a_span_that_cannot_be_read_is_refused_alone_with_its_bytes(odd: bytes) -> None:
    body = b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"}, %b ,{"name":"b"}]},{"spans":[{"name":"c"}]}]}]}'
    found = read_traces(body % odd)
    scopes = found.request.resource_spans[0].scope_spans
    assert [[span.name for span in scope.spans] for scope in scopes] == [["a", "b"], ["c"]]
    ((reason, refused),) = found.refused
    assert refused == odd
    assert 0 < len(reason) <= 300


@pytest.mark.parametrize("odd", [b'{"severityNumber": "high"}', b'{"body": {"doubleValue": NaN}}', b"null"])
def test_a_log_record_that_cannot_be_read_is_refused_alone_with_its_bytes(odd: bytes) -> None:
    body = b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"eventName":"a"},%b,{"eventName":"b"}]}]}]}' % odd
    found = read_logs(body)
    records = found.request.resource_logs[0].scope_logs[0].log_records
    assert [record.event_name for record in records] == ["a", "b"]
    assert [refused for _, refused in found.refused] == [odd]


def test_a_text_around_the_spans_that_is_not_utf8_is_mended_and_the_spans_are_kept() -> None:
    body = b'{"resourceSpans":[{"schemaUrl":"o\xff","scopeSpans":[{"spans":[{"name":"a"},{"name":"\xff"}]}]}]}'
    found = read_traces(body)
    (group,) = found.request.resource_spans
    assert (group.schema_url, [span.name for span in group.scope_spans[0].spans]) == ("o\ufffd", ["a"])
    assert [refused for _, refused in found.refused] == [b'{"name":"\xff"}']
    assert "U+FFFD" in found.warning


@pytest.mark.parametrize(
    "around",
    [
        b'"resource": 7',
        b'"resource": {"attributes": [{"key": "k", "value": {"bytesValue": "?"}}]}',
        b'"schemaUrl": []',
    ],
    ids=lambda odd: odd[:60].decode(),
)
def test_a_resource_that_cannot_be_read_costs_its_own_spans_and_no_others(around: bytes) -> None:
    odd = b'{%b, "scopeSpans":[{"spans":[{"name":"lost"},{"name":NaN}]}]}' % around
    whole = b'{"scopeSpans":[{"spans":[{"name":"a"}]}]}'
    found = read_traces(b'{"resourceSpans":[%b,%b]}' % (odd, whole))
    assert [span.name for group in found.request.resource_spans for span in group.scope_spans[0].spans] == ["a"]
    assert [refused for _, refused in found.refused] == [b'{"name":"lost"}', b'{"name":NaN}']
    assert "resource or scope" in found.refused[0].reason
    with pytest.raises(DecodeError):
        read_traces(b'{"resourceSpans":[%b]}' % odd)


def test_every_depth_is_read_or_refused_and_none_harms_its_neighbors() -> None:
    for depth in range(40, 60):
        odd = _VALUE % (b'{"arrayValue": {"values": [' * depth + b"{}" + b"]}}" * depth)
        found = read_traces(b'{"resourceSpans":[{"scopeSpans":[{"spans":[%b,{"name":"b"}]}]}]}' % odd)
        spans = found.request.resource_spans[0].scope_spans[0].spans
        assert (len(spans) + len(found.refused), spans[-1].name) == (2, "b")
        assert convert_traces(found.request, Sent(), refused=found.refused).rejected[-1:]  # neither has an id


def test_half_a_character_outside_of_the_spans_is_replaced_when_one_of_them_is_unreadable() -> None:
    body = rb'{"resourceSpans":[{"schemaUrl":"cut \ud83d","scopeSpans":[{"spans":[{"name":NaN},{"name":"\ud83d"}]}]}]}'
    found = read_traces(body)
    (group,) = found.request.resource_spans
    assert (group.schema_url, [span.name for span in group.scope_spans[0].spans]) == ("cut \ufffd", ["\ufffd"])
    assert [refused for _, refused in found.refused] == [b'{"name":NaN}']


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
    record = read_logs(body).request.resource_logs[0].scope_logs[0].log_records[0]
    assert {field.name for field, _ in record.ListFields()} == {field.name for field in record.DESCRIPTOR.fields}
