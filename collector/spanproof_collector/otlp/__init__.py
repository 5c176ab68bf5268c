"""OTLP: bytes to protobuf messages, messages to rows."""

from spanproof_collector.otlp.batch import Batch, Rejected, merge
from spanproof_collector.otlp.columns import WIRE, Origin, convert_logs, convert_plain_traces, convert_traces
from spanproof_collector.otlp.compression import MAX_BYTES, TooLargeError, unpack
from spanproof_collector.otlp.content import Sent
from spanproof_collector.otlp.decode import Form, Signal, decode_logs, decode_traces, form_of, signal_in
from spanproof_collector.otlp.parts import refuse_too_many_parts
from spanproof_collector.otlp.refused import Decoded, Refused
from spanproof_collector.otlp.spans import log_records_of, spans_of

__all__ = [
    "MAX_BYTES",
    "WIRE",
    "Batch",
    "Decoded",
    "Form",
    "Origin",
    "Refused",
    "Rejected",
    "Sent",
    "Signal",
    "TooLargeError",
    "convert_logs",
    "convert_plain_traces",
    "convert_traces",
    "decode_logs",
    "decode_traces",
    "form_of",
    "log_records_of",
    "merge",
    "refuse_too_many_parts",
    "signal_in",
    "spans_of",
    "unpack",
]
