"""OTLP 1.11.0, docs/specification.md: what it asks of a server, over real sockets."""

import gzip
import http.client
import json
import sys
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList

from spanproof_collector.errors import StoreError, StoreUnreachableError
from spanproof_collector.model.values import Value
from spanproof_collector.store import open_store
from tests.collector.server.conftest import Listen, Listening
from tests.collector.server.posting import JSON, PROTOBUF, ask
from tests.collector.server.test_grpc import TRACES, call
from tests.collector_process import collecting
from tests.conformance.senders import TRANSPORTS, Send, Transport, sender, spelled
from tests.conformance.tables import missing
from tests.factories import any_value, log_record, logs, span, trace_id, traces

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ROWS = {
    "gRPC: unary Export for each signal": "test_every_signal_is_taken_over_every_transport",
    "gRPC: concurrent requests": "test_requests_at_the_same_time_are_all_stored",
    "HTTP: POST to /v1/traces, /v1/logs, /v1/metrics; both forms on one port": (
        "test_every_signal_is_taken_over_every_transport"
    ),
    "HTTP: paths can be configured": "test_a_prefix_is_taken_where_it_was_asked_for",
    "content types, with parameters; the answer in the request's": (
        "test_a_content_type_may_have_parameters_and_the_answer_has_the_type"
    ),
    "compression: none, gzip, deflate, zstd": "test_every_compression_that_senders_use_is_taken",
    "compression over gRPC": "test_compression_of_grpc_itself_is_taken",
    "compression: others are refused in words": "test_an_unknown_compression_is_named",
    "success: no partial success": "test_every_signal_is_taken_over_every_transport",
    "success: an empty request": "test_an_empty_request_is_a_success",
    "partial success: the count and a reason": "test_what_is_rejected_is_counted_and_the_rest_is_stored",
    "partial success: nothing rejected, a warning": "test_what_was_changed_to_be_read_is_a_warning",
    "errors: google.rpc.Status in the request's form": "test_bytes_that_are_no_request_are_bad_data_in_their_form",
    "bad data: 400, INVALID_ARGUMENT": "test_bytes_that_are_no_request_are_bad_data_in_their_form",
    "too large, before unpacking and after": (
        "test_what_is_too_large_is_refused_for_good test_a_bomb_is_refused_without_being_unpacked"
    ),
    "too large: 64 MiB are taken": "test_almost_64_mib_are_taken",
    "overload: 503 and Retry-After, UNAVAILABLE and RetryInfo": "test_an_overloaded_server_says_when_to_come_back",
    "retryable: a store that is gone": "test_a_store_that_is_gone_is_worth_another_attempt",
    "retryable: never 500 for what may pass": "test_only_what_can_never_be_stored_is_final",
    "the response stays below 4 MiB": "test_the_answer_to_many_rejections_is_small",
    "JSON: camelCase only, ids in hex of either case": "test_ids_in_json_are_hex_in_either_case",
    "JSON: enums are integers; 64-bit numbers are text or numbers": "test_numbers_in_json_are_text_or_numbers",
    "JSON: bytes are base64, unknown fields are ignored": "test_unknown_fields_in_json_are_ignored",
    "values: empty, bytes, arrays of anything, pairs": "test_every_kind_of_value_comes_back_as_it_was_sent",
    "logs: event_name, and event.name of older senders": "test_both_spellings_of_an_event_name_are_read",
}
"""What the specification says, and the test that holds us to it."""


def test_every_row_has_its_test() -> None:
    assert missing(ROWS, __file__) == []


def stored(server: Listening, trace: str) -> list[str]:
    """Return the names of the spans that are stored in a trace."""
    found = server.store.read_traces([("default", trace_id(trace).hex())])
    return sorted(each.name for records in found.values() for each in records.spans)


def test_every_signal_is_taken_over_every_transport(server: Listening, send: Send) -> None:
    trace = send.__name__
    assert send(traces(span("a", trace=trace))).code == 0
    assert send(logs(log_record("said", trace=trace))).code == 0
    body = ExportMetricsServiceRequest().SerializeToString() if trace != "http/json" else b'{"resourceMetrics": []}'
    assert send(body, "metrics").code == 0
    records = server.store.read_traces([("default", trace_id(trace).hex())])["default", trace_id(trace).hex()]
    assert ([each.name for each in records.spans], [each.event_name for each in records.logs]) == (["a"], ["said"])


