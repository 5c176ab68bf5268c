"""Health, readiness, metrics and the trace that arrived, asked over real sockets."""

import json
import threading
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from prometheus_client.parser import text_string_to_metric_families

from spanproof_collector.errors import StoreUnreachableError
from spanproof_collector.server.serve import Addresses
from spanproof_collector.store import Store, open_store
from tests.collector.server.conftest import Listen, Listening
from tests.collector.server.posting import JSON, ask
from tests.collector.server.test_grpc import TRACES, call
from tests.collector_process import collecting
from tests.factories import log_record, logs, span, trace_id, traces

BODY = traces(span("a")).SerializeToString()


class Scraped:
    """The samples of one scrape."""

    def __init__(self, to: Addresses) -> None:
        text = ask(to, "/metrics", method="GET", headers={}).body.decode()
        self._samples = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def value(self, name: str, **labels: str) -> float:
        """Return one sample, which is there."""
        return self._samples[name, frozenset(labels.items())]


def _check(to: Addresses, service: str = "") -> str:
    with grpc.insecure_channel(f"{to.host}:{to.grpc_port}") as channel:
        answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=service), timeout=20)
        return str(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))


def test_what_was_received_stored_and_rejected_is_counted_with_the_reason(listening: Listening) -> None:
    to = listening.addresses
    short, zero = span("short"), span("zero")
    short.span_id, zero.trace_id = b"five!", bytes(16)
    ask(to, "/v1/traces", traces(span("a"), span("b"), short, zero).SerializeToString())
    ask(to, "/v1/logs", logs(log_record("said")).SerializeToString())
    ask(to, "/v1/traces", b"{", JSON)
    call(to, TRACES, BODY)
    found = Scraped(to)
    assert found.value("spanproof_items_received_total", signal="traces") == 5
    assert found.value("spanproof_items_stored_total", signal="traces") == 3
    assert found.value("spanproof_items_stored_total", signal="logs") == 1
    assert found.value("spanproof_items_rejected_total", signal="traces", reason="span id has N bytes, not N") == 1
    assert found.value("spanproof_items_rejected_total", signal="traces", reason="trace id is all zeros") == 1
    assert found.value("spanproof_dead_letters") == 2
    assert found.value("spanproof_requests_total", transport="http", signal="traces", code="OK") == 1
    assert found.value("spanproof_requests_total", transport="http", signal="traces", code="INVALID_ARGUMENT") == 1
    assert found.value("spanproof_requests_total", transport="grpc", signal="traces", code="OK") == 1
    assert found.value("spanproof_request_duration_seconds_count", transport="http", signal="traces") == 2
    assert found.value("spanproof_commit_duration_seconds_count") == 3
    assert found.value("spanproof_commit_duration_seconds_bucket", le="+Inf") == 3
    assert found.value("spanproof_commit_duration_seconds_sum") > 0
    for waiting in ("queue_rows", "queue_bytes", "requests_open"):
        assert found.value(f"spanproof_{waiting}") == 0
    assert found.value("process_resident_memory_bytes") > 0


def test_reasons_that_senders_make_up_are_few_kinds(listening: Listening) -> None:
    for length in range(1, 8):
        odd = span("odd")
        odd.span_id = bytes(length)
        ask(listening.addresses, "/v1/traces", traces(odd).SerializeToString())
    assert (
        Scraped(listening.addresses).value(
            "spanproof_items_rejected_total", signal="traces", reason="span id has N bytes, not N"
        )
        == 7
    )


def test_requests_that_are_turned_away_are_counted(listen: Listen, store: Store) -> None:
    to = listen(store, max_requests=0).addresses
    assert ask(to, "/v1/traces", BODY).status == 503
    found = Scraped(to)
    assert found.value("spanproof_requests_refused_total") == 1
    assert found.value("spanproof_requests_total", transport="http", signal="traces", code="UNAVAILABLE") == 1


def test_what_is_in_flight_shows_while_the_store_is_slow(listening: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    inserting, go_on = threading.Event(), threading.Event()
    insert = listening.store.insert

    def slow(*args: object) -> None:
        inserting.set()
        assert go_on.wait(20)
        insert(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(listening.store, "insert", slow)
    sender = threading.Thread(target=ask, args=(listening.addresses, "/v1/traces", BODY))
    sender.start()
    try:
        assert inserting.wait(20)
        found = Scraped(listening.addresses)
    finally:
        go_on.set()
        sender.join(20)
    assert found.value("spanproof_requests_open") == found.value("spanproof_queue_rows") == 1
    assert found.value("spanproof_queue_bytes") >= len(BODY)


def test_a_server_whose_store_went_away_lives_and_is_not_ready(listen: Listen, tmp_path: Path) -> None:
    with collecting(tmp_path / "store") as holder, open_store(holder.store) as store:
        to = listen(store).addresses
        assert json.loads(ask(to, "/readyz", method="GET", headers={}).body) == {"ready": True}
        assert _check(to) == _check(to, TRACES.split("/")[1]) == "SERVING"
        holder.kill()  # nobody has sent anything since
        while (answer := ask(to, "/readyz", method="GET", headers={})).status == 200:
            pass
        assert answer.status == 503
        assert json.loads(answer.body) == {"ready": False, "reason": "the store does not answer"}
        assert _check(to) == "NOT_SERVING"
        assert ask(to, "/v1/traces", BODY).status == 503
        assert Scraped(to).value("spanproof_requests_failed_total") == 1
        health = ask(to, "/healthz", method="GET", headers={})
        assert (health.status, json.loads(health.body)["status"]) == (200, "ok")


def test_a_store_that_failed_once_is_asked_again(listening: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise StoreUnreachableError("here", "the disk is full")

    with monkeypatch.context() as failing:
        failing.setattr(listening.store, "insert", broken)
        assert ask(listening.addresses, "/v1/traces", BODY).status == 503
    answer = ask(listening.addresses, "/readyz", method="GET", headers={})
    assert (answer.status, json.loads(answer.body)["reason"]) == (503, "the store did not take the last spans")
    monkeypatch.setattr("spanproof_collector.pipeline.intake._FAILURE_SECONDS", 0)  # after ten seconds
    assert ask(listening.addresses, "/readyz", method="GET", headers={}).status == 200


def test_a_trace_that_arrived_can_be_asked_for(listening: Listening) -> None:
    to = listening.addresses
    call(to, TRACES, traces(span("a"), span("b", at=1)).SerializeToString())
    path = f"/api/traces/{trace_id('a').hex()}"
    found = json.loads(ask(to, path.upper().replace("/API/TRACES", "/api/traces"), method="GET", headers={}).body)
    assert [each["name"] for each in found["spans"]] == ["a", "b"]
    assert ask(to, f"{path}?project=other", method="GET", headers={}).status == 404
    assert ask(to, "/api/traces/xyz", method="GET", headers={}).status == 400


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_what_is_only_read_can_be_asked_by_head_and_not_be_posted(answering: Listening, path: str) -> None:
    assert ask(answering.addresses, path, method="HEAD", headers={}).status == 200
    assert ask(answering.addresses, path, b"x").status == 405
