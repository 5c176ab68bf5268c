"""Trace and span ids that are the same in every run of the demo: drawn from the trial's label and a count."""

import hashlib
import threading
from collections import Counter

from opentelemetry import baggage
from opentelemetry.sdk.trace.id_generator import IdGenerator

from spanproof_instrumentation import semconv


class TrialIds(IdGenerator):
    """Draws ids for one role, agent or witness, of whichever trial the current context is labeled with."""

    def __init__(self, role: str) -> None:
        self._role = role
        self._drawn: Counter[str] = Counter()
        self._lock = threading.Lock()

    def generate_span_id(self) -> int:
        """Return the next span id of the trial."""
        return self._next("span", 8)

    def generate_trace_id(self) -> int:
        """Return the next trace id of the trial."""
        return self._next("trace", 16)

    def _next(self, kind: str, length: int) -> int:
        of = f"{baggage.get_baggage(semconv.TRIAL_ID)}/{self._role}/{kind}"
        with self._lock:
            self._drawn[of] += 1
            count = self._drawn[of]
        return int.from_bytes(hashlib.sha256(f"{of}/{count}".encode()).digest()[:length])
