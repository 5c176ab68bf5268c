"""Where a server can be killed: points that its code passes, each told by name."""

import functools
import os
import random
import signal
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

STARTING: Final = ("engine open", "migrated", "advertised")
"""Passed before a server is ready."""

SERVING: Final = (
    "received",
    "converted",
    "content before",
    "content after",
    "spans before",
    "spans during",
    "spans after",
    "steps before",
    "steps during",
    "steps after",
    "committed",
    "answered",
)
"""Passed while requests come."""

STOPPING: Final = ("stop before", "stop after")
"""Passed after SIGTERM."""

_MOST_SECONDS: Final = 0.03


class Points:
    """Kills this process when it passes a point for the nth time after ``armed`` came to exist."""

    def __init__(self, point: str, nth: int, armed: Path, seed: int) -> None:
        self._point = point
        self._left = nth
        self._armed = armed
        self._random = random.Random(seed)
        self._guard = threading.Lock()

    def install(self) -> None:
        """Put the points where they are."""
        from spanproof_collector.pipeline import intake, requests
        from spanproof_collector.server import collector, exporting
        from spanproof_collector.store import Store, opening

        self._wrap(requests, "convert_body", partial(self._after, "converted"))
        self._wrap(intake, "commit", partial(self._after, "committed"))
        self._wrap(intake.Pipeline, "accept", partial(self._before, "received"))
        self._wrap(exporting.Exporting, "export", self._after_answer)
        self._wrap(collector.Collector, "stop", self._around_stop)
        self._wrap(collector, "advertise", partial(self._after, "advertised"))
        self._wrap(opening, "Engine", partial(self._after, "engine open"))
        self._wrap(Store, "migrate", partial(self._after, "migrated"))
        self._wrap(Store, "insert", self._around_insert)

    def _wrap(self, owner: object, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        call = getattr(owner, name)
        setattr(owner, name, functools.wraps(call)(wrap(call)))

    def _pass(self, point: str) -> None:
        if self._counts(point):
            os.kill(os.getpid(), signal.SIGKILL)

    def _counts(self, point: str) -> bool:
        if point != self._point or not self._armed.exists():
            return False
        with self._guard:
            self._left -= 1
            return self._left == 0

    def _after(self, point: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: object, **named: object) -> object:
            found = call(*arguments, **named)
            self._pass(point)
            return found

        return wrapped

    def _before(self, point: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: object, **named: object) -> object:
            self._pass(point)
            return call(*arguments, **named)

        return wrapped

    def _after_answer(self, export: Callable[..., Any]) -> Callable[..., Any]:
        async def wrapped(*arguments: object, **named: object) -> object:
            found: object = await export(*arguments, **named)
            self._pass("answered")
            return found

        return wrapped

    def _around_stop(self, stop: Callable[..., Any]) -> Callable[..., Any]:
        async def wrapped(collector: object) -> object:
            self._pass("stop before")
            found: object = await stop(collector)
            self._pass("stop after")
            return found

        return wrapped

    def _around_insert(self, insert: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(store: object, table: str, *rest: object) -> None:
            self._pass(f"{table} before")
            if self._counts(f"{table} during"):
                # The engine runs without the interpreter's lock, so another thread strikes in the middle.
                seconds = self._random.random() * _MOST_SECONDS
                threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()
            insert(store, table, *rest)
            self._pass(f"{table} after")

        return wrapped
