import gzip
import json
import zlib
from pathlib import Path

import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from spanproof_collector.store import Store, open_store
from tests.collector.server.conftest import Listen, Listening
from tests.collector.server.posting import JSON, PROTOBUF, ask
from tests.collector_process import collecting
from tests.factories import log_record, logs, span, trace_id, traces

TRACES = traces(span("a")).SerializeToString()
SPELLED = json.dumps(
    {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "0A" * 16, "spanId": "0b" * 8, "name": "a"}]}]}]}
).encode()


def _broken() -> bytes:
    broken = span("broken")
    broken.span_id = b"short"
    return traces(span("a"), broken).SerializeToString()


@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        ("/v1/traces", TRACES, PROTOBUF),
        ("/v1/traces", SPELLED, JSON),
        ("/v1/traces", SPELLED, {"Content-Type": "application/json; charset=utf-8"}),
        ("/v1/traces", gzip.compress(TRACES), PROTOBUF | {"Content-Encoding": "gzip"}),
        ("/v1/traces", zlib.compress(SPELLED), JSON | {"Content-Encoding": "deflate"}),
        ("/v1/logs", logs(log_record("said")).SerializeToString(), PROTOBUF),
        ("/v1/logs", b'{"resourceLogs":[]}', JSON),
        ("/v1/traces", b"", PROTOBUF),
        ("/v1/traces", b"{}", JSON),
        ("/v1/metrics", b"anything", PROTOBUF),
        ("/v1/metrics", b"{}", JSON),
    ],
)
def test_a_request_is_answered_in_its_own_form(
    listening: Listening, path: str, body: bytes, headers: dict[str, str]
) -> None:
    answer = ask(listening.addresses, path, body, headers)
    form = headers["Content-Type"].partition(";")[0]
    assert (answer.status, answer.headers["content-type"]) == (200, form)
    assert answer.body == (b"{}" if form == "application/json" else b"")


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"),
    [
        ("POST", "/v1/traces", b"\xff\xff", PROTOBUF, 400),
        ("POST", "/v1/traces", b"{", JSON, 400),
        ("POST", "/v1/traces", b"no gzip", PROTOBUF | {"Content-Encoding": "gzip"}, 400),
        ("POST", "/v1/traces", logs(log_record("said")).SerializeToString(), PROTOBUF, 400),
        ("GET", "/v1/traces", b"", {}, 405),
        ("PUT", "/v1/logs", b"", PROTOBUF, 405),
        ("POST", "/v1/traces", gzip.compress(bytes(65 << 20)), PROTOBUF | {"Content-Encoding": "gzip"}, 413),
        ("POST", "/v1/traces", TRACES, {"Content-Type": "text/plain"}, 415),
        ("POST", "/v1/traces", TRACES, {}, 415),
        ("POST", "/v1/metrics", b"", {"Content-Type": "text/plain"}, 415),
        ("POST", "/v1/traces", TRACES, PROTOBUF | {"Content-Encoding": "br"}, 415),
        ("POST", "/v1/profiles", TRACES, PROTOBUF, 404),
    ],
)
def test_what_cannot_be_taken_is_refused_for_good(
    listening: Listening, method: str, path: str, body: bytes, headers: dict[str, str], status: int
) -> None:
    answer = ask(listening.addresses, path, body, headers, method)
    assert answer.status == status
    assert "retry-after" not in answer.headers


def test_a_body_past_the_limit_is_refused_before_it_is_unpacked(listening: Listening) -> None:
    assert ask(listening.addresses, "/v1/traces", bytes((64 << 20) + 1)).status == 413


def test_an_error_is_a_status_in_the_form_of_the_request(listening: Listening) -> None:
    protobuf = ask(listening.addresses, "/v1/traces", b"\xff\xff")
    spelled = ask(listening.addresses, "/v1/traces", b"{", JSON)
    assert Status.FromString(protobuf.body).code == json.loads(spelled.body)["code"] == 3
    assert "not OTLP/JSON" in json.loads(spelled.body)["message"]


def test_rejected_spans_are_a_partial_success_in_the_form_of_the_request(listening: Listening) -> None:
    partial = ExportTraceServiceResponse.FromString(ask(listening.addresses, "/v1/traces", _broken()).body)
    assert partial.partial_success.rejected_spans == 1
    assert "5 bytes" in partial.partial_success.error_message
    wrong = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "AAAA"}]}]}]}).encode()
    spelled = json.loads(ask(listening.addresses, "/v1/traces", wrong, JSON).body)
    assert spelled["partialSuccess"]["rejectedSpans"] == "1"
    records = listening.store.read_traces([("default", trace_id("a").hex())])
    assert [each.name for found in records.values() for each in found.spans] == ["a"]


def test_a_busy_server_says_when_to_come_back(listen: Listen, store: Store) -> None:
    answer = ask(listen(store, max_rows=0).addresses, "/v1/traces", TRACES)
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert Status.FromString(answer.body).code == 14


def test_a_store_that_is_gone_is_worth_another_attempt(listen: Listen, tmp_path: Path) -> None:
    with collecting(tmp_path / "store") as holder, open_store(holder.store) as store:
        listening = listen(store)
        assert ask(listening.addresses, "/v1/traces", TRACES).status == 200
        holder.kill()
        answer = ask(listening.addresses, "/v1/traces", traces(span("b")).SerializeToString())
        assert answer.status == 503
        assert int(answer.headers["retry-after"]) > 0
        assert ask(listening.addresses, "/ready", method="GET").status == 503
        assert ask(listening.addresses, "/health", method="GET").status == 200


def test_health_tells_what_was_counted(listening: Listening) -> None:
    ask(listening.addresses, "/v1/traces", _broken())
    health = json.loads(ask(listening.addresses, "/health", method="GET").body)
    assert health["status"] == "ok"
    assert (health["counts"]["spans"], health["counts"]["rejected"]) == (1, 1)
    assert json.loads(ask(listening.addresses, "/ready", method="GET").body) == {"ready": True}
