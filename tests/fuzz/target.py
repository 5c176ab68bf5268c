"""What holds for any bytes that are sent as a request. A broken promise is a ``BrokenPromiseError``."""

import logging
import math
import re
import time
from collections.abc import Iterable
from typing import Final

from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from spanproof_collector.dialects import foreign_results, read_log, read_span, view_of, view_of_log
from spanproof_collector.errors import DecodeError, StoreError
from spanproof_collector.otlp import (
    WIRE,
    Batch,
    Refused,
    Sent,
    convert_logs,
    convert_plain_traces,
    convert_traces,
    decode_logs,
    decode_traces,
    json_items,
    log_records_of,
    merge,
    signal_in,
    spans_of,
    unpack,
    wire,
)
from spanproof_collector.pipeline.writing import write
from spanproof_collector.store import Store
from tests.fuzz.cases import Case
from tests.fuzz.json_form import spell

Request = ExportTraceServiceRequest | ExportLogsServiceRequest

CPU_SECONDS: Final = 5.0
"""Of the smallest part of this a case of 64 KB takes; nothing that ends is near it."""

_HALF_CHARACTER: Final = re.compile(rb"\\u[dD][89a-fA-F]")
"""What UTF-8 cannot hold is replaced before it is kept."""

_UNREAD: Final = frozenset(("entity_refs", "string_value_strindex", "key_strindex"))


class BrokenPromiseError(Exception):
    """Something that must hold for any bytes does not."""


class _Listener(logging.Handler):
    """Hears what the decoders give up with no more than a log line."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.heard: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(record)


class Target:
    """Checks cases; what they become goes into a store, many at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[tuple[Case, Batch]] = []
        self._written = 0
        self._listener = _Listener()
        logger = logging.getLogger("spanproof_collector")
        logger.addHandler(self._listener)
        logger.propagate = False

    def check(self, case: Case) -> str:
        """Return how far the case came: ``packed``, ``refused`` or ``stored``.

        Raises:
            BrokenPromiseError: a promise does not hold.
        """
        self._listener.heard.clear()
        began = time.thread_time()
        reached = self._check(case)
        self._raise_what_was_logged()
        seconds = time.thread_time() - began
        if seconds > CPU_SECONDS:
            raise BrokenPromiseError(f"took {seconds:.1f} s of CPU")
        return reached

    def store_waiting(self) -> tuple[Case, BaseException] | None:
        """Store what the cases since the last call became; return one that the store refuses, and why."""
        waiting, self._waiting = self._waiting, []
        return self._first_refused(waiting)

    def _first_refused(self, waiting: list[tuple[Case, Batch]]) -> tuple[Case, BaseException] | None:
        try:
            self._write([batch for _, batch in waiting])
        except (StoreError, BrokenPromiseError) as error:
            if len(waiting) == 1:
                return waiting[0][0], error
            middle = len(waiting) // 2
            return self._first_refused(waiting[:middle]) or self._first_refused(waiting[middle:])
        return None

    def _write(self, batches: list[Batch]) -> None:
        self._listener.heard.clear()
        self._written += 1
        if batches:
            write(self._store, merge(batches), f"block {self._written}", Sent())
        self._raise_what_was_logged()

    def _raise_what_was_logged(self) -> None:
        for record in self._listener.heard:
            raise BrokenPromiseError(f"only logged: {record.getMessage()}") from (record.exc_info or (None, None))[1]

    def _check(self, case: Case) -> str:
        try:
            body = unpack(case.body, case.encoding)
        except DecodeError:
            return "packed"
        signal_in(body, case.form)
        (wire if case.form == "protobuf" else json_items).whole_part(body)
        try:
            decoded = decode_traces(body, case.form) if case.signal == "traces" else decode_logs(body, case.form)
        except DecodeError as error:
            if not str(error):
                raise BrokenPromiseError("an error that says nothing") from error
            if case.form == "protobuf" and case.signal == "traces" and convert_plain_traces(body, Sent()):
                raise BrokenPromiseError("what cannot be decoded was read as it was sent") from error
            return "refused"
        for refused in decoded.refused:
            if not refused.reason or not (_HALF_CHARACTER.search(body) or _holds(case, body, refused.body)):
                raise BrokenPromiseError(f"what was refused is not there: {refused}")
        batch = _convert(decoded.request, decoded.refused)
        if case.form == "protobuf" and case.signal == "traces":
            _compare_ways(body, decoded.request, batch)
        self._waiting.append((case, batch))
        if isinstance(decoded.request, ExportTraceServiceRequest):
            spans = spans_of(decoded.request)
            for span in map(view_of, spans):
                read_span(span)
                list(foreign_results(span))
            sent = len(spans)
        else:
            records = log_records_of(decoded.request)
            for record in map(view_of_log, records):
                read_log(record)
            sent = len(records)
        if sent != batch.span_count + batch.log_count:
            raise BrokenPromiseError(f"{sent} spans or records became {batch.span_count + batch.log_count} rows")
        _compare_forms(decoded.request)
        return "stored"


