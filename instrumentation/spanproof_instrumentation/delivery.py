"""The processors that take spans and log records to our collector, whoever else gets them too."""

import copy
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span

from spanproof_instrumentation import semconv
from spanproof_instrumentation.barrier import attempt
from spanproof_instrumentation.ending import Ending
from spanproof_instrumentation.label_processor import LabelProcessor
from spanproof_instrumentation.outbox import Limits, Outbox
from spanproof_instrumentation.settings import CALL_GATE

if TYPE_CHECKING:
    from opentelemetry.sdk._logs import ReadableLogRecord, ReadWriteLogRecord

    from spanproof_instrumentation.call_gate import CallGate

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

_MOST_OPEN: Final = 10_000  # spans that are never ended must not fill the memory of an agent that runs for months


class Exporter(Protocol[T_contra]):
    """What OpenTelemetry calls an exporter, of spans or of log records."""

    def export(self, batch: Sequence[T_contra], /) -> object:
        """Send; the result says ``SUCCESS`` by its name."""


class Sender(Generic[T]):
    """Sends batches, each redacted first, by an exporter that belongs to the process that uses it.

    A connection that a parent had open must not be shared with its forked child. The first is made at once and not
    on the sending thread, because of what it imports: a fork in the middle of an import would never get through it,
    and code that is compiled at exit makes Python forget that Ctrl-C ended the program.
    """

    def __init__(
        self, make: Callable[[], Exporter[T]], redact: Callable[[Sequence[T]], Sequence[T]] | None = None
    ) -> None:
        self._make = make
        self._redact = redact
        self._exporter = make()
        self._pid = os.getpid()

    def __call__(self, batch: list[T]) -> bool:
        """Send one batch; return whether it was taken."""
        if self._pid != os.getpid():
            self._exporter, self._pid = self._make(), os.getpid()
        # Redaction that fails raises, and then nothing is sent.
        result = self._exporter.export(batch if self._redact is None else self._redact(batch))
        return getattr(result, "name", None) == "SUCCESS"


class SpanDelivery(LabelProcessor):
    """Stamps labels on spans when they start, sends them when they end, and knows those that are still open.

    It is added to providers that the agent may shut down at any time; that only makes what is waiting leave.
    """

    def __init__(
        self,
        senders: Sequence[Callable[[list[ReadableSpan]], bool]],
        limits: Limits,
        ending: Ending,
        inherited: Mapping[str, str | int],
    ) -> None:
        super().__init__(inherited)
        self._outboxes = [Outbox(sender, limits) for sender in senders]
        self._ending = ending
        self._open: dict[int, Span] = {}
        self._gate = attempt(None, _call_gate)
        for outbox in self._outboxes:
            ending.watch("span", outbox, self.end_open)
        if hasattr(os, "register_at_fork"):
            # What is open in the parent is the parent's to end.
            os.register_at_fork(after_in_child=self._forget)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Stamp the labels; runs inside any library that starts a span."""
        super().on_start(span, parent_context)
        attempt(None, self._start, span)

    def on_end(self, span: ReadableSpan) -> None:
        """Queue the span."""
        attempt(None, self._end, span)

    def shutdown(self) -> None:
        """Make what is waiting leave, within the time that an exit may take."""
        attempt(None, self._ending.flush)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Make what is waiting leave; return whether it did within the time."""
        return attempt(False, self._ending.flush, timeout_millis / 1000)

    def end_open(self, why: str) -> None:
        """End every span that is still open, children first, so that it is not lost with the process."""
        for span in reversed(list(self._open.values())):
            attempt(None, span.set_attribute, semconv.UNFINISHED, why)
            attempt(None, span.end)

    def _start(self, span: Span) -> None:
        own = span.get_span_context()
        if own is not None and own.trace_flags.sampled and len(self._open) < _MOST_OPEN:
            self._open[own.span_id] = span
        if self._gate is not None:
            self._gate.started(span)
        for outbox in self._outboxes:
            outbox.begin()

    def _end(self, span: ReadableSpan) -> None:
        own = span.get_span_context()
        if own is None or not own.trace_flags.sampled:
            return
        self._open.pop(own.span_id, None)
        for outbox in self._outboxes:
            outbox.put(span)
        if self._gate is not None:
            self._gate.ended(span)

    def _forget(self) -> None:
        self._open = {}


def _call_gate() -> "CallGate | None":
    url = os.environ.get(CALL_GATE)
    if not url:
        return None
    from spanproof_instrumentation.call_gate import CallGate

    return CallGate(url)


class LogDelivery:
    """Sends log records. It has the methods of a log record processor, by both names that they had."""

    def __init__(
        self, senders: "Sequence[Callable[[list[ReadableLogRecord]], bool]]", limits: Limits, ending: Ending
    ) -> None:
        self._outboxes = [Outbox(sender, limits) for sender in senders]
        self._ending = ending
        for outbox in self._outboxes:
            ending.watch("log record", outbox, None)

    def on_emit(self, log_record: "ReadWriteLogRecord") -> None:
        """Queue the record."""
        attempt(None, self._emit, log_record)

    emit = on_emit

    def shutdown(self) -> None:
        """Make what is waiting leave, within the time that an exit may take."""
        attempt(None, self._ending.flush)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Make what is waiting leave; return whether it did within the time."""
        return attempt(False, self._ending.flush, timeout_millis / 1000)

    def _emit(self, record: "ReadWriteLogRecord") -> None:
        from opentelemetry.sdk._logs import ReadableLogRecord
        from opentelemetry.sdk.resources import Resource

        inner = copy.copy(record.log_record)
        inner.context = Context()  # it can hold the whole conversation, and nobody sends it
        readable = ReadableLogRecord(
            log_record=inner,
            resource=record.resource or Resource.create({}),
            instrumentation_scope=record.instrumentation_scope,
            limits=record.limits,
        )
        for outbox in self._outboxes:
            outbox.put(readable)