@pytest.mark.parametrize("signal", ["traces", "logs"])
def test_an_empty_request_is_a_success(send: Send, signal: str) -> None:
    for body in (b"{}", b'{"resourceSpans": []}') if send.__name__ == "http/json" and signal == "traces" else (b"",):
        if send.__name__ == "http/json" and not body:
            body = b"{}"
        outcome = send(body, signal)
        assert (outcome.code, outcome.rejected, outcome.message) == (0, 0, "")


def test_requests_at_the_same_time_are_all_stored(server: Listening) -> None:
    def many(number: int) -> None:
        with grpc.insecure_channel(f"{server.addresses.host}:{server.addresses.grpc_port}") as channel:
            futures = [
                channel.unary_unary(TRACES).future(
                    traces(span(f"{number}-{turn}", trace="at once")).SerializeToString(), timeout=60
                )
                for turn in range(20)
            ]
            assert [future.result() for future in futures] == [b""] * 20

    threads = [threading.Thread(target=many, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(stored(server, "at once")) == 80


@pytest.mark.parametrize(
    "content_type",
    [
        "application/x-protobuf",
        "application/x-protobuf; charset=utf-8",
        "Application/X-Protobuf;x=y",
        "application/json",
        "application/json; charset=UTF-8",
    ],
)
def test_a_content_type_may_have_parameters_and_the_answer_has_the_type(server: Listening, content_type: str) -> None:
    request = traces(span("a", trace=content_type))
    in_json = "json" in content_type
    body = spelled(request) if in_json else request.SerializeToString()
    answer = ask(server.addresses, "/v1/traces", body, {"Content-Type": content_type})
    assert (answer.status, answer.headers["content-type"]) == (
        200,
        "application/json" if in_json else "application/x-protobuf",
    )
    assert stored(server, content_type) == ["a"]


_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "identity": bytes,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstd.compress,
}


@pytest.mark.parametrize("encoding", _PACKERS)
@pytest.mark.parametrize("in_json", [False, True])
def test_every_compression_that_senders_use_is_taken(server: Listening, encoding: str, in_json: bool) -> None:
    trace = f"packed {encoding} {in_json}"
    request = traces(span("a", trace=trace))
    headers = (JSON if in_json else PROTOBUF) | ({"Content-Encoding": encoding} if encoding else {})
    body = _PACKERS[encoding](spelled(request) if in_json else request.SerializeToString())
    assert ask(server.addresses, "/v1/traces", body, headers).status == 200
    assert stored(server, trace) == ["a"]


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_compression_of_grpc_itself_is_taken(server: Listening, compression: grpc.Compression) -> None:
    trace = f"grpc {compression}"
    call(server.addresses, TRACES, traces(span("a", {"k": "x" * 5000}, trace=trace)).SerializeToString(), compression)
    assert stored(server, trace) == ["a"]


def test_an_unknown_compression_is_named(server: Listening) -> None:
    answer = ask(server.addresses, "/v1/traces", b"x", PROTOBUF | {"Content-Encoding": "br"})
    assert (answer.status, answer.headers["content-type"]) == (415, "text/plain; charset=utf-8")
    assert answer.body == b"content encoding 'br' is not supported: send gzip, deflate, zstd or none\n"


def test_what_is_rejected_is_counted_and_the_rest_is_stored(server: Listening, send: Send) -> None:
    trace = f"partial {send.__name__}"
    short, zero, parent = (span(name, trace=trace) for name in ("short", "zero", "parent"))
    short.span_id, zero.trace_id, parent.parent_span_id = b"abc", bytes(16), b"ab"
    outcome = send(traces(short, span("a", trace=trace), zero, span("b", trace=trace), parent))
    assert (outcome.code, outcome.rejected) == (0, 3)
    for reason in ("span id has 3 bytes, not 8", "trace id is all zeros", "parent span id has 2 bytes, not 8"):
        assert f"{reason} (1)" in outcome.message
    assert stored(server, trace) == ["a", "b"]


@pytest.mark.parametrize("where", ["resource", "scope"])
def test_what_was_changed_to_be_read_is_a_warning(server: Listening, send: Send, where: str) -> None:
    trace = f"{where} {send.__name__}"
    given = {"resource": {"k": "odd"}} if where == "resource" else {"scope": "odd"}
    request = traces(span("a", trace=trace), **given)
    body = spelled(request) if send.__name__ == "http/json" else request.SerializeToString()
    outcome = send(body.replace(b"odd", b"o\xff\xfe"), "traces")
    assert (outcome.code, outcome.rejected) == (0, 0)
    assert "not UTF-8" in outcome.message
    assert stored(server, trace) == ["a"]


def test_bytes_that_are_no_request_are_bad_data_in_their_form(send: Send) -> None:
    for signal in ("traces", "logs"):
        outcome = send(b"\xff\xff\xff", signal)
        assert (outcome.code, outcome.retry_seconds) == (3, None)
        assert outcome.message


def test_what_is_too_large_is_refused_for_good(server: Listening, send: Send) -> None:
    if send.__name__ == "grpc":
        with pytest.raises(grpc.RpcError) as refused:
            call(server.addresses, TRACES, bytes((64 << 20) + 1))
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "google.rpc.retryinfo-bin" not in dict(refused.value.trailing_metadata())
        return
    outcome = send(bytes((64 << 20) + 1), "traces")
    assert (outcome.code, outcome.retry_seconds) == (8, None)
    assert "smaller batches" in outcome.message


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
def test_a_bomb_is_refused_without_being_unpacked(tmp_path: Path, encoding: str) -> None:
    # A gigabyte of nothing. What it takes to refuse it shows in a server of its own.
    bomb = _bomb(encoding)
    assert len(bomb) < 2 << 20
    with collecting(tmp_path / "store") as server:
        before = _peak_kib(server.process.pid)
        answer = ask(server.addresses, "/v1/traces", bomb, PROTOBUF | {"Content-Encoding": encoding})
        assert (answer.status, "retry-after" in answer.headers) == (413, False)
        assert _peak_kib(server.process.pid) - before < 200 * 1024
        assert ask(server.addresses, "/v1/traces", traces(span("a")).SerializeToString()).status == 200


def _bomb(encoding: str) -> bytes:
    zeros = bytes(1 << 20)
    if encoding == "zstd":
        frames = zstd.ZstdCompressor()
        return b"".join([*[frames.compress(zeros) for _ in range(1024)], frames.flush()])
    packer = zlib.compressobj(wbits=31 if encoding == "gzip" else 15)
    return b"".join([*[packer.compress(zeros) for _ in range(1024)], packer.flush()])


def _peak_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        pytest.skip("how much memory a process took at most is read from /proc")
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))


