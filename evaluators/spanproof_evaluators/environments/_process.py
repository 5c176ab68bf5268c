"""A command in a folder: its own process group, limits of time and of output, no environment of this process."""

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_PATH: Final = "/usr/local/bin:/usr/bin:/bin"


def run(command: str | Sequence[str], folder: Path, *, seconds: float, output: int) -> tuple[int | None, str]:
    """Return the exit code of a command and what it wrote, both streams as one; no code where its time was up.

    Whatever it started is ended with it.

    Raises:
        OSError: there is no such program.
    """
    surroundings = {"PATH": os.environ.get("PATH", _PATH), "HOME": str(folder), "LANG": "C.UTF-8", "PWD": str(folder)}
    with tempfile.TemporaryFile() as written:
        process = subprocess.Popen(
            ["/bin/sh", "-c", command] if isinstance(command, str) else list(command),
            cwd=folder,
            env=surroundings,
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        code: int | None
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end(process)
        written.seek(0)
        return code, written.read(output).decode("utf-8", "replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process group: what a command left running would go on changing the folder."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
