import time

from spanproof_instrumentation import semconv
from tests.instrumentation.sink import Sink, run, texts

ONE_SPAN = """
from spanproof_instrumentation import configure, tool_span
configure({arguments})
with tool_span("look", arguments={{"order": 7}}):
    pass
"""


def program(arguments: str) -> str:
    return ONE_SPAN.format(arguments=arguments)


def test_one_line_sends_spans_over_http_when_the_process_ends(http_sink: Sink) -> None:
    done = run(program(f"service_name='shop', project='p', endpoint={http_sink.address!r}, capture_content=True"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (span,) = http_sink.spans()
    assert http_sink.paths == ["/v1/traces"]
    assert texts(span.attributes)[semconv.TOOL_ARGUMENTS] == '{"order": 7}'
    assert http_sink.resource()["service.name"] == "shop"
    assert http_sink.resource()[semconv.PROJECT] == "p"


def test_one_line_sends_spans_over_grpc(grpc_sink: Sink) -> None:
    done = run(program(f"endpoint={grpc_sink.address!r}, protocol='grpc'"))
    assert (done.returncode, done.stderr) == (0, "")
    (span,) = grpc_sink.spans()
    assert span.name == "execute_tool look"
    assert semconv.TOOL_ARGUMENTS not in texts(span.attributes)


def test_the_standard_variables_are_honored(grpc_sink: Sink) -> None:
    done = run(
        program(""),
        {
            "OTEL_EXPORTER_OTLP_ENDPOINT": grpc_sink.address,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
            "OTEL_SERVICE_NAME": "from-environment",
            "OTEL_RESOURCE_ATTRIBUTES": "spanproof.project=p2",
        },
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(grpc_sink.spans()) == 1
    assert grpc_sink.resource()["service.name"] == "from-environment"
    assert grpc_sink.resource()[semconv.PROJECT] == "p2"


def test_a_disabled_sdk_sends_nothing(http_sink: Sink) -> None:
    done = run(program(f"endpoint={http_sink.address!r}"), {"OTEL_SDK_DISABLED": "true"})
    assert (done.returncode, done.stderr) == (0, "")
    assert http_sink.requests == []


def test_no_exporter_is_set_up_where_none_is_asked_for(http_sink: Sink) -> None:
    done = run(program(f"endpoint={http_sink.address!r}"), {"OTEL_TRACES_EXPORTER": "none"})
    assert (done.returncode, done.stderr) == (0, "")
    assert http_sink.requests == []


def test_a_protocol_that_is_not_ours_is_told_and_http_is_used(http_sink: Sink) -> None:
    done = run(program(f"endpoint={http_sink.address!r}"), {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"})
    assert done.returncode == 0
    assert "protocol 'http/json' is not supported" in done.stderr
    assert len(http_sink.spans()) == 1


def test_a_provider_of_the_agents_own_is_kept_and_both_get_the_spans(http_sink: Sink) -> None:
    done = run(
        f"""
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
own = InMemorySpanExporter()
provider = TracerProvider(resource=Resource.create({{"service.name": "own"}}))
provider.add_span_processor(SimpleSpanProcessor(own))
trace.set_tracer_provider(provider)
from spanproof_instrumentation import configure, labels, tool_span
configure(service_name="ours", endpoint={http_sink.address!r})
assert trace.get_tracer_provider() is provider
with labels(task="t"), tool_span("look"):
    pass
print(len(own.get_finished_spans()), own.get_finished_spans()[0].attributes["spanproof.task.id"])
"""
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 t\n", "")
    assert len(http_sink.spans()) == 1
    assert http_sink.resource()["service.name"] == "own"


def test_a_provider_that_takes_no_processor_is_told_and_left_alone() -> None:
    done = run(
        "from opentelemetry import trace\n"
        "trace.set_tracer_provider(trace.NoOpTracerProvider())\n"
        "from spanproof_instrumentation import configure\n"
        "configure()\n"
        "print(type(trace.get_tracer_provider()).__name__)"
    )
    assert (done.returncode, done.stdout) == (0, "NoOpTracerProvider\n")
    assert "takes no span processors" in done.stderr


def test_a_second_call_does_not_send_anything_twice(http_sink: Sink) -> None:
    arguments = f"endpoint={http_sink.address!r}"
    done = run(program(f"{arguments}); configure({arguments}"))
    assert (done.returncode, done.stderr) == (0, "")
    assert len(http_sink.spans()) == 1


def test_with_the_collector_down_the_process_ends_in_bounded_time_with_its_own_exit_code() -> None:
    start = time.monotonic()
    done = run(program("endpoint='http://127.0.0.1:9', exit_seconds=0.5") + "raise SystemExit(7)")
    assert done.returncode == 7
    assert done.stderr == "spanproof: 1 span was lost: 1 because the collector was silent for 0.5s at the end\n"
    assert time.monotonic() - start < 8  # OpenTelemetry's own exporter takes ten


def test_flush_says_whether_everything_left(http_sink: Sink) -> None:
    asked = "from spanproof_instrumentation import flush\nprint(flush(0.3), flush=True)\nimport os\nos._exit(0)"
    assert run(program(f"endpoint={http_sink.address!r}") + asked).stdout == "True\n"
    assert run(program("endpoint='http://127.0.0.1:9'") + asked).stdout == "False\n"


def test_a_missing_grpc_exporter_is_told_with_its_install_command_and_the_agent_runs() -> None:
    done = run("import sys\nsys.modules['grpc'] = None\n" + program("protocol='grpc'") + "print('ran')")
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert "nothing is exported, because exporting over gRPC needs the extra [grpc]: pip install 'sp" in done.stderr


def test_an_address_that_is_none_does_not_stop_the_agent() -> None:
    done = run(program("endpoint=7, exit_seconds='x'") + "print('ran')")
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert "spanproof: nothing is recorded: " in done.stderr


def test_ids_can_be_of_a_kind_of_ones_own(http_sink: Sink) -> None:
    done = run(
        f"""
from opentelemetry.sdk.trace.id_generator import IdGenerator
class Fixed(IdGenerator):
    def generate_span_id(self):
        return 1
    def generate_trace_id(self):
        return 2
{program(f"endpoint={http_sink.address!r}, id_generator=Fixed()")}"""
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert http_sink.spans()[0].span_id == (1).to_bytes(8, "big")


def test_a_misspelled_setting_is_told_and_the_others_hold(http_sink: Sink) -> None:
    done = run(program(f"servce_name='shop', endpoint={http_sink.address!r}"))
    assert done.returncode == 0
    assert "unexpected keyword argument 'servce_name'" in done.stderr
    assert len(http_sink.spans()) == 1
