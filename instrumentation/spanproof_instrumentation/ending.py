"""The end of the process, in whatever way it comes: what was recorded leaves, within a bound, and loss is told.

Waits at most ``exit_seconds`` for a sign of life of the collector, and as long as it takes batch after batch, at most
``MOST_EXIT_SECONDS`` in all (or ``exit_seconds`` where that is more). A normal end, ``sys.exit`` and an unhandled
exception come through ``atexit``; ``os._exit``, ``os.exec…`` and SIGTERM do not, so they are watched.
"""

import atexit
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from types import FrameType
from typing import Final, NoReturn, ParamSpec, Protocol, TypeVar

from spanproof_instrumentation.barrier import LOGGER, attempt
from spanproof_instrumentation.settings import MOST_EXIT_SECONDS

P = ParamSpec("P")
R = TypeVar("R")

_REMEMBERED: Final = 10.0
_EXECS: Final = ("execv", "execve")  # the other six call one of these


class Leaving(Protocol):
    """Something that has to leave: an outbox of whatever kind."""

    @property
    def dropped(self) -> int:
        """How many found the queue full."""

    @property
    def refused(self) -> int:
        """How many were sent and not taken."""

    @property
    def waiting(self) -> int:
        """How many are still here."""

    @property
    def progress(self) -> float:
        """When something was last taken."""

    def ask(self, first: Callable[[], None] | None = None) -> "threading.Lock | None":
        """Ask that everything leaves now."""


@dataclass(frozen=True, kw_only=True)
class _Watched:
    what: str
    outbox: Leaving
    end_open: Callable[[str], None] | None


class Ending:
    """Everything that has to leave before the process ends."""

    def __init__(self, exit_seconds: float) -> None:
        self._seconds = exit_seconds
        self._watched: list[_Watched] = []
        self._last_words: list[Callable[[], None]] = []
        self._before_execs: list[Callable[[], None]] = []
        self._given_up = 0.0
        self._finished = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._again)

    def watch(self, what: str, outbox: Leaving, end_open: Callable[[str], None] | None) -> None:
        """Take care of one more outbox."""
        self._watched.append(_Watched(what=what, outbox=outbox, end_open=end_open))

    def outboxes(self, what: str) -> list[Leaving]:
        """Return the outboxes of one kind."""
        return [each.outbox for each in self._watched if each.what == what]

    def at_last(self, words: Callable[[], None]) -> None:
        """Call this when the process ends in a normal way."""
        self._last_words.append(words)

    def before_exec(self, work: Callable[[], None]) -> None:
        """Do this before another program takes the place of this one."""
        self._before_execs.append(work)

    def install(self) -> None:
        """Watch every way in which the process can end."""
        atexit.register(self._at_exit)
        attempt(None, self._watch_sigterm)
        os._exit = self._before_exit(os._exit)  # type: ignore[assignment]
        for name in _EXECS:
            setattr(os, name, self._before_exec(getattr(os, name)))

    def flush(self, seconds: float | None = None) -> bool:
        """Make everything leave; return whether it did within the time, by default that of an exit."""
        return self._leave(self._seconds if seconds is None else seconds, None, patient=seconds is None)

    def finish(self, why: str) -> None:
        """End what is open, make everything leave and tell what was lost, once."""
        if self._finished:
            return
        self._finished = True
        self._leave(self._seconds, why, patient=True)
        self._tell_loss()

    def _leave(self, seconds: float, why: str | None, *, patient: bool) -> bool:
        began = time.monotonic()
        refused = sum(each.outbox.refused for each in self._watched)
        asked = [
            (
                each.outbox,
                each.outbox.ask(None if why is None or each.end_open is None else partial(each.end_open, why)),
            )
            for each in self._watched
        ]
        most = began + (max(seconds, MOST_EXIT_SECONDS) if patient else seconds)
        waits = [
            self._wait(outbox, done, began, seconds, most, patient=patient)
            for outbox, done in asked
            if done is not None
        ]
        if patient and not all(waits):
            self._given_up = time.monotonic()
        return all(waits) and refused == sum(each.outbox.refused for each in self._watched)

    def _wait(
        self,
        outbox: Leaving,
        done: threading.Lock,
        began: float,
        seconds: float,
        most: float,
        *,
        patient: bool,
    ) -> bool:
        in_vain = outbox.progress < self._given_up and began - self._given_up < _REMEMBERED
        if patient and in_vain:
            return done.acquire(timeout=0)  # no sign of life since; one exit waits once, whoever asks for it
        while True:
            until = min(max(began, outbox.progress) + seconds, most) if patient else most
            if done.acquire(timeout=max(until - time.monotonic(), 0)):
                return True
            if not patient or time.monotonic() >= min(max(began, outbox.progress) + seconds, most):
                return False

    def _tell_loss(self) -> None:
        losses: list[str] = []
        for what in dict.fromkeys(each.what for each in self._watched):
            outboxes = [each.outbox for each in self._watched if each.what == what]
            dropped = sum(outbox.dropped for outbox in outboxes)
            refused = sum(outbox.refused for outbox in outboxes)
            waiting = sum(outbox.waiting for outbox in outboxes)
            reasons = [
                f"{count} {reason}"
                for count, reason in (
                    (dropped, "because the queue was full"),
                    (refused, "because the collector did not take them"),
                    (waiting, f"because the collector was silent for {self._seconds:g}s at the end"),
                )
                if count
            ]
            if reasons:
                total = dropped + refused + waiting
                lost = f"{what} was lost" if total == 1 else f"{what}s were lost"
                losses.append(f"{total} {lost}: {', '.join(reasons)}")
        if losses:
            attempt(None, LOGGER.warning, "spanproof: %s", "; ".join(losses))

    def _again(self) -> None:
        self._finished = False
        self._given_up = 0.0

    def _at_exit(self) -> None:
        attempt(None, self.finish, "exit")
        for words in self._last_words:
            attempt(None, words)

    def _watch_sigterm(self) -> None:
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._on_sigterm)

    def _on_sigterm(self, number: int, frame: FrameType | None) -> None:
        attempt(None, self.finish, "sigterm")
        # The process dies as it would have without us, of the same signal.
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def _before_exit(self, exit_: Callable[[int], NoReturn]) -> Callable[[int], NoReturn]:
        @wraps(exit_)
        def leave(status: int) -> NoReturn:
            attempt(None, self.finish, "os._exit")
            exit_(status)

        return leave

    def _before_exec(self, exec_: Callable[P, R]) -> Callable[P, R]:
        @wraps(exec_)
        def become(*args: P.args, **kwargs: P.kwargs) -> R:
            attempt(False, self.flush)
            for work in self._before_execs:
                attempt(None, work)
            return exec_(*args, **kwargs)

        return become