def test_almost_64_mib_are_taken(server: Listening) -> None:
    trace = "64 MiB"
    body = traces(*[span(f"{n}", {"k": f"{n}" * 1_000_000}, trace=trace) for n in range(8)]).SerializeToString()
    body += traces(span("long", {"k": "x" * ((64 << 20) - len(body) - 1000)}, trace=trace)).SerializeToString()
    assert (64 << 20) - 1000 < len(body) <= 64 << 20
    assert ask(server.addresses, "/v1/traces", body).status == 200
    assert stored(server, trace) == [*"01234567", "long"]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_an_overloaded_server_says_when_to_come_back(server: Listening, listen: Listen, transport: Transport) -> None:
    outcome = sender(transport, listen(server.store, max_requests=0).addresses)(traces(span("a")))
    assert outcome.code == 14
    assert outcome.retry_seconds is not None
    assert 0 < outcome.retry_seconds < 60


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_store_that_is_gone_is_worth_another_attempt(listen: Listen, tmp_path: Path, transport: Transport) -> None:
    with collecting(tmp_path / "store") as holder, open_store(holder.store) as store:
        send = sender(transport, listen(store).addresses)
        assert send(traces(span("a"))).code == 0
        holder.kill()
        outcome = send(traces(span("b")))
        assert outcome.code == 14
        assert outcome.retry_seconds is not None


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(
    ("trouble", "code"),
    [
        (StoreUnreachableError("here", "the disk is full"), 14),
        (StoreError("it does not fit"), 13),
    ],
    ids=["store", "does not fit"],
)
def test_only_what_can_never_be_stored_is_final(
    server: Listening,
    monkeypatch: pytest.MonkeyPatch,
    transport: Transport,
    trouble: Exception,
    code: int,
) -> None:
    def broken(*_: object) -> None:
        raise trouble

    monkeypatch.setattr(server.store, "insert", broken)
    outcome = sender(transport, server.addresses)(traces(span("a")))
    assert outcome.code == code
    assert (outcome.retry_seconds is None) == (code == 13)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_what_nobody_foresaw_before_the_store_is_worth_another_attempt(
    server: Listening, monkeypatch: pytest.MonkeyPatch, transport: Transport
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("card 4111")

    monkeypatch.setattr("spanproof_collector.pipeline.converting.unpack", broken)
    outcome = sender(transport, server.addresses)(traces(span("a")))
    assert outcome.code == 14
    assert outcome.retry_seconds is not None
    assert "4111" not in outcome.message


def test_the_answer_to_many_rejections_is_small(send: Send) -> None:
    odd = [span(f"{number}") for number in range(5000)]
    for number, each in enumerate(odd):
        each.span_id = bytes(number % 300) + b"x"
        if len(each.span_id) == 8:
            each.span_id = b""
    outcome = send(traces(*odd))
    assert (outcome.code, outcome.rejected) == (0, 5000)
    assert 0 < outcome.size < 10_000


def _in_json(server: Listening, spelled_span: dict[str, object], trace: str) -> None:
    spelled_span = {"traceId": trace_id(trace).hex(), "spanId": "0b" * 8, "name": "a"} | spelled_span
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [spelled_span]}]}]}).encode()
    answer = ask(server.addresses, "/v1/traces", body, JSON)
    assert (answer.status, answer.body) == (200, b"{}")


