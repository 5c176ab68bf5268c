"""Counts the spans of a process for ``spanproof doctor``: which were started, and how far each kind of them got.

A second owner of OpenTelemetry (an error tracker, a platform's own SDK) can take spans to where we never see them. So
every span is counted where the SDK starts it, whatever the provider, and again where we queue it. Each process writes
one file when it ends.
"""

import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opentelemetry import trace

from spanproof_instrumentation import semconv
from spanproof_instrumentation.barrier import attempt

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, Tracer

    from spanproof_instrumentation.ending import Ending

_MOST: Final = 100_000
"""Spans that are told apart; what comes after is only counted as started."""


class Census:
    """The spans of this process."""

    def __init__(self, folder: Path, ending: "Ending") -> None:
        self._folder = folder
        self._ending = ending
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        # A program that takes this one's place keeps its process id.
        self._name = f"{os.getpid()}-{time.time_ns()}"
        self._started = 0
        self._unsampled = 0
        self._scopes: dict[str, str] = {}
        self._queued: dict[str, tuple[str, str]] = {}

    def begin(self) -> None:
        """Count from now on, and write at the end."""
        from opentelemetry.sdk.trace import Tracer

        from spanproof_instrumentation.delivery import SpanDelivery

        start, end, finish = Tracer.start_span, SpanDelivery._end, self._ending.finish

        def start_counted(tracer: "Tracer", *args: object, **kwargs: object) -> trace.Span:
            span: trace.Span = start(tracer, *args, **kwargs)  # type: ignore[arg-type]
            attempt(None, self._see, tracer, span)
            return span

        def end_counted(delivery: SpanDelivery, span: "ReadableSpan") -> None:
            attempt(None, self._take, span)
            end(delivery, span)

        def finish_and_tell(why: str) -> None:
            finish(why)
            attempt(None, self._write)

        Tracer.start_span = start_counted  # type: ignore[method-assign,assignment]
        SpanDelivery._end = end_counted  # type: ignore[method-assign,assignment]
        self._ending.before_exec(self._write)
        self._ending.finish = finish_and_tell  # type: ignore[method-assign]

    def _see(self, tracer: "Tracer", span: trace.Span) -> None:
        context = span.get_span_context()
        if not span.is_recording() or not context.trace_flags.sampled:
            self._unsampled += 1
            return
        self._started += 1
        if len(self._scopes) < _MOST:
            self._scopes[f"{context.span_id:016x}"] = tracer._instrumentation_scope.name

    def _take(self, span: "ReadableSpan") -> None:
        context = span.get_span_context()
        if context is None or not context.trace_flags.sampled or len(self._queued) >= _MOST:
            return
        project = span.resource.attributes.get(semconv.PROJECT, "")
        self._queued[f"{context.span_id:016x}"] = (f"{context.trace_id:032x}", str(project))

    def _write(self) -> None:
        boxes = self._ending.outboxes("span")
        missed = Counter(scope for span_id, scope in self._scopes.items() if span_id not in self._queued)
        found = {
            "started": self._started,
            "unsampled": self._unsampled,
            "missed": missed,
            "queued": [[span_id, *where] for span_id, where in self._queued.items()],
            "dropped": sum(box.dropped for box in boxes),
            "refused": sum(box.refused for box in boxes),
            "waiting": sum(box.waiting for box in boxes),
        }
        draft = self._folder / f"{self._name}.draft"
        draft.write_text(json.dumps(found), encoding="utf-8")
        draft.replace(self._folder / f"{self._name}.json")
