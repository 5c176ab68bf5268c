import gzip

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from spanproof_collector.server.serve import Addresses
from spanproof_collector.store import Store
from tests.collector.server.conftest import Listen, Listening
from tests.factories import log_record, logs, span, traces

TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
LOGS = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
METRICS = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"


def call(
    to: Addresses,
    method: str,
    body: bytes,
    compression: grpc.Compression | None = None,
    metadata: tuple[tuple[str, str], ...] = (),
) -> bytes:
    options = [("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(f"{to.host}:{to.grpc_port}", options=options, compression=compression) as channel:
        answer = channel.unary_unary(method)(body, timeout=20, metadata=metadata)
        assert isinstance(answer, bytes)
        return answer


def _trailers(error: grpc.RpcError) -> dict[str, bytes]:
    return dict(error.trailing_metadata())


@pytest.mark.parametrize(
    ("method", "body"),
    [
        (TRACES, traces(span("a")).SerializeToString()),
        (TRACES, b""),
        (LOGS, logs(log_record("said")).SerializeToString()),
        (METRICS, b"anything"),
    ],
)
def test_a_request_that_was_taken_whole_is_answered_with_nothing(
    listening: Listening, method: str, body: bytes
) -> None:
    assert call(listening.addresses, method, body) == b""


def test_bytes_that_are_no_request_are_an_invalid_argument(listening: Listening) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        call(listening.addresses, TRACES, logs(log_record("said")).SerializeToString())
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "send it to /v1/logs" in refused.value.details()
    assert Status.FromString(_trailers(refused.value)["grpc-status-details-bin"]).code == 3


def test_a_busy_server_is_unavailable_and_says_when_to_come_back(listen: Listen, store: Store) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        call(listen(store, max_requests=0).addresses, TRACES, traces(span("a")).SerializeToString())
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    trailers = _trailers(refused.value)
    assert RetryInfo.FromString(trailers["google.rpc.retryinfo-bin"]).retry_delay.seconds == 1
    detail = Status.FromString(trailers["grpc-status-details-bin"]).details[0]
    info = RetryInfo()
    assert detail.Unpack(info)
    assert info.retry_delay.seconds == 1


def test_rejected_spans_are_a_partial_success(listening: Listening) -> None:
    broken = span("broken")
    broken.trace_id = b""
    answer = call(listening.addresses, TRACES, traces(span("a"), broken).SerializeToString())
    assert ExportTraceServiceResponse.FromString(answer).partial_success.rejected_spans == 1


@pytest.mark.parametrize("compression", [None, grpc.Compression.Gzip])
def test_a_message_past_the_limit_is_refused_before_and_after_unpacking(
    listening: Listening, compression: grpc.Compression | None
) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        call(listening.addresses, TRACES, bytes((64 << 20) + 1), compression)
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "google.rpc.retryinfo-bin" not in _trailers(refused.value)


def test_a_message_of_many_megabytes_is_taken(listening: Listening) -> None:
    body = traces(*[span(f"{n}", {"k": "x" * 1_000_000}) for n in range(20)]).SerializeToString()
    assert len(gzip.compress(body)) < len(body)
    assert call(listening.addresses, TRACES, body) == b""
