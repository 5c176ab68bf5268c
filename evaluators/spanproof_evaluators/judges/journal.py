"""The journal of a judge's work: a file of JSON lines that is only ever added to, and that outlives a kill.

Four kinds of lines, each durable (``fsync``) before anything rests on it:

    {"kind": "input", "input_hash": …, "input": {task, criteria, source, answer, looks_at}}   what the judge sees
    {"kind": "intent", "judge_hash": …, "input_hash": …, "attempt": 1, "at": …}      before a request goes out
    {"kind": "attempt", …, "attempt": 1, "failed": "malformed", "usage": {…}, "reply": …}   what it came to
    {"kind": "verdict", …}                                                           a judgement, whole

A verdict counts once its line is on the disk, and is taken from there ever after: it is paid once. An intent without an
attempt or a verdict after it is a request that was under way when the process ended: nobody can know whether it was
answered and billed. It is sent again under the same idempotency key, and counted.

A copy of a journal is a cassette: verdicts by judge hash and input hash, replayed without a network.
"""

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from spanproof_evaluators.errors import JudgementError, JudgeSetupError
from spanproof_evaluators.model.canonical import Plain, canonical
from spanproof_evaluators.model.judge_inputs import Asked, JudgeInput
from spanproof_evaluators.model.judgements import Judgement, JudgeUsage, as_json, from_json

Key = tuple[str, str]
"""Judge hash and input hash."""

KEPT: Final = frozenset({"malformed", "refused", "cut_off", "rejected", "too_long"})
"""Reasons of an unavailable verdict that the model or its provider gave by answering: asking again is paid again."""

_REPLY: Final = 4000
"""How much of a reply is kept, in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One request that came to something other than a verdict."""

    number: int
    failed: str
    usage: JudgeUsage
    unbilled: bool = False
    """True where the request did not reach the provider, or was answered by an error: nothing is billed for it."""

    served_model: str | None = None

    @property
    def known(self) -> bool:
        """Whether the provider's answer is known. If not, it may have been given and billed all the same."""
        return self.unbilled or self.failed not in ("timeout", "unreachable")


@dataclass(slots=True)
class _Trail:
    """What is known of one key."""

    verdict: Judgement | None = None
    attempts: list[Attempt] = field(default_factory=list)
    """Since the last verdict."""

    last: int = 0
    """The highest number of an attempt."""

    known: int = 0
    """The highest number of an attempt that was answered."""

    open: int | None = None
    """The attempt that was announced and came to nothing that is known."""


