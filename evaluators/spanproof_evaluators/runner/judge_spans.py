"""Spans of judges' own calls into the store, as an export request would bring them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

from spanproof_collector.otlp.columns import WIRE
from spanproof_collector.pipeline import Writer
from spanproof_collector.store import Store

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan


def store_spans(store: Store, spans: "Sequence[ReadableSpan]") -> None:
    """Write ended spans to the store."""
    if not spans:
        return
    request = encode_spans(spans)
    writer = Writer(store)
    writer.add(request, request.SerializeToString(), WIRE)
    writer.flush()
