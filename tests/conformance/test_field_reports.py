"""What users of other tools reported of ingestion, time and self-hosting, each as it would have been right.

The rows are those of public bug reports: lost data behind a success, requests refused whole for one bad span, queues
without an end, lists that load what they do not show.
"""

import random
import threading
import time
from collections.abc import Callable
from itertools import permutations

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from spanproof_collector.errors import StoreUnreachableError
from spanproof_collector.model.filters import Filter
from spanproof_collector.model.trials import Trial
from spanproof_collector.trials import read_trials
from tests.collector.server.conftest import Listen, Listening
from tests.collector.server.posting import JSON, PROTOBUF, ask
from tests.conformance.senders import Send, Transport, sender, spelled
from tests.conformance.tables import missing
from tests.factories import (
    SECOND,
    agent,
    chat,
    event,
    log_record,
    logs,
    said,
    span,
    span_id,
    tool,
    trace_id,
    traces,
)

DAY = 86_400 * SECOND

ROWS = {
    "1 JSON is taken": "test_json_and_protobuf_make_the_same_trace",
    "2 the content type decides, and another is named": (
        "test_what_says_protobuf_and_is_json_is_told_so "
        "conformance/test_collector_behavior.py::test_another_content_type_is_415_in_plain_text"
    ),
    "3 parameters of the media type": (
        "conformance/test_otlp_specification.py::test_a_content_type_may_have_parameters_and_the_answer_has_the_type"
    ),
    "4 the answer has the request's type": (
        "conformance/test_otlp_specification.py::test_a_content_type_may_have_parameters_and_the_answer_has_the_type"
    ),
    "5 logs are stored, metrics answered": (
        "conformance/test_otlp_specification.py::test_every_signal_is_taken_over_every_transport"
    ),
    "6 what was rejected is told and kept": "test_what_is_rejected_is_told_to_the_sender_and_kept",
    "8 one bad span costs one span": "test_one_bad_span_costs_that_span_wherever_it_stands",
    "9 logs posted to the traces path": "test_logs_on_the_traces_path_are_refused_with_the_right_path",
    "10 acknowledged after it is durable": "test_nothing_is_acknowledged_that_the_store_did_not_take",
    "11 read your write": "test_what_was_acknowledged_can_be_read_at_once",
    "12 backfill of 40 days": "test_old_and_future_spans_are_kept_as_they_came",
    "13 spans of 5, 9 and 20 MB": "conformance/test_sizes.py::test_a_span_of_many_megabytes_is_stored_whole",
    "14 the queue is bounded when the store is slow": "test_a_slow_store_turns_senders_away_before_memory_runs_out",
    "16 labels of a root that comes late": "test_labels_of_a_root_that_comes_late_hold_for_the_trial",
    "18 any order of arrival": "test_the_trial_is_the_same_in_whatever_order_its_spans_come",
    "19 a root that never comes": "test_a_trial_whose_root_never_comes_is_incomplete_and_still_a_trial",
    "20 ids as they were sent": "test_ids_are_kept_as_they_were_sent",
    "21 kind from the operation's name": "test_a_tool_span_is_a_tool_call",
    "23 timeUnixNano as text": "conformance/test_otlp_specification.py::test_numbers_in_json_are_text_or_numbers",
    "25 spans that start together": "test_spans_that_start_together_have_one_order",
    "26 attributes that the SDK dropped": "test_attributes_that_the_sdk_dropped_are_counted_against_the_evidence",
    "27 a second owner of OpenTelemetry": "evaluators/test_counting.py::test_spans_of_another_owner_are_missed",
    "55 migrations twice, and after a kill": (
        "collector/store/test_migrating.py::test_migrating_again_changes_nothing "
        "collector/store/test_migrating.py::test_a_migration_that_was_killed_is_finished_the_next_time"
    ),
    "56 a trace of 10,000 spans": "conformance/test_sizes.py::test_a_trace_of_ten_thousand_spans_is_read_within_bounds",
    "56 backfill of 400 days in one batch": "test_a_request_may_span_years",
    "56 a list beside a span of 12 MB": "conformance/test_sizes.py::test_a_list_does_not_read_what_it_does_not_show",
    "10,000 attributes": "conformance/test_sizes.py::test_ten_thousand_attributes_of_one_span_are_kept",
    "one trace from two owners": "test_one_trace_from_two_owners_keeps_both",
}
"""Row and what was reported, and the test that it cannot happen here."""


