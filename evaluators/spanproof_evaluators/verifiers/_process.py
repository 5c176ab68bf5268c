"""A child process with limits: of time and of output, with a clean environment and nothing to read.

It leads a session and a process group of its own. When it ends, is too slow or says too much, the whole group is
killed, and on Linux also whoever left the group but kept the environment it was started with. Not caught is who starts
a session of its own and empties its environment too. Memory, disk and network are not limited: this is no sandbox.
"""

import contextlib
import os
import secrets
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spanproof_evaluators.verifiers._kind import GapError

MARK: Final = "SPANPROOF_VERIFIER_RUN"
"""The variable by which a run's descendants are found."""

_CHUNK: Final = 65_536
_AFTERWARDS: Final = 2.0
"""So long, in seconds, what is still in the pipes is read after the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a process ended, and what it said."""

    code: int
    """Negative: the signal that killed it."""

    out: bytes
    err: bytes

    @property
    def said(self) -> str:
        """Both outputs as text."""
        return b"\n".join(part.strip() for part in (self.out, self.err) if part.strip()).decode("utf-8", "replace")


def clean_environment(home: Path) -> dict[str, str]:
    """Return an environment without anything of ours but where programs are and what the system needs."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH") if name in os.environ}
    return {"PATH": os.defpath, **kept, "HOME": str(home), "TMPDIR": str(home), "LANG": "C.UTF-8", "TZ": "UTC"}


def run(argv: Sequence[str], *, folder: Path, env: Mapping[str, str], timeout: float, max_output: int) -> Ran:
    """Run a program to its end.

    Raises:
        GapError: it cannot be started, took longer than ``timeout`` seconds, or said more than ``max_output`` bytes.
    """
    token = secrets.token_hex(16)
    deadline = time.monotonic() + timeout
    try:
        process = subprocess.Popen(
            argv,
            cwd=folder,
            env={**env, MARK: token},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise GapError("command_not_found", f"{argv[0]}: {error.strerror}") from error
    except (OSError, ValueError) as error:
        raise GapError("command_not_started", f"{argv[0]}: {error}") from error
    said: dict[str, bytearray] = {"out": bytearray(), "err": bytearray()}
    try:
        with process, selectors.DefaultSelector() as selector:
            for name, pipe in (("out", process.stdout), ("err", process.stderr)):
                if pipe is not None:
                    os.set_blocking(pipe.fileno(), False)
                    selector.register(pipe, selectors.EVENT_READ, name)
            try:
                _watch(process, selector, said, deadline, max_output)
            finally:
                _kill(process, token)
            _read(selector, said, max_output, until=time.monotonic() + _AFTERWARDS)
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
            code = process.wait()
    except _TooLateError:
        raise GapError("timeout", f"not done after {timeout:g} s\n{_last(said)}") from None
    except _TooMuchError:
        raise GapError("output_limit", f"more than {max_output:,} bytes of output\n{_last(said)}") from None
    return Ran(code=code, out=bytes(said["out"]), err=bytes(said["err"]))


class _TooLateError(Exception):
    pass


class _TooMuchError(Exception):
    pass


def _watch(
    process: "subprocess.Popen[bytes]",
    selector: selectors.BaseSelector,
    said: Mapping[str, bytearray],
    deadline: float,
    most: int,
) -> None:
    """Read until the process ends; whoever still holds its pipes then is not waited for."""
    while not _ended(process):
        if time.monotonic() >= deadline:
            raise _TooLateError
        if not selector.get_map():
            time.sleep(0.005)
            continue
        _some(selector, said, most, min(0.02, max(deadline - time.monotonic(), 0.0)))


def _ended(process: "subprocess.Popen[bytes]") -> bool:
    """Return whether the process ended. It stays a zombie, so that its group's number is nobody else's yet."""
    if hasattr(os, "waitid"):
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return process.poll() is not None


def _some(selector: selectors.BaseSelector, said: Mapping[str, bytearray], most: int, seconds: float) -> bool:
    """Read what is there; return whether anything was."""
    found = False
    for key, _ in selector.select(seconds):
        pipe = key.fileobj
        try:
            chunk = os.read(key.fd, _CHUNK)
        except BlockingIOError:
            continue
        if not chunk:
            selector.unregister(pipe)
            continue
        found = True
        said[key.data].extend(chunk)
        if sum(map(len, said.values())) > most:
            raise _TooMuchError
    return found


def _read(selector: selectors.BaseSelector, said: Mapping[str, bytearray], most: int, *, until: float) -> None:
    """Read what is left in the pipes."""
    while selector.get_map() and time.monotonic() < until and _some(selector, said, most, 0.05):
        pass


def _kill(process: "subprocess.Popen[bytes]", token: str) -> None:
    """Kill the group, and whoever else carries the mark."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for _ in range(10):
        strays = [pid for pid in _marked(token) if pid != process.pid]
        if not strays:
            return
        for pid in strays:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _marked(token: str) -> Iterator[int]:
    """Yield the processes that live and carry the mark in their environment, where the system tells."""
    mark = f"{MARK}={token}".encode()
    for entry in Path("/proc").glob("[0-9]*") if sys.platform == "linux" else ():
        with contextlib.suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                yield int(entry.name)


def _last(said: Mapping[str, bytearray]) -> str:
    """Return the end of what was said."""
    return b"\n".join(bytes(part[-500:]) for part in said.values() if part).decode("utf-8", "replace").strip()
