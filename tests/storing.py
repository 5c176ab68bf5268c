"""Export requests into a store and trials out of it, the way the collector does it."""

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanproof_collector.model.trials import Trial
from spanproof_collector.otlp.columns import WIRE
from spanproof_collector.pipeline import Writer
from spanproof_collector.store import Store
from spanproof_collector.trials import Unit, read_trials

Request = ExportTraceServiceRequest | ExportLogsServiceRequest


def put(store: Store, *requests: Request) -> None:
    """Store each request as one Export call would."""
    for request in requests:
        writer = Writer(store)
        writer.add(request, request.SerializeToString(), WIRE)
        writer.flush()


def trials_of(store: Store, *requests: Request, unit: Unit = "session") -> list[Trial]:
    """Store the requests and return every trial of the store."""
    put(store, *requests)
    return list(read_trials(store, unit=unit))


def trial_of(store: Store, *requests: Request) -> Trial:
    """Store the requests and return the one trial of the store."""
    (trial,) = trials_of(store, *requests)
    return trial
