from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanproof_collector.otlp.wire import groups, signal_of, whole_part
from tests.factories import log_record, logs, span, traces

SPANS = [span(f"span {number}", {"k": "v" * number}) for number in range(6)]
REQUEST = traces(*SPANS[:3])
REQUEST.resource_spans.append(traces(*SPANS[3:]).resource_spans[0])
BODY = REQUEST.SerializeToString()
BETWEEN_GROUPS = (0, traces(*SPANS[:3]).ByteSize(), len(BODY))


def _names(body: bytes) -> list[str]:
    request = ExportTraceServiceRequest.FromString(body)
    return [s.name for group in request.resource_spans for scope in group.scope_spans for s in scope.spans]


@given(st.integers(0, len(BODY)))
def test_wherever_a_request_is_cut_the_spans_before_the_cut_are_whole(length: int) -> None:
    whole, cut = whole_part(BODY[:length])
    names = _names(whole)
    assert names == [each.name for each in SPANS[: len(names)]]
    assert cut == (length not in BETWEEN_GROUPS)


def test_a_whole_request_is_not_cut() -> None:
    assert whole_part(BODY) == (BODY, False)


def test_a_cut_in_the_last_span_costs_that_span_alone() -> None:
    whole, cut = whole_part(BODY[:-3])
    assert cut
    assert _names(whole) == [each.name for each in SPANS[:-1]]


@given(st.binary(max_size=200))
def test_bytes_that_are_no_protobuf_are_looked_at_without_harm(body: bytes) -> None:
    signal_of(body)
    whole_part(body)


def test_a_request_splits_into_its_groups() -> None:
    assert [_names(group) for group in groups(BODY)] == [[s.name for s in SPANS[:3]], [s.name for s in SPANS[3:]]]


def test_a_log_record_with_nothing_but_ids_is_told_from_a_span() -> None:
    record = log_record("", {"k": "v"})
    record.ClearField("time_unix_nano")
    assert signal_of(logs(record).SerializeToString()) == "logs"