class Recorded:
    """The verdicts of a journal or cassette, read once. It is not changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._trails: dict[Key, _Trail] = {}
        self._inputs: set[str] = set()
        for number, line in enumerate(_lines(path), 1):
            self._take(line, number)

    def verdict(self, key: Key) -> Judgement | None:
        """Return the verdict that stands for a key, ``None`` where there is none."""
        trail = self._trails.get(key)
        return trail.verdict if trail else None

    def verdicts(self) -> Iterator[Judgement]:
        """Yield every verdict that stands, in the order in which their keys first came."""
        for trail in self._trails.values():
            if trail.verdict is not None:
                yield trail.verdict

    def inputs(self) -> Iterator[JudgeInput]:
        """Yield every input, read from the file anew: what was judged, and nothing of what was said of it."""
        for number, line in enumerate(_lines(self.path), 1):
            if '"kind":"input"' in line:
                yield _input(_object(line, self.path, number)["input"], self.path, number)

    def unanswered(self) -> int:
        """Return how many requests were under way when a process ended."""
        return sum(trail.open is not None for trail in self._trails.values())

    def _take(self, line: str, number: int) -> None:
        told = _object(line, self.path, number)
        try:
            kind = told["kind"]
            if kind == "input":
                self._inputs.add(str(told["input_hash"]))
                return
            trail = self._trails.setdefault((str(told["judge_hash"]), str(told["input_hash"])), _Trail())
            if kind == "verdict":
                self._verdict(trail, from_json(told))
                return
            attempt = told["attempt"]
            if not isinstance(attempt, int):
                raise TypeError("attempt is no number")
            trail.last = max(trail.last, attempt)
            if kind == "intent":
                trail.open = attempt
            elif kind == "attempt":
                self._failed(trail, _attempt(told, attempt))
            else:
                raise ValueError(f"a line of kind {kind!r}")
        except (JudgementError, KeyError, TypeError, ValueError) as error:
            raise JudgeSetupError(f"{self.path}, line {number}: no line of a journal: {error}") from error

    @staticmethod
    def _verdict(trail: _Trail, found: Judgement) -> None:
        if trail.verdict is None or trail.verdict.state == "unavailable":
            trail.verdict = found
        trail.attempts, trail.open, trail.known = [], None, trail.last

    @staticmethod
    def _failed(trail: _Trail, attempt: Attempt) -> None:
        trail.open = None
        trail.attempts.append(attempt)
        if attempt.known:
            trail.known = attempt.number


class Journal(Recorded):
    """A journal that this process writes. Another that opens it meanwhile is refused."""

    def __init__(self, path: Path) -> None:
        """Open a journal, making it where it is missing. A last line that a kill cut off is taken away.

        Raises:
            JudgeSetupError: another process writes it, it cannot be opened, or a line of it is none.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise JudgeSetupError(f"the journal {path} cannot be opened: {error}") from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._descriptor)
            raise JudgeSetupError(
                f"another run writes the journal {path}. Wait for it, or give this one a journal of its own (--journal)"
            ) from error
        try:
            _cut_torn_line(self._descriptor)
            os.fsync(self._descriptor)
            _sync_folder(path.parent)
            super().__init__(path)
        except BaseException:
            os.close(self._descriptor)
            raise

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)

    def __enter__(self) -> "Journal":
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the file."""
        self.close()

    def attempts(self, key: Key) -> tuple[Attempt, ...]:
        """Return the attempts at a key since its last verdict."""
        trail = self._trails.get(key)
        return tuple(trail.attempts) if trail else ()

    def announce(self, key: Key, given: JudgeInput) -> tuple[int, str]:
        """Say that a request is about to go out; return its number and idempotency key.

        A request that was under way when a process ended keeps both. One that follows an attempt without a known answer
        has that one's key: a provider that knows such keys answers, and bills, once.
        """
        trail = self._trails.setdefault(key, _Trail())
        number = trail.last + 1 if trail.open is None else trail.open
        lines: list[Mapping[str, object]] = []
        if given.hash not in self._inputs:
            lines.append({"kind": "input", "input_hash": given.hash, "input": given})
        lines.append(self._line("intent", key, attempt=number))
        self._write(*lines)
        self._inputs.add(given.hash)
        trail.open, trail.last = number, max(number, trail.last)
        return number, hashlib.sha256(f"{key[0]}:{key[1]}:{trail.known + 1}".encode()).hexdigest()

    def failed(self, key: Key, attempt: Attempt, reply: str = "") -> None:
        """Say that a request came to something other than a verdict."""
        trail = self._trails[key]
        self._write(
            self._line(
                "attempt",
                key,
                attempt=attempt.number,
                failed=attempt.failed,
                usage=_usage_json(attempt.usage),
                unbilled=attempt.unbilled,
                served_model=attempt.served_model,
                reply=reply[:_REPLY].encode("utf-8", "replace").decode("utf-8"),
            )
        )
        self._failed(trail, attempt)

    def judged(self, found: Judgement) -> None:
        """Keep a verdict. It counts when this returns."""
        self._write({"kind": "verdict", **as_json(found)})
        self._verdict(self._trails.setdefault(found.key, _Trail()), found)

    @staticmethod
    def _line(kind: str, key: Key, **told: object) -> dict[str, object]:
        return {"kind": kind, "judge_hash": key[0], "input_hash": key[1], "at": str(time.time_ns()), **told}

    def _write(self, *lines: Mapping[str, object]) -> None:
        """Add lines and wait until they are on the disk.

        Raises:
            JudgeSetupError: they cannot be written; then nothing may be sent that rests on them.
        """
        data = "".join(f"{canonical(line)}\n" for line in lines).encode("ascii")
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
            os.fsync(self._descriptor)
        except OSError as error:
            raise JudgeSetupError(f"the journal {self.path} cannot be written: {error}") from error


def _lines(path: Path) -> Iterator[str]:
    """Yield the whole lines of a file. What stands after the last line end was cut off, and is none.

    Raises:
        JudgeSetupError: the file cannot be read.
    """
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for line in file:
                if line.endswith("\n"):
                    yield line
    except (OSError, UnicodeDecodeError) as error:
        raise JudgeSetupError(f"{path} cannot be read: {error}") from error


def _object(line: str, path: Path, number: int) -> dict[str, Plain]:
    try:
        told = json.loads(line)
    except ValueError as error:
        raise JudgeSetupError(f"{path}, line {number}: no JSON: {error}") from error
    if not isinstance(told, dict):
        raise JudgeSetupError(f"{path}, line {number}: no JSON object")
    return told


def _cut_torn_line(descriptor: int) -> None:
    """Cut a file back to its last line end."""
    size = os.fstat(descriptor).st_size
    kept, end = 0, size
    while end:
        start = max(0, end - 65536)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            kept = start + found + 1
            break
        end = start
    if kept != size:
        os.ftruncate(descriptor, kept)


def _sync_folder(folder: Path) -> None:
    """Make a new file's name durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _attempt(told: Mapping[str, Plain], number: int) -> Attempt:
    usage = told["usage"]
    if not isinstance(usage, dict):
        raise TypeError("usage is no object")
    counts = [usage.get(name) for name in ("input_tokens", "output_tokens")]
    known = [one if isinstance(one, int) else None for one in counts]
    return Attempt(
        number=number,
        failed=str(told["failed"]),
        usage=JudgeUsage(input_tokens=known[0], output_tokens=known[1]),
        unbilled=told["unbilled"] is True,
        served_model=served if isinstance(served := told["served_model"], str) else None,
    )


def _usage_json(usage: JudgeUsage) -> dict[str, Plain]:
    return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}


def _input(told: Plain, path: Path, number: int) -> JudgeInput:
    """Return the input of a line.

    Raises:
        JudgeSetupError: there is none in it.
    """
    try:
        whole = told if isinstance(told, dict) else {}
        criteria = whole["criteria"]
        if not isinstance(criteria, list):
            raise TypeError("criteria are no list")
        asked = tuple(
            Asked(
                id=str(one["id"]),
                question=str(one["question"]),
                guidance=str(one["guidance"]),
                answers=tuple(map(str, answers)) if isinstance(answers := one["answers"], list) else (),
            )
            for one in criteria
            if isinstance(one, dict)
        )
        source = whole["source"]
        return JudgeInput(
            task=str(whole["task"]),
            criteria=asked,
            source=None if source is None else str(source),
            answer=str(whole["answer"]),
            looks_at="diff" if whole["looks_at"] == "diff" else "answer",
        )
    except (KeyError, TypeError) as error:
        raise JudgeSetupError(f"{path}, line {number}: no input of a judge: {error}") from error