def test_every_row_has_its_test() -> None:
    assert missing(ROWS, __file__) == []


def stored(server: Listening, trace: str, project: str = "default") -> list[str]:
    """Return the names of the spans that are stored in a trace, in their order."""
    found = server.store.read_traces([(project, trace_id(trace).hex())])
    return [each.name for records in found.values() for each in records.spans]


def trial_of(server: Listening, trace: str) -> Trial:
    """Return the one trial of a trace."""
    (found,) = read_trials(server.store, Filter(trials=(trace_id(trace).hex(),)), unit="trace")
    return found


def test_json_and_protobuf_make_the_same_trace(server: Listening) -> None:
    events = [event("seen", {"a": [1, None]}, at=0.5)]
    one = traces(span("a", {"k": {"n": 1}}, trace="json", events=events, error="no"), resource={"host.name": "h"})
    assert ask(server.addresses, "/v1/traces", spelled(one), JSON).status == 200
    key = ("default", trace_id("json").hex())
    before = server.store.read_traces([key])[key].spans
    assert [each.name for each in before] == ["a"]
    assert ask(server.addresses, "/v1/traces", one.SerializeToString(), PROTOBUF).status == 200
    assert server.store.read_traces([key])[key].spans == before


def test_what_says_protobuf_and_is_json_is_told_so(server: Listening) -> None:
    answer = ask(server.addresses, "/v1/traces", spelled(traces(span("a"))), PROTOBUF)
    assert answer.status == 400
    assert b"this looks like JSON, and the content type says protobuf" in answer.body


def test_what_is_rejected_is_told_to_the_sender_and_kept(server: Listening, send: Send) -> None:
    odd = span(f"odd {send.__name__}")
    odd.trace_id = b"short"
    outcome = send(traces(odd))
    assert (outcome.rejected, outcome.message) == (1, "trace id has 5 bytes, not 16 (1)")
    kept = [each for each in server.store.dead_letters() if each.bytes == odd.SerializeToString()]
    assert [(each.reason, each.signal) for each in kept] == [("trace id has 5 bytes, not 16", "traces")]


def _too_deep() -> bytes:
    deep = b"\x0a\x01x"
    for _ in range(200):
        deep = b"\x2a" + _sized(b"\x0a" + _sized(deep))
    return b"\x4a" + _sized(b"\x0a\x01k\x12" + _sized(deep))


def _sized(value: bytes) -> bytes:
    length = len(value)
    return (bytes([length]) if length < 128 else bytes([length & 127 | 128, length >> 7])) + value


_BAD: dict[str, Callable[[bytes], bytes]] = {
    "name": lambda item: item.replace(b"odd name", b"odd nam\xff"),
    "key": lambda item: item.replace(b"odd key", b"odd ke\xff"),
    "value": lambda item: item.replace(b"odd value", b"odd valu\xff"),
    "within": lambda item: item.replace(b"odd within", b"odd withi\xff"),
    "event": lambda item: item.replace(b"odd event", b"odd even\xff"),
    "too deep": lambda item: item + _too_deep(),
    "short id": lambda item: item.replace(b"\x12\x08" + span_id("bad"), b"\x12\x02ab"),
    "zero id": lambda item: item.replace(span_id("bad"), bytes(8)),
}


