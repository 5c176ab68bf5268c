"""A bounded queue with a thread behind it: what is put in leaves in batches, and nobody ever waits to put it in.

The thread sends; it starts with the first item, so a process that records nothing has none. Everything that a signal
handler may touch is lock-free, because the handler can interrupt whoever holds a lock.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Final, Generic, TypeVar

from opentelemetry import context

from spanproof_instrumentation.barrier import attempt

T = TypeVar("T")

THREAD_NAME: Final = "spanproof-export"
# Instrumentors of HTTP clients ask for the first, those of the SDK's own world for the second.
_SUPPRESS: Final = ("suppress_http_instrumentation", context._SUPPRESS_INSTRUMENTATION_KEY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much waits, how long, and how much leaves at once."""

    most_waiting: int
    most_in_batch: int
    delay_seconds: float


class _Request:
    """Somebody waits until all that was put in before has left."""

    def __init__(self, first: Callable[[], None] | None) -> None:
        self.first = first
        self.done = threading.Lock()
        self.done.acquire()


class Outbox(Generic[T]):
    """Items on their way out, and the count of those that did not make it."""

    def __init__(self, send: Callable[[list[T]], bool], limits: Limits) -> None:
        self._send = send
        self._limits = limits
        self._queue: SimpleQueue[T | _Request] = SimpleQueue()
        self._asked: deque[_Request] = deque()  # those in the queue, which are no items
        self._counting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._dropped = 0
        self._refused = 0
        self._in_hand = 0
        self._progress = time.monotonic()
        if hasattr(os, "register_at_fork"):
            # What waits in the parent is the parent's to send; threads do not survive a fork.
            os.register_at_fork(after_in_child=self._reset)

    @property
    def dropped(self) -> int:
        """How many found the queue full."""
        return self._dropped

    @property
    def refused(self) -> int:
        """How many were sent and not taken."""
        return self._refused

    @property
    def waiting(self) -> int:
        """How many are still here."""
        return self._queue.qsize() - len(self._asked) + self._in_hand

    @property
    def progress(self) -> float:
        """When something was last taken, on the monotonic clock."""
        return self._progress

    def begin(self) -> None:
        """Start the thread, which cannot be started any more once the interpreter is going down."""
        if self._thread is not None:
            return
        with self._counting:
            if not self._begun():
                thread = threading.Thread(target=self._work, args=(self._queue,), name=THREAD_NAME, daemon=True)
                thread.start()
                self._thread = thread

    def _begun(self) -> bool:
        return self._thread is not None

    def put(self, item: T) -> None:
        """Queue an item, or count it where the queue is full."""
        if self._queue.qsize() >= self._limits.most_waiting:
            with self._counting:
                self._dropped += 1
            return
        self._queue.put(item)
        if self._thread is None:
            attempt(None, self.begin)

    def ask(self, first: Callable[[], None] | None = None) -> "threading.Lock | None":
        """Ask that everything leaves now; return a lock that is free once it has, ``None`` where nothing was ever put.

        ``first`` is done by the thread, before.
        """
        if self._thread is None:
            return None
        request = _Request(first)
        self._asked.append(request)
        self._queue.put(request)
        return request.done

    def _reset(self) -> None:
        self._queue = SimpleQueue()
        self._asked = deque()
        self._counting = threading.Lock()
        self._thread = None
        self._dropped = 0
        self._refused = 0
        self._in_hand = 0
        self._progress = time.monotonic()

    def _work(self, queue: "SimpleQueue[T | _Request]") -> None:
        current = context.Context()
        for key in _SUPPRESS:
            current = context.set_value(key, True, current)
        context.attach(current)  # what sending does is not the agent's doing
        batch: list[T] = []
        due = 0.0
        while True:
            try:
                item = queue.get(timeout=max(due - time.monotonic(), 0) if batch else None)
            except Empty:
                self._leave(batch)
                batch = []
                continue
            if isinstance(item, _Request):
                self._drain(queue, batch, item)
                batch = []
                continue
            if not batch:
                due = time.monotonic() + self._limits.delay_seconds
            batch.append(item)
            self._in_hand = len(batch)
            if len(batch) >= self._limits.most_in_batch:
                self._leave(batch)
                batch = []

    def _drain(self, queue: "SimpleQueue[T | _Request]", batch: list[T], asked: _Request) -> None:
        requests = [asked]
        self._asked.popleft()
        if asked.first is not None:
            attempt(None, asked.first)
        while True:
            try:
                item = queue.get_nowait()
            except Empty:
                break
            if isinstance(item, _Request):
                requests.append(item)
                self._asked.popleft()
                if item.first is not None:
                    attempt(None, item.first)
                continue
            batch.append(item)
            self._in_hand = len(batch)
            if len(batch) >= self._limits.most_in_batch:
                self._leave(batch)
                batch = []
        self._leave(batch)
        for request in requests:
            request.done.release()

    def _leave(self, batch: list[T]) -> None:
        taken: bool = attempt(False, lambda: self._send(batch)) if batch else False
        if taken:
            self._progress = time.monotonic()
        else:
            self._refused += len(batch)
        self._in_hand = 0