def _convert(request: Request, refused: Iterable[Refused] = ()) -> Batch:
    if isinstance(request, ExportTraceServiceRequest):
        return convert_traces(request, Sent(), WIRE, refused)
    return convert_logs(request, Sent(), WIRE, refused)


def _compare_ways(body: bytes, request: Request, batch: Batch) -> None:
    """Compare what a request becomes as it was sent, where it is read so, and by way of messages."""
    plain = convert_plain_traces(body, Sent())
    if plain is None:
        return
    one, other = _rows(plain), _rows(batch)
    if request.SerializeToString(deterministic=True) != body:  # versions go by the bytes of a span
        for table in ("spans", "steps"):
            del one[f"{table}.version"], other[f"{table}.version"]
    if (difference := _difference(one, other)) != "nothing":
        raise BrokenPromiseError(f"as sent and by messages differ: {difference}")


def _compare_forms(request: Request) -> None:
    """Compare what JSON and protobuf of one request become."""
    _simplify(request)
    spelled = spell(request)
    again = type(request).FromString(request.SerializeToString())
    traces = isinstance(request, ExportTraceServiceRequest)
    read = decode_traces(spelled, "json") if traces else decode_logs(spelled, "json")
    if read.refused:
        raise BrokenPromiseError(f"JSON refuses what protobuf takes: {read.refused}")
    one, other = _rows(_convert(again)), _rows(_convert(read.request))
    if one != other:
        raise BrokenPromiseError(f"JSON and protobuf differ: {_difference(one, other)}")


def _rows(batch: Batch) -> dict[str, object]:
    found: dict[str, object] = {
        f"{table}.{name}": column
        for table in ("spans", "log_records", "steps", "log_steps")
        for name, column in getattr(batch, table).items()
        if name != "ingested_at"
    }
    found["content"] = dict(batch.content)
    found["rejected"] = [(each.reason, each.body) for each in batch.rejected]
    return found


def _difference(one: dict[str, object], other: dict[str, object]) -> str:
    for name in sorted(one.keys() | other.keys()):
        if one.get(name) != other.get(name):
            return f"{name}: {str(one.get(name))[:300]} and {str(other.get(name))[:300]}"
    return "nothing"


def _simplify(message: Message) -> None:
    """Take out what no row holds and our JSON does not read, and what JSON cannot spell: kinds of NaN."""
    message.DiscardUnknownFields()
    queue: list[Message] = [message]
    while queue:
        found = queue.pop()
        if isinstance(found, AnyValue) and math.isnan(found.double_value):
            found.double_value = math.nan
        for name in _UNREAD.intersection(found.DESCRIPTOR.fields_by_name.keys()):
            found.ClearField(name)
        for field, value in found.ListFields():
            if field.message_type is not None:
                queue.extend(value if field.is_repeated else (value,))


def _holds(case: Case, body: bytes, part: bytes) -> bool:
    """True where the part was sent as it is; JSON is read, and kept, with what is not UTF-8 replaced."""
    return part in body or (case.form == "json" and part in body.decode(errors="replace").encode())