def test_ids_in_json_are_hex_in_either_case(server: Listening) -> None:
    upper = trace_id("upper").hex().upper()
    _in_json(server, {"traceId": upper, "spanId": "0B" * 8, "parentSpanId": "0C" * 8}, "upper")
    (found,) = server.store.read_traces([("default", upper.lower())])["default", upper.lower()].spans
    assert (found.span_id, found.parent_span_id) == ("0b" * 8, "0c" * 8)
    snake = ask(server.addresses, "/v1/traces", b'{"resource_spans": []}', JSON)
    assert (snake.status, "lowerCamelCase" in json.loads(snake.body)["message"]) == (400, True)


@pytest.mark.parametrize("as_text", [True, False])
def test_numbers_in_json_are_text_or_numbers(server: Listening, as_text: bool) -> None:
    trace = f"numbers {as_text}"
    at: object = str(2**63 + 5) if as_text else 2**63 + 5
    count: object = str(-(2**63)) if as_text else -(2**63)
    _in_json(
        server,
        {"startTimeUnixNano": at, "endTimeUnixNano": at, "kind": 3, "status": {"code": 2}}
        | {"attributes": [{"key": "n", "value": {"intValue": count}}]},
        trace,
    )
    key = ("default", trace_id(trace).hex())
    (found,) = server.store.read_traces([key])[key].spans
    assert (found.start, found.kind, found.status) == (2**63 + 5, "CLIENT", "ERROR")
    assert found.attributes["n"] == -(2**63)


def test_unknown_fields_in_json_are_ignored(server: Listening) -> None:
    value = {"bytesValue": "/+8=", "unheardOf": 1}
    _in_json(server, {"new": [{"a": None}], "attributes": [{"key": "b", "value": value, "keyStrindex": 3}]}, "unknown")
    key = ("default", trace_id("unknown").hex())
    assert server.store.read_traces([key])[key].spans[0].attributes["b"] == b"\xff\xef"


def _nested(depth: int) -> AnyValue:
    value = any_value("the bottom")
    for _ in range(depth):
        value = AnyValue(array_value=ArrayValue(values=[value]))
    return value


