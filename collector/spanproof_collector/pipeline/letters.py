"""Reads dead letters again with what spanproof reads today, and stores what now fits.

A letter holds a span or log record and nothing around it: its resource and scope are not known any more.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from spanproof_collector.errors import DecodeError
from spanproof_collector.otlp import Form, Origin, Refused, Sent, decode_logs, decode_traces
from spanproof_collector.otlp.wire import alone
from spanproof_collector.pipeline.committing import commit
from spanproof_collector.pipeline.converting import Converted, convert
from spanproof_collector.store import DeadLetter, Store
from spanproof_collector.store.dead_letters import drop_letters
from spanproof_instrumentation import semconv

_JSON = {
    "traces": b'{"resourceSpans":[{"scopeSpans":[{"spans":[%b]}]}]}',
    "logs": b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[%b]}]}]}',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried:
    """What became of a letter. ``reason`` is why it still does not fit, empty where it is stored now."""

    letter_id: str
    reason: str = ""


def retry_letters(store: Store, letters: Iterable[DeadLetter], project: str = "") -> Iterator[Retried]:
    """Store each letter that can be read now, and take it from the dead letters; the others stay as they are.

    Args:
        store: the open store.
        letters: what to read again.
        project: where to put it; without it, the project of spans that name none.

    Raises:
        StoreError: the store failed; what was told of before is done.
    """
    sent = Sent(deletions=store.deletions)
    for letter in letters:
        found = _read(letter, project, sent)
        if isinstance(found, str):
            yield Retried(letter_id=letter.letter_id, reason=found)
            continue
        commit(store, [found], sent)
        drop_letters(store, [letter.letter_id])
        yield Retried(letter_id=letter.letter_id)


def _read(letter: DeadLetter, project: str, sent: Sent) -> Converted | str:
    """Return the rows of a letter, or why there are none."""
    form: Form = "json" if letter.bytes.lstrip()[:1] == b"{" else "protobuf"
    if letter.signal not in _JSON:
        return f"there are no {letter.signal} here"
    data = _JSON[letter.signal] % letter.bytes if form == "json" else alone(letter.bytes)
    source, _, path = letter.origin.partition(" ")
    request: ExportTraceServiceRequest | ExportLogsServiceRequest
    refused: tuple[Refused, ...]
    try:
        if letter.signal == "traces":
            request, refused = decode_traces(data, form)[:2]
        else:
            request, refused = decode_logs(data, form)[:2]
    except DecodeError as error:
        return str(error)
    if project:
        _name(request, project)
    converted = convert(request, data + project.encode(), sent, Origin(source, path), refused)
    if converted.batch.rejected:
        return converted.batch.rejected[0].reason
    return converted if converted.rows else "there is nothing in it"


def _name(request: ExportTraceServiceRequest | ExportLogsServiceRequest, project: str) -> None:
    groups = request.resource_spans if isinstance(request, ExportTraceServiceRequest) else request.resource_logs
    for group in groups:
        group.resource.attributes.append(KeyValue(key=semconv.PROJECT, value=AnyValue(string_value=project)))