@pytest.mark.parametrize("what", _BAD)
@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("transport", ["grpc", "http/protobuf"])
def test_one_bad_span_costs_that_span_wherever_it_stands(
    server: Listening, what: str, position: int, transport: str
) -> None:
    trace = f"{what} {position} {transport}"
    bad = span(
        *("odd name", {"odd key": "odd value", "list": [{"k": "odd within"}]}),
        **{"trace": trace, "key": "bad", "events": [event("odd event")]},  # type: ignore[arg-type]
    ).SerializeToString()
    items = [span(name, trace=trace).SerializeToString() for name in ("a", "b")]
    items.insert(position, _BAD[what](bad))
    assert items[position] != bad
    scope = b"".join(b"\x12" + _long(item) for item in items)
    body = b"\x0a" + _long(b"\x12" + _long(scope))
    outcome = sender(transport, server.addresses)(body, "traces")  # type: ignore[arg-type]
    assert (outcome.code, outcome.rejected) == (0, 1)
    assert sorted(stored(server, trace)) == ["a", "b"]
    assert items[position] in [each.bytes for each in server.store.dead_letters(1000)]


def _long(value: bytes) -> bytes:
    number, out = len(value), bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number]) + value


def test_logs_on_the_traces_path_are_refused_with_the_right_path(send: Send) -> None:
    request = logs(log_record("said", {"k": "v"}, body="hi"))
    body = spelled(request) if send.__name__ == "http/json" else request.SerializeToString()
    outcome = send(body, "traces")
    assert (outcome.code, outcome.retry_seconds) == (3, None)
    assert "this is a logs request on the traces path" in outcome.message
    assert "send it to /v1/logs" in outcome.message


