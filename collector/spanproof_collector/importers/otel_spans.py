"""Span dumps of OpenTelemetry's SDKs: what Python, JavaScript and Go print of a span.

They stand in an array, one after another, one a line, or in an object with ``spans``. The spans are stored as they are,
and dialects read them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanproof_collector.importers._documents import documents
from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._found import Damage, Recorded, Skipped
from spanproof_collector.importers._importer import Found
from spanproof_collector.importers._outline import outline
from spanproof_collector.importers._sdk_spans import NoSpanError, is_span, request_of, span_of
from spanproof_collector.model.values import Json

_AT_ONCE: Final = 512
"""Spans of one request."""


@dataclass(frozen=True)
class OtelSpans:
    """Spans as OpenTelemetry's SDKs print them."""

    name: str = "otel_spans"

    def read(self, file: ReadableFile) -> Iterator[Found] | None:
        """Return the spans of the file, or ``None`` where its values are no spans.

        Raises:
            OSError: the file cannot be read.
        """
        seen = outline(file.path)
        return _spans(file) if is_span(seen.first) or is_span(seen.within("spans")) else None


def _spans(file: ReadableFile) -> Iterator[Found]:
    held: list[tuple[Span, Mapping[str, Json]]] = []
    for read in documents(file, ("spans",)):
        if isinstance(read, Damage):
            yield read
            continue
        if not isinstance(read.value, dict):
            yield Damage(reason="no span: no JSON object", line=read.line)
            continue
        if read.member is None and not is_span(read.value):
            for name in read.value:
                yield Skipped(what=f"{name} beside spans")
            continue
        try:
            held.append((span_of(read.value), read.value))
        except NoSpanError as error:
            yield Damage(reason=str(error), line=read.line)
        if len(held) >= _AT_ONCE:
            yield _recorded(held)
            held = []
    if held:
        yield _recorded(held)
    if file.damage is not None:
        yield Damage(reason=file.damage)


def _recorded(spans: list[tuple[Span, Mapping[str, Json]]]) -> Recorded:
    request = request_of(spans)
    return Recorded(request=request, data=request.SerializeToString())
