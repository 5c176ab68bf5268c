from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanproof_collector.model.filters import Filter
from spanproof_collector.store import Store
from spanproof_evaluators.demo import trials
from spanproof_evaluators.demo.witness import Witness
from spanproof_evaluators.demo.world import World
from spanproof_evaluators.model.reports import Report
from spanproof_evaluators.model.suites import parse_suite
from spanproof_evaluators.runner import assess, evaluate, report
from tests.instrumentation.sink import fresh_exporter, grpc_receiver
from tests.storing import put

Reported = Callable[[Sequence[ExportTraceServiceRequest]], Report]


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """The spans of one test, in this process."""
    return fresh_exporter(monkeypatch)


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A fresh world in which every answer arrives."""
    return World.create(tmp_path / "world")


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, ...]:
    """What agents and witness of all trials exported, request by request."""
    every = trials.plays(tmp_path_factory.mktemp("worlds"))
    with grpc_receiver() as sink:
        with Witness(sink.address) as witness, ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda play: trials.run(play, sink.address, witness), every))
        return tuple(request.SerializeToString() for request in sink.requests)


@pytest.fixture
def requests(recorded: tuple[bytes, ...]) -> list[ExportTraceServiceRequest]:
    """The same as messages, to be changed by one test."""
    return [ExportTraceServiceRequest.FromString(body) for body in recorded]


@pytest.fixture
def reported(store: Store) -> Reported:
    """Return the report on what was exported, from the store alone."""
    suite = parse_suite(trials.suite_text(), name="suite.json")

    def write(sent: Sequence[ExportTraceServiceRequest]) -> Report:
        put(store, *sent)
        for _ in evaluate(store, Filter(), suite, at=0):
            pass
        return report(list(assess(store, Filter(), suite)), suite, described="")

    return write