def test_nothing_is_acknowledged_that_the_store_did_not_take(
    server: Listening, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = f"killed writer {send.__name__}"
    insert = server.store.insert

    def no_steps(table: str, *rest: object) -> None:
        if table == "steps":  # the last of several writes
            raise StoreUnreachableError("here", "the writer was killed")
        insert(table, *rest)  # type: ignore[arg-type]

    with monkeypatch.context() as broken:
        broken.setattr(server.store, "insert", no_steps)
        outcome = send(traces(span("a", trace=trace)))
    assert outcome.code == 14
    assert outcome.retry_seconds is not None
    assert send(traces(span("a", trace=trace))).code == 0  # as the sender does by itself
    assert stored(server, trace) == ["a"]
    assert trial_of(server, trace).steps


def test_what_was_acknowledged_can_be_read_at_once(server: Listening, send: Send) -> None:
    for number in range(5):
        trace = f"at once {send.__name__} {number}"
        assert send(traces(span("a", trace=trace))).code == 0
        assert stored(server, trace) == ["a"]


_TIMES = {
    "40 days ago": -40 * DAY,
    "400 days ago": -400 * DAY,
    "an hour ahead": 3600 * SECOND,
    "three years ahead": 1100 * DAY,
    "the epoch": -time.time_ns(),
}


@pytest.mark.parametrize("when", _TIMES)
def test_old_and_future_spans_are_kept_as_they_came(server: Listening, send: Send, when: str) -> None:
    trace = f"{when} {send.__name__}"
    one = span("a", trace=trace)
    one.start_time_unix_nano = max(time.time_ns() + _TIMES[when], 1)
    one.end_time_unix_nano = one.start_time_unix_nano + 5
    outcome = send(traces(one))
    assert (outcome.code, outcome.rejected) == (0, 0)
    key = ("default", trace_id(trace).hex())
    (found,) = server.store.read_traces([key])[key].spans
    assert (found.start, found.end) == (one.start_time_unix_nano, one.end_time_unix_nano)
    assert trial_of(server, trace).started_at == one.start_time_unix_nano


def test_times_of_a_clock_that_is_wrong_are_kept_as_they_came(server: Listening, send: Send) -> None:
    trace = f"skew {send.__name__}"
    backwards = span("ends before it starts", trace=trace, seconds=-3600)
    early = span("a child that starts before its parent", trace=trace, parent=backwards.name, at=-7200)
    never = span("without times", trace=trace)
    never.start_time_unix_nano = never.end_time_unix_nano = 0
    last = span("at the end of time", trace=trace)
    last.start_time_unix_nano = last.end_time_unix_nano = 2**64 - 1
    outcome = send(traces(backwards, early, never, last))
    assert (outcome.code, outcome.rejected) == (0, 0)
    key = ("default", trace_id(trace).hex())
    found = {each.name: (each.start, each.end) for each in server.store.read_traces([key])[key].spans}
    assert found == {
        each.name: (each.start_time_unix_nano, each.end_time_unix_nano) for each in (backwards, early, never, last)
    }
    assert trial_of(server, trace).trace_ids


@pytest.mark.parametrize(
    ("days", "transport"),
    [(400, "grpc"), (400, "http/protobuf"), (400, "http/json"), (20 * 365, "http/protobuf")],
)
def test_a_request_may_span_years(server: Listening, days: int, transport: Transport) -> None:
    trace, send = f"{days} {transport}", sender(transport, server.addresses)
    step = 1 if days == 400 else 25
    spans = [span(f"{day}", trace=trace, at=-day * 86_400) for day in range(0, days, step)]
    records = [log_record(f"{day}", trace=trace, at=-day * 86_400) for day in range(0, days, step)]
    months = {time.gmtime(each.start_time_unix_nano // SECOND)[:2] for each in spans}
    assert len(months) > (12 if days == 400 else 200)  # the engine's own limit for one insert is 100
    assert (send(traces(*spans)).code, send(logs(*records)).code) == (0, 0)
    key = ("default", trace_id(trace).hex())
    found = server.store.read_traces([key])[key]
    assert (len(found.spans), len(found.logs)) == (len(spans), len(records))


def test_a_slow_store_turns_senders_away_before_memory_runs_out(
    server: Listening, listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = listen(server.store, max_bytes=3_000_000).addresses
    inserting, go_on = threading.Event(), threading.Event()
    insert = server.store.insert

    def slow(*args: object) -> None:
        inserting.set()
        assert go_on.wait(60)
        insert(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(server.store, "insert", slow)
    bodies = [traces(span("a", {"k": "x" * 1_000_000}, trace=f"slow {n}")).SerializeToString() for n in range(8)]
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda body=body: statuses.append(ask(to, "/v1/traces", body).status))
        for body in bodies
    ]
    for thread in threads:
        thread.start()
    try:
        assert inserting.wait(20)
        while len(statuses) < 6:  # more than two do not fit
            assert any(thread.is_alive() for thread in threads)
        metrics = ask(to, "/metrics", method="GET", headers={}).body.decode()
        refused = ask(to, "/v1/traces", bodies[0])
    finally:
        go_on.set()
        for thread in threads:
            thread.join(20)
    assert (refused.status, int(refused.headers["retry-after"]) > 0) == (503, True)
    assert sorted(statuses) == [200] * 2 + [503] * 6
    assert "spanproof_requests_refused_total 6.0" in metrics


def test_labels_of_a_root_that_comes_late_hold_for_the_trial(server: Listening, send: Send) -> None:
    trace = f"late root {send.__name__}"
    send(traces(span("lookup", tool("lookup"), trace=trace, parent="run", at=1)))
    assert trial_of(server, trace).variant is None
    labels = {"spanproof.variant": "v2", "spanproof.task.id": "refund"}
    send(traces(span("run", agent(**labels), trace=trace, seconds=9)))
    found = trial_of(server, trace)
    assert (found.variant, found.task_id, found.agent_name) == ("v2", "refund", "test-agent")


def test_the_trial_is_the_same_in_whatever_order_its_spans_come(server: Listening) -> None:
    spans = [
        span("run", agent(), seconds=9),
        span("chat", chat([said("user", "hi")], [said("assistant", "done")]), parent="run", at=1),
        span("lookup", tool("lookup", {"id": 1}, "found", "c1"), parent="chat", at=2),
        span("refund", tool("refund", {"id": 2}, "ok", "c2"), parent="run", at=4),
    ]
    send = sender("http/protobuf", server.addresses)
    orders = [*permutations(range(4))]
    for turn in range(4):  # each order in a trace of its own, and of each trace one span a request
        batch = []
        for number, order in enumerate(orders):
            one = Span.FromString(spans[order[turn]].SerializeToString())
            one.trace_id = trace_id(f"order {number}")
            batch.append(one)
        assert send(traces(*batch)).code == 0
    found = set()
    ids = tuple(trace_id(f"order {number}").hex() for number in range(len(orders)))
    for trial in read_trials(server.store, Filter(trials=ids), unit="trace"):
        found.add(
            (
                tuple((step.kind, step.name, step.span_id) for step in trial.steps),
                tuple((call.name, call.call_id, call.executed) for call in trial.tool_calls),
                trial.status,
                trial.final_answer,
                trial.completeness.root_missing,
            )
        )
    assert len(found) == 1


def test_a_trial_whose_root_never_comes_is_incomplete_and_still_a_trial(server: Listening, send: Send) -> None:
    trace = f"no root {send.__name__}"
    send(traces(span("lookup", tool("lookup", {"id": 1}, "found"), trace=trace, parent="never sent")))
    found = trial_of(server, trace)
    assert (found.status, found.completeness.root_missing) == ("incomplete", True)
    assert [call.name for call in found.tool_calls] == ["lookup"]


def test_ids_are_kept_as_they_were_sent(server: Listening, send: Send) -> None:
    one = span("a", parent="b")
    number = {"grpc": 1, "http/protobuf": 2, "http/json": 3}[send.__name__]
    one.trace_id = bytes.fromhex("00" * 15 + f"0{number}")
    one.span_id, one.parent_span_id = bytes.fromhex("00000000000000f0"), bytes.fromhex("ff" * 8)
    assert send(traces(one)).code == 0
    key = ("default", "00" * 15 + f"0{number}")
    (found,) = server.store.read_traces([key])[key].spans
    assert (found.trace_id, found.span_id, found.parent_span_id) == (key[1], "00000000000000f0", "ff" * 8)


def test_a_tool_span_is_a_tool_call(server: Listening, send: Send) -> None:
    trace = f"kind {send.__name__}"
    send(traces(span("anything", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}, trace=trace)))
    assert [step.kind for step in trial_of(server, trace).steps] == ["tool_call"]


def test_spans_that_start_together_have_one_order(server: Listening, send: Send) -> None:
    names = ["root", "child", *"fedcba"]
    spans = [
        span(name, trace=f"tie {send.__name__}", parent={"root": None, "child": "root"}.get(name, "child"))
        for name in names
    ]
    random.Random(send.__name__).shuffle(spans)
    for one in spans:
        send(traces(one))
    first = stored(server, f"tie {send.__name__}")
    assert sorted(first) == sorted(names)
    assert [stored(server, f"tie {send.__name__}") for _ in range(3)] == [first] * 3
    steps = [step.span_id for step in trial_of(server, f"tie {send.__name__}").steps]
    assert steps == [step.span_id for step in trial_of(server, f"tie {send.__name__}").steps]
    assert steps.index(span_id("root").hex()) < steps.index(span_id("child").hex()) < steps.index(span_id("a").hex())


def test_attributes_that_the_sdk_dropped_are_counted_against_the_evidence(server: Listening) -> None:
    provider = TracerProvider(shutdown_on_exit=False, span_limits=SpanLimits(max_attributes=128))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{server.addresses.http}/v1/traces")))
    with provider.get_tracer("agent").start_as_current_span("chat") as one:
        for number in range(145):
            one.set_attribute(f"llm.input_messages.{number}.message.content", "hi")
    provider.shutdown()
    trace = f"{one.get_span_context().trace_id:032x}"
    (found,) = read_trials(server.store, Filter(trials=(trace,)), unit="trace")
    assert found.completeness.dropped_attributes == 17


def test_one_trace_from_two_owners_keeps_both(server: Listening, send: Send) -> None:
    trace = f"owners {send.__name__}"
    send(traces(span("call", trace=trace, seconds=9), resource={"service.name": "client"}, scope="one"))
    send(traces(span("served", trace=trace, parent="call", at=1), resource={"service.name": "server"}, scope="two"))
    theirs = {"service.name": "other", "spanproof.project": "theirs"}
    send(traces(span("elsewhere", trace=trace, at=2), resource=theirs))
    key = ("default", trace_id(trace).hex())
    found = server.store.read_traces([key])[key].spans
    assert [(each.name, dict(each.resource.attributes)["service.name"], each.scope.name) for each in found] == [
        ("call", "client", "one"),
        ("served", "server", "two"),
    ]
    assert stored(server, trace, "theirs") == ["elsewhere"]
