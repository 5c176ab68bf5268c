"""Changes of the world while an agent works in it: each after its event, in the order in which they are written.

An agent that is recorded by spanproof waits behind each call of a tool until the changes that follow it are made
(``spanproof_instrumentation.call_gate``): what it sees next is the changed world. Of another agent the calls are known
when their spans come; it does not wait, and the change says ``ordered: false``.
"""

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from spanproof_evaluators.harness.processes import Ended
from spanproof_evaluators.harness.worlds import WorldError, call_python, fingerprints
from spanproof_evaluators.model.starts import Change
from spanproof_evaluators.verifiers._globs import matches


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A change that was made."""

    change: Change
    name: str
    at: int
    """When it began, in Unix nanoseconds."""

    ordered: bool
    """Whether the agent waited for it."""

    tool_calls: int
    """How many calls had ended then."""


@dataclass(kw_only=True)
class Changes:
    """The changes of one try. ``called`` and ``look`` may come from any thread."""

    changes: tuple[Change, ...]
    world: Path
    base: Path
    """What the suite's Python files are relative to."""

    database: str | None
    run: Callable[[list[str]], Ended]
    """Runs a command in the world, shut in as the agent is."""

    began: float = field(default_factory=time.monotonic)
    made: list[Made] = field(default_factory=list)
    broken: str = ""
    """Why a change could not be made: then the world is not the one that the task is about."""

    calls: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def called(self) -> None:
        """A call of a tool ended, and its maker waits: make what follows it."""
        with self._lock:
            self.calls += 1
            self._proceed(ordered=True)

    def look(self, calls: int = 0) -> None:
        """Make what is due now: by the clock, by the files that are there, by calls that were told of late."""
        if len(self.made) == len(self.changes) or self.broken:
            return
        with self._lock:
            late = calls > self.calls
            self.calls = max(self.calls, calls)
            self._proceed(ordered=not late)

    @property
    def left(self) -> tuple[Change, ...]:
        """The changes whose event never came."""
        return self.changes[len(self.made) :]

    def _proceed(self, *, ordered: bool) -> None:
        while len(self.made) < len(self.changes) and not self.broken:
            change = self.changes[len(self.made)]
            if not self._due(change):
                return
            at = time.time_ns()
            name = change.name or _name(change)
            try:
                self._make(change)
            except (WorldError, sqlite3.Error, OSError) as error:
                self.broken = f"change {name}: {error}"
                return
            exact = ordered and change.after.tool_calls is not None
            self.made.append(Made(change=change, name=name, at=at, ordered=exact, tool_calls=self.calls))

    def _due(self, change: Change) -> bool:
        after = change.after
        if after.tool_calls is not None:
            return self.calls >= after.tool_calls
        if after.seconds is not None:
            return time.monotonic() - self.began >= after.seconds
        pattern = after.file_appears or ""
        if not any(letter in pattern for letter in "*?["):
            return (self.world / pattern).is_file()
        return any(matches(path, pattern) for path in fingerprints(self.world))

    def _make(self, change: Change) -> None:
        """Make one change.

        Raises:
            WorldError, sqlite3.Error, OSError: it cannot be made.
        """
        if change.sql is not None:
            file = self.world / (self.database or "")
            if file.is_symlink() or not file.is_file():
                raise WorldError("the world's database is gone")
            with closing(sqlite3.connect(file, timeout=30)) as connection, connection:
                connection.executescript(change.sql)
        elif change.python is not None:
            call_python(change.python, self.base, self.world)
        else:
            given = change.run or ""
            done = self.run(["/bin/sh", "-c", given] if isinstance(given, str) else list(given))
            if done.code != 0:
                said = (done.problem or done.err.decode("utf-8", "replace")).strip()[-300:]
                raise WorldError(f"ended with {done.code}: {said}")


def _name(change: Change) -> str:
    if change.sql is not None:
        return "sql"
    if change.python is not None:
        return change.python.rpartition(":")[2]
    given = change.run or ""
    return (given if isinstance(given, str) else given[0])[:80]
