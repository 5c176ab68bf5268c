import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanproof_instrumentation import agent_span, extract_environment, inject_environment, labels, semconv, tool_span
from spanproof_instrumentation.labels import labels_of
from tests.instrumentation.sink import Sink, run


def test_labels_stand_on_every_span_inside_whoever_starts_it(spans: InMemorySpanExporter) -> None:
    here = labels(task="t1", trial="t1.0", attempt=0, variant="v", suite="s", region="eu")
    with here, agent_span("a"), trace.get_tracer("library").start_as_current_span("GET /"):
        pass
    expected = {
        semconv.TASK_ID: "t1",
        semconv.TRIAL_ID: "t1.0",
        semconv.ATTEMPT: 0,
        semconv.VARIANT: "v",
        semconv.SUITE: "s",
        "spanproof.label.region": "eu",
    }
    for span in spans.get_finished_spans():
        attributes = dict(span.attributes or {})
        assert {name: attributes.get(name) for name in expected} == expected
        assert type(attributes[semconv.ATTEMPT]) is int


def test_inner_labels_win_and_end_with_their_block(spans: InMemorySpanExporter) -> None:
    with labels(task="outer", variant="v"):
        with labels(task="inner"), tool_span("a"):
            pass
        with tool_span("b"):
            pass
    with tool_span("c"):
        pass
    seen = [
        ((span.attributes or {}).get(semconv.TASK_ID), (span.attributes or {}).get(semconv.VARIANT))
        for span in spans.get_finished_spans()
    ]
    assert seen == [("inner", "v"), ("outer", "v"), (None, None)]


def test_a_label_of_the_wrong_type_is_dropped_and_told(
    spans: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    with labels(task=7, attempt="0", variant="v"), tool_span("a"):  # type: ignore[arg-type]
        pass
    attributes = spans.get_finished_spans()[0].attributes or {}
    assert (semconv.TASK_ID in attributes, semconv.ATTEMPT in attributes) == (False, False)
    assert attributes[semconv.VARIANT] == "v"
    assert "spanproof.task.id was dropped: 7" in caplog.text


@pytest.mark.usefixtures("spans")
def test_the_environment_of_a_child_carries_trace_and_labels() -> None:
    with labels(task="räksmörgås, 7=x", attempt=2), tool_span("parent") as parent:
        child = inject_environment({"PATH": "/bin", "BAGGAGE": "stale=1", "TRACEPARENT": "stale"})
        trace_id = parent.span.get_span_context().trace_id
    assert child["PATH"] == "/bin"
    received = extract_environment(child)
    assert labels_of(received) == {semconv.TASK_ID: "räksmörgås, 7=x", semconv.ATTEMPT: 2}
    assert trace.get_current_span(received).get_span_context().trace_id == trace_id


def test_outside_of_any_trial_a_child_carries_nothing() -> None:
    assert inject_environment({"PATH": "/bin", "BAGGAGE": "stale=1"}) == {"PATH": "/bin"}


PROGRAM = """
import threading
from spanproof_instrumentation import configure, tool_span
configure(endpoint="%s")
def work():
    with tool_span("in-thread"):
        pass
thread = threading.Thread(target=work)
with tool_span("in-main"):
    pass
thread.start()
thread.join()
"""


def test_a_child_process_and_its_threads_carry_the_labels(spans: InMemorySpanExporter, http_sink: Sink) -> None:
    with labels(trial="t.0"), tool_span("parent") as parent:
        done = run(PROGRAM % http_sink.address, inject_environment({}))
        context = parent.span.get_span_context()
    assert (done.returncode, done.stderr) == (0, "")
    main, thread = http_sink.spans()
    for span in (main, thread):
        assert {a.key: a.value.string_value for a in span.attributes}[semconv.TRIAL_ID] == "t.0"
    assert main.parent_span_id == context.span_id.to_bytes(8, "big")
    assert thread.parent_span_id == context.span_id.to_bytes(8, "big")


def test_labels_that_are_given_without_a_name_are_told_and_the_others_hold(
    spans: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    with labels("t1", suite="s", region="eu"), tool_span("a"):  # type: ignore[call-arg]
        pass
    attributes = spans.get_finished_spans()[0].attributes or {}
    assert (attributes.get(semconv.SUITE), attributes.get("spanproof.label.region")) == ("s", "eu")
    assert "takes 1 positional argument" in caplog.text