_VALUES: dict[str, tuple[AnyValue, Value]] = {
    "empty": (AnyValue(), None),
    "text": (any_value("naïve \U0001f600 \x00 end"), "naïve \U0001f600 \x00 end"),
    "no text": (any_value(""), ""),
    "true": (any_value(True), True),
    "false": (any_value(False), False),
    "zero": (any_value(0), 0),
    "lowest": (any_value(-(2**63)), -(2**63)),
    "double": (any_value(0.1), 0.1),
    "infinite": (any_value(float("-inf")), float("-inf")),
    "bytes": (any_value(b"\x00\xff"), b"\x00\xff"),
    "mixed": (any_value([1, "a", None, [b"x", {}], {"k": []}]), [1, "a", None, [b"x", {}], {"k": []}]),
    "pairs": (any_value({"": None, "a": {"b": [1.5]}}), {"": None, "a": {"b": [1.5]}}),
}


def test_every_kind_of_value_comes_back_as_it_was_sent(server: Listening, send: Send) -> None:
    trace = f"values {send.__name__}"
    one = span("a", trace=trace)
    one.attributes.extend(KeyValue(key=key, value=value) for key, (value, _) in _VALUES.items())
    one.attributes.append(KeyValue(key="deep", value=_nested(30)))
    one.attributes.append(KeyValue(key="twice", value=any_value(1)))
    one.attributes.append(KeyValue(key="twice", value=any_value("two")))
    twice = KeyValueList(values=[KeyValue(key="k", value=any_value(1)), KeyValue(key="k", value=any_value(2))])
    one.attributes.append(KeyValue(key="twice within", value=AnyValue(kvlist_value=twice)))
    outcome = send(traces(one))
    assert (outcome.code, outcome.rejected) == (0, 0)
    key = ("default", trace_id(trace).hex())
    (found,) = server.store.read_traces([key])[key].spans
    assert {name: found.attributes[name] for name in _VALUES} == {name: value for name, (_, value) in _VALUES.items()}
    deep = found.attributes["deep"]
    for _ in range(30):
        assert isinstance(deep, list)
        (deep,) = deep
    assert deep == "the bottom"


def test_both_spellings_of_an_event_name_are_read(server: Listening, send: Send) -> None:
    trace = f"events {send.__name__}"
    older = log_record("", {"event.name": "older"}, trace=trace, at=1)
    body = {"said": ["hi", 1], "by": None}
    assert send(logs(log_record("newer", body=body, trace=trace), older)).code == 0
    key = ("default", trace_id(trace).hex())
    records = server.store.read_traces([key])[key].logs
    assert [(each.event_name, each.body) for each in records] == [("newer", body), ("older", None)]


@pytest.mark.parametrize("signal", ["traces", "logs", "metrics"])
def test_a_prefix_is_taken_where_it_was_asked_for(server: Listening, listen: Listen, signal: str) -> None:
    to = listen(server.store, http_prefixes=("/api/public/otel",)).addresses
    assert ask(to, f"/api/public/otel/v1/{signal}").status == 200
    assert ask(to, f"/v1/{signal}").status == 200
    elsewhere = ask(to, f"/otlp/v1/{signal}")
    assert elsewhere.status == 404
    assert b"start with --http-prefix /otlp" in elsewhere.body


def test_one_connection_serves_many_requests_also_in_chunks(server: Listening) -> None:
    connection = http.client.HTTPConnection(server.addresses.host, server.addresses.http_port, timeout=20)
    connection.connect()
    first = connection.sock
    for turn in range(3):
        body = traces(span(f"{turn}", trace="kept")).SerializeToString()
        pieces = iter([body[:10], body[10:]]) if turn else body
        connection.request("POST", "/v1/traces", pieces, PROTOBUF, encode_chunked=bool(turn))
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b"")
        assert connection.sock is first
    connection.request("POST", "/v1/traces", b"\xff\xff", PROTOBUF)
    refused = connection.getresponse()
    assert (refused.status, bool(refused.read()), connection.sock is first) == (400, True, True)
    connection.close()
    assert stored(server, "kept") == ["0", "1", "2"]
