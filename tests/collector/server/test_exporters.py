"""The exporters of the OpenTelemetry SDK against the real listeners."""

from collections.abc import Callable

import grpc
import pytest
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcLogExporter
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcMetricExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpanExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as HttpLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as HttpMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import LogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from spanproof_collector.server.serve import Addresses
from tests.collector.server.conftest import Listening

SPAN_EXPORTERS: dict[str, Callable[[Addresses], SpanExporter]] = {
    "grpc": lambda to: GrpcSpanExporter(endpoint=to.grpc, insecure=True),
    "grpc, gzip": lambda to: GrpcSpanExporter(endpoint=to.grpc, insecure=True, compression=grpc.Compression.Gzip),
    "http": lambda to: HttpSpanExporter(endpoint=f"{to.http}/v1/traces"),
    "http, gzip": lambda to: HttpSpanExporter(endpoint=f"{to.http}/v1/traces", compression=Compression.Gzip),
    "http, deflate": lambda to: HttpSpanExporter(endpoint=f"{to.http}/v1/traces", compression=Compression.Deflate),
}
LOG_EXPORTERS: dict[str, Callable[[Addresses], LogRecordExporter]] = {
    "grpc": lambda to: GrpcLogExporter(endpoint=to.grpc, insecure=True),
    "http": lambda to: HttpLogExporter(endpoint=f"{to.http}/v1/logs"),
}
METRIC_EXPORTERS: dict[str, Callable[[Addresses], MetricExporter]] = {
    "grpc": lambda to: GrpcMetricExporter(endpoint=to.grpc, insecure=True),
    "http": lambda to: HttpMetricExporter(endpoint=f"{to.http}/v1/metrics"),
}


@pytest.mark.parametrize("exporter", SPAN_EXPORTERS)
def test_spans_of_an_sdk_arrive(answering: Listening, exporter: str) -> None:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(SPAN_EXPORTERS[exporter](answering.addresses)))
    tracer = provider.get_tracer("agent")
    with tracer.start_as_current_span("run") as run:
        for number in range(200):
            with tracer.start_as_current_span(f"step {number}", attributes={"text": "x" * 1000}):
                pass
    assert provider.force_flush()
    provider.shutdown()
    key = ("default", f"{run.get_span_context().trace_id:032x}")
    names = [span.name for span in answering.store.read_traces([key])[key].spans]
    assert sorted(names) == sorted(["run", *[f"step {number}" for number in range(200)]])


@pytest.mark.parametrize("exporter", LOG_EXPORTERS)
def test_log_records_of_an_sdk_arrive(answering: Listening, exporter: str) -> None:
    provider = LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(LOG_EXPORTERS[exporter](answering.addresses)))
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("agent")
    with tracer.start_as_current_span("run") as run:
        provider.get_logger("agent").emit(
            LogRecord(event_name="said", body={"words": "hi"}, severity_number=SeverityNumber.INFO)
        )
    provider.shutdown()
    key = ("default", f"{run.get_span_context().trace_id:032x}")
    (record,) = answering.store.read_traces([key])[key].logs
    assert (record.event_name, record.body) == ("said", {"words": "hi"})


@pytest.mark.parametrize("exporter", METRIC_EXPORTERS)
def test_metrics_of_an_sdk_are_answered_and_dropped(answering: Listening, exporter: str) -> None:
    before = answering.collector.pipeline.counts["metrics_dropped"]
    reader = PeriodicExportingMetricReader(METRIC_EXPORTERS[exporter](answering.addresses))
    provider = MeterProvider([reader], shutdown_on_exit=False)
    provider.get_meter("agent").create_counter("calls").add(1)
    assert provider.force_flush()
    dropped = answering.collector.pipeline.counts["metrics_dropped"]
    provider.shutdown()
    assert dropped == before + 1
