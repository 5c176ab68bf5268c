"""The gate behind each call of a tool, in a run of a suite whose world changes while the agent works.

After a call the agent's thread waits here until the runner has made the changes that follow it, so that what the agent
sees next is the changed world, every time. Only the outermost span of a call counts: a tool that a framework and its
author both recorded was called once.
"""

import http.client
import threading
from typing import Final
from urllib.parse import urlsplit

from opentelemetry.sdk.trace import ReadableSpan, Span

from spanproof_instrumentation import semconv
from spanproof_instrumentation.barrier import attempt

_SECONDS: Final = 60.0
_MOST_OPEN: Final = 10_000


class CallGate:
    """Tells of each call that ended, and waits for the answer."""

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)
        self._inside: set[int] = set()
        """Spans that are calls, or lie inside of one."""

        self._lock = threading.Lock()

    def started(self, span: Span) -> None:
        """Note whether a span lies inside of a call."""
        own, parent = span.get_span_context(), span.parent
        with self._lock:
            nested = parent is not None and parent.span_id in self._inside
            if own is not None and (nested or _is_call(span)) and len(self._inside) < _MOST_OPEN:
                self._inside.add(own.span_id)

    def ended(self, span: ReadableSpan) -> None:
        """Tell of a call that ended, and wait until the world is as it is to be."""
        own, parent = span.get_span_context(), span.parent
        with self._lock:
            if own is not None:
                self._inside.discard(own.span_id)
            nested = parent is not None and parent.span_id in self._inside
        if _is_call(span) and not nested:
            attempt(None, self._wait)

    def _wait(self) -> None:
        connection = http.client.HTTPConnection(self._url.hostname or "", self._url.port, timeout=_SECONDS)
        try:
            connection.request("POST", self._url.path, body=b"")
            connection.getresponse().read()
        finally:
            connection.close()


def _is_call(span: ReadableSpan) -> bool:
    return (span.attributes or {}).get(semconv.OPERATION) == "execute_tool"
