"""Export requests into a store and trials out of it, the way the collector does it."""

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanproof_collector.model.trials import Trial
from spanproof_collector.otlp.columns import convert_logs, convert_traces
from spanproof_collector.otlp.content import Sent
from spanproof_collector.store import Store
from spanproof_collector.trials import Unit, read_trials

Request = ExportTraceServiceRequest | ExportLogsServiceRequest


def put(store: Store, *requests: Request) -> None:
    """Store each request as one Export call would."""
    import hashlib
    for request in requests:
        b = convert_traces(request, Sent()) if isinstance(request, ExportTraceServiceRequest) else convert_logs(request, Sent())
        tok = hashlib.sha256(request.SerializeToString()).hexdigest()
        if b.content:
            k=list(b.content)
            store.insert('content',{'project':[x[0] for x in k],'trace_id':[x[1] for x in k],'hash':[x[2] for x in k],'body':[b.content[x] for x in k]},tok+'c')
        for t in ('spans','log_records','steps','log_steps'):
            cols=getattr(b,t)
            if cols: store.insert(t,cols,tok+t)


def trials_of(store: Store, *requests: Request, unit: Unit = "session") -> list[Trial]:
    """Store the requests and return every trial of the store."""
    put(store, *requests)
    return list(read_trials(store, unit=unit))


def trial_of(store: Store, *requests: Request) -> Trial:
    """Store the requests and return the one trial of the store."""
    (trial,) = trials_of(store, *requests)
    return trial
