"""A provider of the agent's own is kept, whenever it comes, and nobody loses a span to anybody else."""

from textwrap import dedent

import pytest

from spanproof_instrumentation import semconv
from tests.instrumentation.sink import Sink, http_receiver, run, run_agent, texts

OWN = """
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
own = InMemorySpanExporter()
def provide():
    provider = TracerProvider(resource=Resource.create({"service.name": "own"}))
    provider.add_span_processor(SimpleSpanProcessor(own))
    trace.set_tracer_provider(provider)
    assert trace.get_tracer_provider() is provider
    return provider
def told():
    print(*sorted(span.name for span in own.get_finished_spans()))
"""


def test_a_provider_that_is_set_before_the_first_span_is_the_provider(http_sink: Sink) -> None:
    program = """
    early = trace.get_tracer("early")
    provider = provide()
    early.start_span("early").end()
    trace.get_tracer("late").start_span("late").end()
    provider.get_tracer("direct").start_span("direct").end()
    told()
    """
    done = run_agent(OWN + dedent(program), http_sink.address, "--service-name", "ours", "--task", "t")
    assert (done.returncode, done.stdout, done.stderr) == (0, "direct early late\n", "")
    assert http_sink.names() == ["direct", "early", "late"]
    assert http_sink.resource()["service.name"] == "own"
    assert {texts(span.attributes)[semconv.TASK_ID] for span in http_sink.spans()} == {"t"}


@pytest.mark.parametrize("how", ["run", "configure"])
def test_a_provider_that_is_set_after_spans_were_made_takes_over_and_loses_none(http_sink: Sink, how: str) -> None:
    program = f"""
    if {how == "configure"}:
        from spanproof_instrumentation import configure
        configure(endpoint={http_sink.address!r})
    early = trace.get_tracer("early")
    early.start_span("before").end()
    open_meanwhile = early.start_span("meanwhile")
    provider = provide()
    open_meanwhile.end()
    early.start_span("early").end()
    trace.get_tracer("late").start_span("late").end()
    provider.get_tracer("direct").start_span("direct").end()
    second = InMemorySpanExporter()
    trace.get_tracer_provider().add_span_processor(SimpleSpanProcessor(second))
    early.start_span("for-second").end()
    told()
    print(len(second.get_finished_spans()))
    """
    whole = OWN + dedent(program)
    done = run_agent(whole, http_sink.address) if how == "run" else run(whole)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "direct early for-second late meanwhile\n1\n"
    assert http_sink.names() == ["before", "direct", "early", "for-second", "late", "meanwhile"]
    late = [
        resource
        for request in http_sink.requests
        for resource in request.resource_spans
        for scope in resource.scope_spans
        if any(span.name == "early" for span in scope.spans)
    ]
    assert texts(late[0].resource.attributes)["service.name"] == "own"


def test_a_second_exporter_gets_everything_and_nothing_is_sent_twice() -> None:
    with http_receiver() as ours, http_receiver() as theirs:
        program = f"""
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        provider = TracerProvider()
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint="{theirs.address}/v1/traces")))
        trace.set_tracer_provider(provider)
        trace.get_tracer("library").start_span("one").end()
        provider.shutdown()
        """
        done = run_agent(dedent(program), ours.address, "--redact", "one")
        assert (done.returncode, done.stderr) == (0, "")
        assert (ours.names(), theirs.names()) == (["[redacted]"], ["one"])


def test_what_the_agent_shuts_down_and_uses_again_still_arrives(http_sink: Sink) -> None:
    program = """
    provider = provide()
    tracer = trace.get_tracer("library")
    tracer.start_span("before").end()
    provider.shutdown()
    tracer.start_span("after").end()
    """
    run_agent(OWN + dedent(program), http_sink.address)
    assert http_sink.names() == ["after", "before"]


def test_a_provider_that_records_nothing_is_respected_and_told(http_sink: Sink) -> None:
    program = """
    from opentelemetry import trace
    trace.set_tracer_provider(trace.NoOpTracerProvider())
    trace.get_tracer("library").start_span("one").end()
    print(type(trace.get_tracer_provider()).__name__)
    """
    done = run_agent(dedent(program), http_sink.address)
    assert done.stdout == "NoOpTracerProvider\n"
    assert "takes no span processors" in done.stderr
    assert not http_sink.arrived.is_set()


def test_threads_that_start_the_first_spans_at_once_get_one_provider(http_sink: Sink) -> None:
    program = """
    import sys, threading
    sys.setswitchinterval(1e-6)
    from opentelemetry import trace
    tracer = trace.get_tracer("library")
    ready = threading.Barrier(8)
    def work(number):
        ready.wait()
        tracer.start_span(f"s{number}").end()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    """
    done = run_agent(dedent(program), http_sink.address)
    assert (done.returncode, done.stderr) == (0, "")
    assert http_sink.names() == [f"s{number}" for number in range(8)]


def test_a_setting_that_cannot_be_used_is_told_once_and_the_agent_runs(http_sink: Sink) -> None:
    program = """
    from opentelemetry import trace
    for _ in range(3):
        trace.get_tracer("library").start_span("one").end()
    print("ran")
    """
    broken = "import opentelemetry.sdk.trace as sdk\nsdk.TracerProvider = None\n"
    done = run_agent(broken + dedent(program), http_sink.address)
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert done.stderr.count("was not recorded: TypeError") == 1


