"""The span that is sent to see it arrive: in a project of its own, which no list of trials has."""

import secrets
import time
from dataclasses import dataclass

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanproof_collector.model.filters import DOCTOR_PROJECT
from spanproof_instrumentation import semconv

NAME = "spanproof doctor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One span, alone in its trace."""

    trace_id: str
    body: bytes


def new_probe() -> Probe:
    """Return a probe that nobody sent before."""
    trace_id = secrets.token_bytes(16)
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    for key, value in ((semconv.SERVICE_NAME, NAME), (semconv.PROJECT, DOCTOR_PROJECT)):
        group.resource.attributes.add(key=key).value.string_value = value
    now = time.time_ns()
    scope = group.scope_spans.add()
    scope.scope.name = NAME
    scope.spans.add(
        trace_id=trace_id, span_id=secrets.token_bytes(8), name=NAME, start_time_unix_nano=now, end_time_unix_nano=now
    )
    return Probe(trace_id=trace_id.hex(), body=request.SerializeToString())
