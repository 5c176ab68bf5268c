from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.instrumentation.sink import Sink, fresh_exporter, grpc_receiver, http_receiver


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """The spans of one test, content captured, nothing told yet."""
    return fresh_exporter(monkeypatch)


@pytest.fixture
def http_sink() -> Iterator[Sink]:
    """An OTLP/HTTP receiver that keeps what arrives."""
    with http_receiver() as sink:
        yield sink


@pytest.fixture
def grpc_sink() -> Iterator[Sink]:
    """An OTLP/gRPC receiver that keeps what arrives."""
    with grpc_receiver() as sink:
        yield sink
