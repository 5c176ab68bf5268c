import json
from pathlib import Path

from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from spanproof_collector.store import Store, open_store
from tests.collector.server.conftest import Listen, Listening
from tests.collector.server.posting import JSON, ask
from tests.collector_process import collecting
from tests.factories import span, trace_id, traces

TRACES = traces(span("a")).SerializeToString()
SPELLED = json.dumps(
    {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "0A" * 16, "spanId": "0b" * 8, "name": "a"}]}]}]}
).encode()


def _broken() -> bytes:
    broken = span("broken")
    broken.span_id = b"short"
    return traces(span("a"), broken).SerializeToString()


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
    answer = ask(listen(store, max_requests=0).addresses, "/v1/traces", TRACES)
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
        assert ask(listening.addresses, "/readyz", method="GET").status == 503
        assert ask(listening.addresses, "/healthz", method="GET").status == 200
