import pytest
from google.protobuf.message import Message
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from spanproof_collector.errors import DecodeError
from spanproof_collector.otlp import decode_logs, decode_traces, form_of, signal_in
from tests.factories import log_record, logs, span, traces
from tests.shared import CAPTURES, needs_captures

CAPTURED = sorted(CAPTURES.glob("*/*.pb"))


@pytest.mark.parametrize(
    ("content_type", "form"),
    [
        ("application/x-protobuf", "protobuf"),
        ("application/json", "json"),
        ("application/json; charset=utf-8", "json"),
        ("Application/X-Protobuf", "protobuf"),
        ("text/plain", None),
        ("", None),
    ],
)
def test_a_content_type_names_a_form_whatever_its_parameters(content_type: str, form: str | None) -> None:
    assert form_of(content_type) == form


def test_logs_on_the_traces_path_are_refused_with_the_right_path() -> None:
    with pytest.raises(DecodeError, match="send it to /v1/logs"):
        decode_traces(logs(log_record("said")).SerializeToString())


def test_traces_on_the_logs_path_are_refused_with_the_right_path() -> None:
    with pytest.raises(DecodeError, match="send it to /v1/traces"):
        decode_logs(traces(span("a", {"k": "v"})).SerializeToString())


@pytest.mark.parametrize("body", [b'{"resourceLogs": []}', b'{"resourceLogs": [{"scopeLogs": []}]}'])
def test_logs_in_json_on_the_traces_path_are_refused_with_the_right_path(body: bytes) -> None:
    with pytest.raises(DecodeError, match="send it to /v1/logs"):
        decode_traces(body, "json")


def test_json_in_snake_case_is_refused_and_not_taken_for_empty() -> None:
    with pytest.raises(DecodeError, match="lowerCamelCase"):
        decode_traces(b'{"resource_spans": []}', "json")


@pytest.mark.parametrize(("body", "hint"), [(b'{"resourceSpans": []}', "JSON"), (b"\x1f\x8b\x08\x00", "gzip")])
def test_bytes_of_another_kind_are_refused_with_a_hint(body: bytes, hint: str) -> None:
    with pytest.raises(DecodeError, match=hint):
        decode_traces(body)


@pytest.mark.parametrize("form", ["protobuf", "json"])
def test_an_empty_request_is_a_request(form: str) -> None:
    body = b"" if form == "protobuf" else b"{}"
    assert not decode_traces(body, form).request.resource_spans  # type: ignore[arg-type]
    assert not decode_logs(body, form).request.resource_logs  # type: ignore[arg-type]


def _not_utf8(request: Message) -> bytes:
    return request.SerializeToString().replace(b"odd", b"o\xff\xfe")


def test_a_span_whose_text_is_not_utf8_is_refused_alone() -> None:
    request = traces(span("a"), span("odd"), span("b", {"k": "v"}))
    rest = traces(span("a"), span("b", {"k": "v"}))
    ((reason, body),) = decode_traces(_not_utf8(request)).refused
    assert "UTF-8" in reason
    assert body == _not_utf8(span("odd"))
    assert decode_traces(_not_utf8(request)).request == rest


def test_a_request_of_nothing_but_unreadable_spans_is_taken_and_all_of_them_are_refused() -> None:
    found = decode_traces(_not_utf8(traces(span("odd"), span("odd too", {"k": "v"}))))
    assert len(found.refused) == 2
    assert not found.request.resource_spans[0].scope_spans[0].spans


def test_a_log_record_whose_text_is_not_utf8_is_refused_alone() -> None:
    found = decode_logs(_not_utf8(logs(log_record("a"), log_record("odd"), log_record("b"))))
    assert [record.event_name for record in found.request.resource_logs[0].scope_logs[0].log_records] == ["a", "b"]
    assert len(found.refused) == 1


