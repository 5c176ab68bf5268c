"""Who may send and who may read, over real sockets."""

import json
import time

import grpc
import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpanExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter

from spanproof_collector.server import access
from spanproof_collector.server.serve import Addresses
from spanproof_collector.store import Store
from spanproof_collector.store.tokens import add_token, read_tokens, remove_token
from tests.collector.server.conftest import Listen, Listening
from tests.collector.server.posting import JSON, PROTOBUF, ask
from tests.collector.server.test_grpc import TRACES, call
from tests.factories import span, trace_id, traces

BODY = traces(span("a")).SerializeToString()


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def _stored(listening: Listening) -> list[str]:
    found = listening.store.read_traces([("default", trace_id("a").hex())])
    return [each.name for records in found.values() for each in records.spans]


def test_the_store_keeps_the_hash_of_a_token_and_not_the_token(store: Store) -> None:
    token, secret = add_token(store, "ci", ["ingest"])
    assert read_tokens(store) == [token]
    with store._connection() as connection:
        rows = connection.client.query("SELECT * FROM tokens").result_rows
    assert len(secret) > 40
    assert secret not in str(rows)
    assert secret.removeprefix("spanproof_") not in str(rows)


@pytest.mark.parametrize("given", [{}, bearer("wrong"), {"Authorization": "Basic abc"}, bearer(""), bearer("é" * 2000)])
def test_without_a_known_token_nothing_is_taken_over_http(listen: Listen, store: Store, given: dict[str, str]) -> None:
    add_token(store, "ci", ["ingest"])
    listening = listen(store)
    headers = PROTOBUF | {key: value.encode().decode("latin-1") for key, value in given.items()}
    answer = ask(listening.addresses, "/v1/traces", BODY, headers)
    assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Bearer realm="spanproof"')
    assert Status.FromString(answer.body).code == 16
    assert json.loads(ask(listening.addresses, "/v1/traces", b"{}", headers | JSON).body)["code"] == 16
    assert not _stored(listening)


def test_without_a_known_token_nothing_is_taken_over_grpc(listen: Listen, store: Store) -> None:
    add_token(store, "ci", ["ingest"])
    listening = listen(store)
    for metadata in ((), (("authorization", "Bearer wrong"),)):
        with pytest.raises(grpc.RpcError) as refused:
            call(listening.addresses, TRACES, BODY, metadata=metadata)
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
    with pytest.raises(grpc.RpcError) as refused:  # nobody reads what a stranger sends
        call(listening.addresses, TRACES, bytes((64 << 20) + 1))
    assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
    assert not _stored(listening)


def test_a_token_for_reading_does_not_send_and_one_for_sending_does_not_read(listen: Listen, store: Store) -> None:
    _, sender = add_token(store, "ci", ["ingest"])
    _, reader = add_token(store, "prometheus", ["read"])
    to = listen(store).addresses
    assert ask(to, "/v1/traces", BODY, PROTOBUF | bearer(sender)).status == 200
    refused = ask(to, "/v1/traces", BODY, PROTOBUF | bearer(reader))
    assert refused.status == 403
    assert "'prometheus' may not send" in Status.FromString(refused.body).message
    with pytest.raises(grpc.RpcError) as denied:
        call(to, TRACES, BODY, metadata=(("authorization", f"Bearer {reader}"),))
    assert denied.value.code() is grpc.StatusCode.PERMISSION_DENIED
    for path in ("/metrics", f"/api/traces/{trace_id('a').hex()}"):
        assert ask(to, path, method="GET", headers=bearer(reader)).status == 200
        assert ask(to, path, method="GET", headers=bearer(sender)).status == 403
        assert ask(to, path, method="GET", headers={}).status == 401
    for path in ("/healthz", "/readyz"):  # for probes, which have no token
        assert ask(to, path, method="GET", headers={}).status == 200


def test_a_token_that_is_made_while_the_server_runs_is_known_soon(listen: Listen, store: Store) -> None:
    add_token(store, "first", ["ingest"])
    to = listen(store).addresses
    _, secret = add_token(store, "second", ["ingest", "read"])
    # For tokens that it does not know the server looks into the store at most once a second.
    assert _comes_to(200, to, secret) < 3


def _comes_to(status: int, to: Addresses, secret: str) -> float:
    """Send until the answer has this status; return after how many seconds it had."""
    began = time.monotonic()
    while ask(to, "/v1/traces", BODY, PROTOBUF | bearer(secret)).status != status:
        assert time.monotonic() - began < 20
    return time.monotonic() - began


def test_a_removed_token_is_refused_and_the_server_stays_closed(
    listen: Listen, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spanproof_collector.server.collector.REFRESH_SECONDS", 0.05)
    token, secret = add_token(store, "ci", ["ingest"])
    to = listen(store).addresses
    assert ask(to, "/v1/traces", BODY, PROTOBUF | bearer(secret)).status == 200
    assert remove_token(store, token.token_id) == token
    assert remove_token(store, token.token_id) is None
    _comes_to(401, to, secret)
    assert ask(to, "/v1/traces", BODY).status == 401
    assert access.REFRESH_SECONDS == 5  # what the documents promise


def test_a_server_that_demands_tokens_is_closed_while_there_are_none(listen: Listen, store: Store) -> None:
    answer = ask(listen(store, demand_tokens=True).addresses, "/v1/traces", BODY)
    assert answer.status == 401
    assert "spanproof token add NAME --scope ingest" in Status.FromString(answer.body).message


def test_on_loopback_no_token_is_demanded_while_the_store_holds_none(listening: Listening) -> None:
    assert ask(listening.addresses, "/v1/traces", BODY).status == 200
    assert ask(listening.addresses, "/metrics", method="GET", headers={}).status == 200


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_an_exporter_with_the_token_in_its_headers_sends(listen: Listen, store: Store, protocol: str) -> None:
    _, secret = add_token(store, "ci", ["ingest"])
    to = listen(store).addresses
    headers = {"authorization": f"Bearer {secret}"}
    exporter: SpanExporter = (
        GrpcSpanExporter(endpoint=to.grpc, insecure=True, headers=headers)
        if protocol == "grpc"
        else HttpSpanExporter(endpoint=f"{to.http}/v1/traces", headers=headers)
    )
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("agent").start_as_current_span("run") as run:
        pass
    provider.shutdown()
    key = ("default", f"{run.get_span_context().trace_id:032x}")
    assert [each.name for each in store.read_traces([key])[key].spans] == ["run"]
