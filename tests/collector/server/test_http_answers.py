import gzip
import json
import zlib

import pytest
from google.rpc.status_pb2 import Status

from tests.collector.server.conftest import Listening
from tests.collector.server.posting import JSON, PROTOBUF, ask
from tests.factories import log_record, logs, span, traces

TRACES = traces(span("a")).SerializeToString()
SPELLED = json.dumps(
    {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "0A" * 16, "spanId": "0b" * 8, "name": "a"}]}]}]}
).encode()


@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        ("/v1/traces", TRACES, PROTOBUF),
        ("/v1/traces", SPELLED, JSON),
        ("/v1/traces", SPELLED, {"Content-Type": "application/json; charset=utf-8"}),
        ("/v1/traces", gzip.compress(TRACES, mtime=0), PROTOBUF | {"Content-Encoding": "gzip"}),
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
    answering: Listening, path: str, body: bytes, headers: dict[str, str]
) -> None:
    answer = ask(answering.addresses, path, body, headers)
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
        ("POST", "/v1/traces", gzip.compress(bytes(65 << 20), mtime=0), PROTOBUF | {"Content-Encoding": "gzip"}, 413),
        ("POST", "/v1/traces", TRACES, {"Content-Type": "text/plain"}, 415),
        ("POST", "/v1/traces", TRACES, {}, 415),
        ("POST", "/v1/metrics", b"", {"Content-Type": "text/plain"}, 415),
        ("POST", "/v1/traces", TRACES, PROTOBUF | {"Content-Encoding": "br"}, 415),
        ("POST", "/v1/profiles", TRACES, PROTOBUF, 404),
    ],
)
def test_what_cannot_be_taken_is_refused_for_good(
    answering: Listening, method: str, path: str, body: bytes, headers: dict[str, str], status: int
) -> None:
    answer = ask(answering.addresses, path, body, headers, method)
    assert answer.status == status
    assert "retry-after" not in answer.headers


def test_a_body_past_the_limit_is_refused_before_it_is_unpacked(answering: Listening) -> None:
    assert ask(answering.addresses, "/v1/traces", bytes((64 << 20) + 1)).status == 413


def test_an_error_is_a_status_in_the_form_of_the_request(answering: Listening) -> None:
    protobuf = ask(answering.addresses, "/v1/traces", b"\xff\xff")
    spelled = ask(answering.addresses, "/v1/traces", b"{", JSON)
    assert Status.FromString(protobuf.body).code == json.loads(spelled.body)["code"] == 3
    assert "not OTLP/JSON" in json.loads(spelled.body)["message"]
