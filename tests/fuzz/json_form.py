"""Spells an Export request as OTLP/JSON, with protobuf's own JSON and hex ids: another hand than the decoder's."""

import json
from base64 import b64decode
from typing import Final

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

_IDS: Final = ("traceId", "spanId", "parentSpanId")


def spell(request: ExportTraceServiceRequest | ExportLogsServiceRequest) -> bytes:
    """Return the request as OTLP/JSON."""
    spelled = MessageToDict(request, use_integers_for_enums=True)
    for group in spelled.get("resourceSpans", []) + spelled.get("resourceLogs", []):
        for scope in group.get("scopeSpans", []) + group.get("scopeLogs", []):
            for item in scope.get("spans", []) + scope.get("logRecords", []):
                for holder in (item, *item.get("links", [])):
                    for name in _IDS:
                        if name in holder:
                            holder[name] = b64decode(holder[name]).hex()
    return json.dumps(spelled).encode()
