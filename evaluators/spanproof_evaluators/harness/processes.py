"""An agent's process: started shut in, watched against its limits, and dead with all that it started afterwards."""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Final

from spanproof_evaluators.harness import _launch
from spanproof_evaluators.harness.limits import Held

_LAUNCHER: Final = str(Path(_launch.__file__))
_CHUNK: Final = 65_536
_TICK: Final = 0.05
_LOOK_SECONDS: Final = 0.2
"""How often processes and disk are counted."""

_TERM_SECONDS: Final = 2.0
"""How long an agent that is told to stop may take, to send what it recorded."""

_KILL_SECONDS: Final = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shut:
    """How an agent is shut in."""

    namespace: bool
    hidden: tuple[str, ...] = ()
    """Folders and files over which nothing is laid; the first one is a folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a process ended."""

    code: int | None
    """Negative: the signal that ended it. ``None``: it was never started, or nobody saw how it ended."""

    out: bytes = b""
    err: bytes = b""
    problem: str = ""
    """Why it was not started, or not ended."""

    exhausted: str = ""
    """The limit that it was stopped at, in words."""

    interrupted: bool = False
    """Whether whoever runs the suite stopped it."""

    seconds: float = 0.0


@dataclass(kw_only=True)
class Process:
    """One process to be run: by ``run``, once."""

    command: Sequence[str]
    environment: Mapping[str, str]
    own: Path
    """The folder that is the process's own: its world, its home."""

    folder: Path
    shut: Shut
    held: Held
    stdin: bytes = b""
    stop: Event = field(default_factory=Event)
    """Set where nobody needs it any more."""

    abort: Event = field(default_factory=Event)
    """Set by whoever runs the suite: everything ends."""

    watch: Callable[[], str] = lambda: ""
    """Asked again and again; the words of a limit that was passed stop it."""

    def run(self) -> Ended:
        """Run it to its end, and leave nothing of it alive."""
        started = time.monotonic()
        lifeline, cut = os.pipe()
        told, status = os.pipe()
        asked = {
            "lifeline": lifeline,
            "status": status,
            "namespace": self.shut.namespace,
            "own": str(self.own),
            "folder": str(self.folder),
            "hidden": list(self.shut.hidden),
            "file_bytes": self.held.disk_bytes,
        }
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", _LAUNCHER, json.dumps(asked), *self.command],
                cwd=self.folder,
                env=dict(self.environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(lifeline, status),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            for descriptor in (lifeline, cut, told, status):
                os.close(descriptor)
            return Ended(code=None, problem=f"no process could be started: {error}")
        os.close(lifeline)
        os.close(status)
        running = _Running(process=process, cut=cut, told=told, asked=self, started=started)
        try:
            return running.to_its_end()
        finally:
            running.end_now()


@dataclass(kw_only=True)
class _Running:
    process: "subprocess.Popen[bytes]"
    cut: int
    told: int
    asked: Process
    started: float
    said: dict[str, bytearray] = field(default_factory=lambda: {"out": bytearray(), "err": bytearray()})
    status: bytearray = field(default_factory=bytearray)
    left: bytes = b""
    looked: float = 0.0

    def to_its_end(self) -> Ended:
        """Watch it, stop it where it has to be, and say how it ended."""
        process, held = self.process, self.asked.held
        self.left = self.asked.stdin
        exhausted, interrupted = "", False
        stopping: float | None = None
        with selectors.DefaultSelector() as selector:
            for name, pipe in (("out", process.stdout), ("err", process.stderr)):
                assert pipe is not None  # it is a pipe
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, selectors.EVENT_READ, name)
            os.set_blocking(self.told, False)
            selector.register(self.told, selectors.EVENT_READ, "status")
            assert process.stdin is not None  # it is a pipe
            if self.left:
                os.set_blocking(process.stdin.fileno(), False)
                selector.register(process.stdin, selectors.EVENT_WRITE, "in")
            else:
                process.stdin.close()
            while process.poll() is None:
                self._move(selector, _TICK)
                now = time.monotonic()
                if stopping is None:
                    exhausted = self._exhausted(now)
                    interrupted = self.asked.abort.is_set()
                    if exhausted or interrupted or self.asked.stop.is_set():
                        stopping = now
                        self._signal(signal.SIGTERM)
                elif now - stopping > _TERM_SECONDS and self.cut >= 0:
                    self._cut()
                elif now - stopping > _TERM_SECONDS + _KILL_SECONDS:
                    self._signal(signal.SIGKILL)
            self._cut()
            until = time.monotonic() + 1.0
            while selector.get_map() and time.monotonic() < until and self._move(selector, 0.02):
                pass
            if not exhausted and not interrupted and sum(map(len, self.said.values())) > held.output_bytes:
                exhausted = held.output_words
        told, _, ended = self.status.decode("utf-8", "replace").partition("\nended ")
        problem = told.removeprefix("ready").strip()
        if not told.startswith("ready") and not problem:
            problem = "the agent's launcher ended before the agent began"
        elif not ended and not problem and not exhausted and not interrupted and not self.asked.stop.is_set():
            problem = "the agent's launcher was killed"
        return Ended(
            code=int(ended) if ended and not problem else None,
            out=bytes(self.said["out"][: held.output_bytes]),
            err=bytes(self.said["err"][: held.output_bytes]),
            problem=problem,
            exhausted=exhausted,
            interrupted=interrupted,
            seconds=time.monotonic() - self.started,
        )

    def end_now(self) -> None:
        """Leave nothing alive, whatever happened here."""
        self._cut()
        try:
            self.process.wait(_KILL_SECONDS)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self.process.wait()
        if sys.platform != "linux":
            self._signal(signal.SIGKILL)  # where the launcher cannot find what descends from it
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        os.close(self.told)

    def _cut(self) -> None:
        """Cut the lifeline: the launcher kills whatever is left, and ends."""
        if self.cut >= 0:
            os.close(self.cut)
            self.cut = -1

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    def _exhausted(self, now: float) -> str:
        """Return the limit that is passed, in words."""
        held = self.asked.held
        if now - self.started > held.seconds:
            return held.seconds_words
        if sum(map(len, self.said.values())) > held.output_bytes:
            return held.output_words
        if found := self.asked.watch():
            return found
        if now - self.looked < _LOOK_SECONDS:
            return ""
        self.looked = now
        return held.passed(self.process.pid, namespace=self.asked.shut.namespace)

    def _move(self, selector: selectors.BaseSelector, seconds: float) -> bool:
        """Pass on what is there in either direction; return whether anything was."""
        found = False
        for key, _ in selector.select(seconds):
            try:
                if key.data == "in":
                    sent = os.write(key.fd, self.left[:_CHUNK])
                    self.left = self.left[sent:]
                    chunk = b"" if not self.left else b"more"
                else:
                    chunk = os.read(key.fd, _CHUNK)
            except BlockingIOError:
                continue
            except OSError:
                chunk = b""
            if not chunk:
                selector.unregister(key.fileobj)
                if key.data == "in" and self.process.stdin is not None:
                    with contextlib.suppress(OSError):
                        self.process.stdin.close()
                continue
            found = True
            if key.data == "status":
                self.status.extend(chunk)
            elif key.data != "in":
                room = self.asked.held.output_bytes + 1 - len(self.said[key.data])
                self.said[key.data].extend(chunk[: max(room, 0)])
        return found
