"""Verdicts as OpenTelemetry events: sent over both transports to a real collector, read back, and no evidence there."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from spanproof_collector.model.filters import Filter
from spanproof_collector.store import Store, open_store
from spanproof_collector.trials import read_trials
from spanproof_evaluators.__main__ import main
from spanproof_evaluators.errors import PublishError
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.suites import parse_suite
from spanproof_evaluators.runner import assess, evaluate
from spanproof_evaluators.runner.publishing import publish, records, sender
from spanproof_instrumentation import semconv
from tests.collector.server.conftest import Listen, listeners
from tests.evaluators.shop import SUITE, attempt
from tests.factories import log_record, logs, trace_id
from tests.storing import put

SHOP = parse_suite(json.dumps(SUITE), name="suite.json")
AT = 1_770_000_000_000_000_000


@pytest.fixture
def listen() -> Iterator[Listen]:
    """Return a function that starts a collector over a store."""
    with listeners() as listen:
        yield listen


def judged(store: Store) -> list[Assessment]:
    put(store, attempt("good"), attempt("bad", refunds=[], at=10), attempt("blind", refunds=None, at=20))
    list(evaluate(store, Filter(), SHOP))
    return list(assess(store, Filter(), SHOP))


def attributes(record: LogRecord) -> dict[str, object]:
    found: dict[str, object] = {}
    for pair in record.attributes:
        found[pair.key] = getattr(pair.value, pair.value.WhichOneof("value") or "string_value")
    return found


def test_each_word_is_an_event_under_the_span_that_it_judges(store: Store) -> None:
    found = judged(store)
    by_name = {
        (told[semconv.EVALUATION_TRIAL], told[semconv.EVALUATION_NAME]): (record, told)
        for record in records(found, AT)
        for told in [attributes(record)]
    }
    record, told = by_name["bad", "false_success"]
    assert record.trace_id == trace_id("bad")
    assert record.span_id != b""
    assert (told[semconv.EVALUATION_LABEL], told[semconv.EVALUATION_KIND]) == ("fail", "rule")
    record, told = by_name["blind", "outcome"]
    assert told[semconv.EVALUATION_STATE] == "unavailable"
    assert told[semconv.ERROR_TYPE] == told[semconv.EVALUATION_REASON] == "end_state_not_recorded"
    assert semconv.EVALUATION_SCORE not in told


@pytest.mark.parametrize("transport", ["http", "grpc"])
def test_a_collector_takes_them_and_its_trials_stay_as_they_are(store: Store, listen: Listen, transport: str) -> None:
    found = judged(store)
    listening = listen(store)
    before = list(read_trials(store))
    place = str(getattr(listening.addresses, transport))
    endpoint = place.replace("http://", f"{transport}://")
    taken, refused, why = publish(found, sender(endpoint), at=AT)
    assert (taken, refused, why) == (sum(len(one.all_results) for one in found), 0, "")
    assert list(read_trials(store)) == before
    again = list(assess(store, Filter(), SHOP))
    assert [one.outcome for one in again] == [one.outcome for one in found]


def test_somebody_elses_evaluation_is_still_shown(store: Store) -> None:
    put(store, attempt("good"))
    theirs = {semconv.EVALUATION_NAME: "relevance", semconv.EVALUATION_SCORE: 0.5}
    put(store, logs(log_record(semconv.EVENT_EVALUATION_RESULT, theirs, trace="good", of="good-agent")))
    (trial,) = read_trials(store)
    assert [one.name for one in trial.foreign_results] == ["relevance"]


class Faulty:
    """An endpoint that answers with each of these statuses in turn, then with 200."""

    def __init__(self, *statuses: int) -> None:
        answers = iter(statuses)
        self.requests: list[ExportLogsServiceRequest] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                """Take a request, or turn it down."""
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = next(answers, 200)
                if status == 200:
                    outer.requests.append(ExportLogsServiceRequest.FromString(body))
                    outer.token = self.headers.get("Authorization")
                self.send_response(status)
                self.send_header("Retry-After", "0")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        self.token: str | None = None
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def close(self) -> None:
        """Stop."""
        self.server.shutdown()
        self.server.server_close()


def test_a_busy_endpoint_is_asked_again_and_each_record_arrives_once(store: Store) -> None:
    found = judged(store)
    faulty = Faulty(503, 429)
    try:
        taken, _, _ = publish(found, sender(faulty.url, [("Authorization", "Bearer t")]), at=AT)
    finally:
        faulty.close()
    (request,) = faulty.requests
    assert len(request.resource_logs[0].scope_logs[0].log_records) == taken
    assert faulty.token == "Bearer t"


def test_a_refusal_says_which_address_to_look_at(store: Store) -> None:
    found = judged(store)
    faulty = Faulty(401)
    try:
        with pytest.raises(PublishError, match="answered 401"):
            publish(found, sender(faulty.url), at=AT)
    finally:
        faulty.close()


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_nobody_there_is_said(store: Store, scheme: str) -> None:
    found = judged(store)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(PublishError, match=r"cannot be reached|did not take it"):
        publish(found, sender(f"{scheme}://127.0.0.1:{port}"), at=AT)


@pytest.mark.parametrize("endpoint", ["localhost:4318", "ftp://x"])
def test_what_is_no_endpoint_is_refused(endpoint: str) -> None:
    with pytest.raises(PublishError, match="http://"):
        sender(endpoint)


def test_the_command_sends_what_is_stored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_store(f"chdb://{tmp_path}/store") as store:
        put(store, attempt("good"))
        list(evaluate(store, Filter(), SHOP))
    faulty = Faulty()
    try:
        code = main(["publish", faulty.url, "--store", f"chdb://{tmp_path}/store", "--json"])
    finally:
        faulty.close()
    told = json.loads(capsys.readouterr().out)
    assert (code, told["trials"], told["refused"]) == (0, 1, 0)
    assert told["taken"] == sum(len(one.resource_logs[0].scope_logs[0].log_records) for one in faulty.requests)