def test_a_span_that_is_nested_deeper_than_protobuf_reads_is_refused_alone() -> None:
    deep = b"\x0a\x01x"  # an AnyValue, then around it by hand what no message of Python's can be told to hold
    for _ in range(200):
        deep = b"\x2a" + _sized(b"\x0a" + _sized(deep))
    pair = b"\x0a\x01k\x12" + _sized(deep)
    item = span("odd").SerializeToString() + b"\x4a" + _sized(pair)
    scope = b"\x12" + _sized(item) + b"\x12" + _sized(span("a").SerializeToString())
    found = decode_traces(b"\x0a" + _sized(b"\x12" + _sized(scope)))
    assert [each.name for each in found.request.resource_spans[0].scope_spans[0].spans] == ["a"]
    assert [body for _, body in found.refused] == [item]


def _sized(value: bytes) -> bytes:
    length = len(value)
    assert length < 1 << 14
    return (bytes([length]) if length < 128 else bytes([length & 127 | 128, length >> 7])) + value


def test_a_text_around_the_spans_that_is_not_utf8_is_mended_and_the_spans_are_kept() -> None:
    binary = {"k": b"\xff", "text": "plain"}
    for request, expected in (
        (traces(span("a", binary), resource={"k": "odd"}), traces(span("a", binary), resource={"k": "o\ufffd\ufffd"})),
        (
            traces(span("a"), resource={"k": {"odd": ["odd", b"\xff"]}}),
            traces(span("a"), resource={"k": {"o\ufffd\ufffd": ["o\ufffd\ufffd", b"\xff"]}}),
        ),
        (traces(span("a"), scope="odd"), traces(span("a"), scope="o\ufffd\ufffd")),
    ):
        found = decode_traces(_not_utf8(request))
        assert found.request == expected
        assert found.refused == ()
        assert "U+FFFD" in found.warning


def test_beside_a_mended_resource_an_unreadable_span_is_refused_alone() -> None:
    found = decode_traces(_not_utf8(traces(span("a"), span("odd"), resource={"k": "odd"})))
    assert found.request == traces(span("a"), resource={"k": "o\ufffd\ufffd"})
    assert [body for _, body in found.refused] == [_not_utf8(span("odd"))]


def test_a_resource_that_is_nested_too_deep_costs_its_own_spans_and_no_others() -> None:
    deep = b"\x0a\x01x"
    for _ in range(200):
        deep = b"\x2a" + _sized(b"\x0a" + _sized(deep))
    item = span("lost").SerializeToString()
    resource = b"\x0a" + _sized(b"\x0a" + _sized(b"\x0a\x01k\x12" + _sized(deep)))
    group = b"\x0a" + _sized(resource + b"\x12" + _sized(b"\x12" + _sized(item)))
    rest = traces(span("a"), span("odd"))
    found = decode_traces(_not_utf8(rest) + group)
    assert found.request == traces(span("a"))
    assert [body for _, body in found.refused] == [_not_utf8(span("odd")), item]
    assert "resource or scope" in found.refused[1].reason
    with pytest.raises(DecodeError):
        decode_traces(group)  # there is nothing else in it to keep


def test_a_request_that_is_cut_off_is_refused_whole_even_when_a_span_in_it_is_unreadable() -> None:
    body = _not_utf8(traces(span("odd"), span("a"), span("b")))
    with pytest.raises(DecodeError):
        decode_traces(body[:-3])


def test_metrics_are_told_from_spans() -> None:
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name="a-name-of-16-ch.", unit="1")
    metric.sum.data_points.add(as_int=1, time_unix_nano=5)
    assert signal_in(request.SerializeToString(), "protobuf") == "metrics"


@needs_captures
def test_every_captured_request_is_told_by_its_bytes_and_reads_the_same_in_both_forms() -> None:
    for path in CAPTURED:
        body, text = path.read_bytes(), path.with_suffix(".json").read_bytes()
        signal = signal_in(body, "protobuf")
        assert signal == signal_in(text, "json") == path.stem.partition("-")[2], path
        if signal == "traces":
            assert decode_traces(body) == decode_traces(text, "json"), path
        elif signal == "logs":
            assert decode_logs(body) == decode_logs(text, "json"), path
