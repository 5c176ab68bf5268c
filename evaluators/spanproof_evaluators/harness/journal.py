"""The journal of a run: what began, what has a verdict, each line on the disk before anything rests on it.

    {"run": …, "suite": …, "hash": …, "agent": …, "variant": …, "attempts": 5, …}      the first line
    {"began": TRIAL, "task": …, "attempt": 0, "try": 0}
    {"verdict": TRIAL, "task": …, "attempt": 0, "outcome": {…}}
    {"broken": TRIAL, "task": …, "attempt": 0, "why": …}

A line that was being written when the runner died has no end, and is no line.
"""

import fcntl
import json
import os
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from spanproof_evaluators.errors import EvaluatorError
from spanproof_evaluators.model.canonical import Layout, Plain, plain, written
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.runner.stored import outcome_json, outcome_of_json

NAME = "journal.jsonl"


class RunError(EvaluatorError):
    """A run that cannot begin, or cannot go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a run is: the same when it goes on."""

    run: str
    suite: str
    hash: str
    agent: str
    variant: str
    labels: dict[str, str]
    attempts: int
    seed: int
    store: str
    suite_file: str = ""


@dataclass(kw_only=True)
class Known:
    """What a journal tells."""

    verdicts: dict[tuple[str, int], tuple[str, Outcome]] = field(default_factory=dict)
    """By task and attempt: the trial, and the word on it."""

    broken: dict[str, str] = field(default_factory=dict)
    """By trial: why it has no verdict."""

    open: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Trials that began and of which nothing else is known: by trial, task and attempt."""

    tries: Counter[tuple[str, int]] = field(default_factory=Counter)
    """By task and attempt, how often it was tried."""


class Journal:
    """The open journal of one run; nobody else can have it open."""

    def __init__(self, folder: Path, header: Header, known: Known, descriptor: int) -> None:
        self.folder = folder
        self.header = header
        self.known = known
        self._descriptor = descriptor
        self._lock = threading.Lock()

    @classmethod
    def create(cls, folder: Path, header: Header) -> "Journal":
        """Return the journal of a new run.

        Raises:
            RunError: the folder cannot be written.
        """
        try:
            folder.mkdir(parents=True)
            (folder / ".gitignore").write_text("*\n", encoding="ascii")
            descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise RunError(f"the run's journal cannot be written in {folder}: {error.strerror}") from error
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        made = cls(folder, header, Known(), descriptor)
        made._write(asdict(header))
        return made

    @classmethod
    def reopen(cls, folder: Path) -> "Journal":
        """Return the journal of a run that goes on.

        Raises:
            RunError: there is none, it cannot be read, or the run still goes on elsewhere.
        """
        try:
            descriptor = os.open(folder / NAME, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        except OSError as error:
            raise RunError(f"there is no run in {folder}: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            raise RunError(f"run {folder.name} still goes on in another process") from error
        data = (folder / NAME).read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            os.ftruncate(descriptor, len(whole))
        try:
            header, known = _told(whole, folder / NAME)
        except RunError:
            os.close(descriptor)
            raise
        return cls(folder, header, known, descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def began(self, trial: str, task: str, attempt: int) -> None:
        """Note that a try begins, before it does."""
        with self._lock:
            number = self.known.tries[task, attempt]
            self.known.tries[task, attempt] += 1
            self.known.open[trial] = (task, attempt)
        self._write({"began": trial, "task": task, "attempt": attempt, "try": number})

    def verdict(self, trial: str, task: str, attempt: int, outcome: Outcome) -> None:
        """Note a verdict."""
        self._write({"verdict": trial, "task": task, "attempt": attempt, "outcome": outcome_json(outcome)})
        with self._lock:
            self.known.open.pop(trial, None)
            self.known.verdicts[task, attempt] = (trial, outcome)

    def broken(self, trial: str, task: str, attempt: int, why: str) -> None:
        """Note that a try has no verdict and will have none."""
        self._write({"broken": trial, "task": task, "attempt": attempt, "why": why})
        with self._lock:
            self.known.open.pop(trial, None)
            self.known.broken[trial] = why

    def _write(self, line: dict[str, object]) -> None:
        text = written(plain(line), Layout()) + "\n"
        with self._lock:
            left = text.encode("ascii")
            while left:
                left = left[os.write(self._descriptor, left) :]
            os.fsync(self._descriptor)


def read_journal(path: Path) -> tuple[Header, Known]:
    """Return what the journal of a run tells, which may still go on.

    Raises:
        RunError: it cannot be read, or is none.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from error
    return _told(data[: data.rfind(b"\n") + 1], path)


def _told(whole: bytes, path: Path) -> tuple[Header, Known]:
    try:
        first, *lines = [json.loads(line) for line in whole.splitlines()]
        return Header(**first), _known(lines)
    except (ValueError, TypeError, KeyError) as error:
        raise RunError(f"{path} is no journal of a run: {error}") from error


def _known(lines: Iterable[dict[str, Plain]]) -> Known:
    """Return what lines tell.

    Raises:
        ValueError, TypeError, KeyError: they are none of a journal.
    """
    known = Known()
    for line in lines:
        at = (str(line["task"]), int(str(line["attempt"])))
        if "began" in line:
            known.tries[at] += 1
            known.open[str(line["began"])] = at
        elif "verdict" in line:
            trial, told = str(line["verdict"]), line["outcome"]
            if not isinstance(told, dict):
                raise TypeError("a verdict has no outcome")
            known.open.pop(trial, None)
            known.verdicts[at] = (trial, outcome_of_json(told))
        else:
            trial = str(line["broken"])
            known.open.pop(trial, None)
            known.broken[trial] = str(line["why"])
    return known