def test_a_provider_named_by_the_environment_is_kept(http_sink: Sink) -> None:
    program = """
    from opentelemetry import trace
    trace.get_tracer("library").start_span("one").end()
    """
    environment = {"OTEL_PYTHON_TRACER_PROVIDER": "sdk_tracer_provider", "OTEL_SERVICE_NAME": "theirs"}
    done = run_agent(dedent(program), http_sink.address, "--service-name", "ours", environment=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert http_sink.names() == ["one"]
    assert http_sink.resource()["service.name"] == "theirs"


def test_a_shell_around_a_provider_of_the_sdk_is_kept_too(http_sink: Sink) -> None:
    """As Logfire's: a provider of its own kind, with one of the SDK inside."""
    program = """
    class Shell(trace.TracerProvider):
        def __init__(self, provider):
            self.provider = provider
        def get_tracer(self, *args, **kwargs):
            return self.provider.get_tracer(*args, **kwargs)
        def add_span_processor(self, processor):
            self.provider.add_span_processor(processor)
    early = trace.get_tracer("early")
    early.start_span("before").end()
    inside = TracerProvider()
    inside.add_span_processor(SimpleSpanProcessor(own))
    trace.set_tracer_provider(Shell(inside))
    early.start_span("early").end()
    trace.get_tracer("late").start_span("late").end()
    told()
    """
    done = run_agent(OWN + dedent(program), http_sink.address)
    assert (done.stdout, done.stderr) == ("early late\n", "")
    assert http_sink.names() == ["before", "early", "late"]


@pytest.mark.parametrize("before", [True, False])
def test_a_provider_that_would_throw_its_exporter_away_for_ours_keeps_it(http_sink: Sink, before: bool) -> None:
    """As Phoenix's: its default processor goes when another is added."""
    program = f"""
    class Jealous(TracerProvider):
        def add_span_processor(self, processor):
            self._active_span_processor._span_processors = ()
            super().add_span_processor(processor)
    if not {before}:
        trace.get_tracer("early").start_span("early").end()
    provider = Jealous()
    provider.add_span_processor(SimpleSpanProcessor(own))
    trace.set_tracer_provider(provider)
    trace.get_tracer("late").start_span("late").end()
    told()
    """
    done = run_agent(OWN + dedent(program), http_sink.address)
    assert (done.stdout, done.stderr) == ("late\n", "")
    assert "late" in http_sink.names()


def test_a_line_of_the_agents_own_adds_to_what_run_was_told(http_sink: Sink) -> None:
    program = """
    from spanproof_instrumentation import configure, tool_span
    configure(service_name="shop", endpoint="http://127.0.0.1:9", capture_content=True)
    with tool_span("look", arguments={"order": 7}):
        pass
    """
    done = run_agent(dedent(program), http_sink.address)
    assert (done.returncode, done.stderr) == (0, "")
    (span,) = http_sink.spans()
    assert texts(span.attributes)[semconv.TOOL_ARGUMENTS] == '{"order": 7}'
    assert http_sink.resource()["service.name"] == "shop"


EVENT = """
from opentelemetry._logs import get_logger
get_logger("library").emit(event_name="details", body={"said": "hello", "card": "4111"}, attributes={"a": "4111"})
"""
OWN_LOGS = """
from opentelemetry import _logs
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
own = InMemoryLogRecordExporter()
def provide():
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(own))
    _logs.set_logger_provider(provider)
"""
EVENTS = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "EVENT_ONLY"}


def test_events_are_sent_where_content_was_asked_for_as_events(http_sink: Sink) -> None:
    done = run_agent(EVENT, http_sink.address, "--service-name", "shop", environment=EVENTS)
    assert (done.returncode, done.stderr) == (0, "")
    (record,) = http_sink.records()
    assert record.event_name == "details"
    assert "hello" in str(record.body)
    assert http_sink.paths == ["/v1/logs"]


@pytest.mark.parametrize("environment", [{}, EVENTS | {"OTEL_LOGS_EXPORTER": "none"}])
def test_events_are_not_sent_where_nobody_asked(http_sink: Sink, environment: dict[str, str]) -> None:
    done = run_agent(EVENT, http_sink.address, "--capture-content", environment=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert not http_sink.arrived.is_set()


@pytest.mark.parametrize("before", [True, False])
def test_a_logger_provider_of_the_agents_own_is_kept(http_sink: Sink, before: bool) -> None:
    program = OWN_LOGS + ("provide()\n" if before else "") + EVENT + ("" if before else "provide()\n") + EVENT
    done = run_agent(program + "print(len(own.get_finished_logs()))", http_sink.address, environment=EVENTS)
    assert (done.stdout, done.stderr) == ("2\n" if before else "1\n", "")
    assert len(http_sink.records()) == 2


def test_lost_events_are_told() -> None:
    done = run_agent(EVENT, "http://127.0.0.1:9", "--exit-seconds", "0.3", environment=EVENTS)
    assert done.stderr.startswith("spanproof: 1 log record was lost: 1 because the collector was silent")


def test_events_are_redacted_before_they_leave(http_sink: Sink) -> None:
    done = run_agent(EVENT, http_sink.address, "--redact", "4111", "--redact", "$.said", environment=EVENTS)
    assert (done.returncode, done.stderr) == (0, "")
    (record,) = http_sink.records()
    assert "4111" not in str(record)
    assert "hello" not in str(record)
