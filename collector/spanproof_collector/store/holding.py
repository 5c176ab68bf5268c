"""Who holds an embedded store: the lock on its folder, and where its holder can be asked.

The engine admits one process and does not say which one it is, so a lock file is taken before the engine opens. The
kernel drops the lock with its process, however that ends; what the files say counts only while the lock is held.
"""

import contextlib
import errno
import fcntl
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

_LOCK = "lock"
_SERVING = "serving.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """A process that holds a store and answers for it, over the ClickHouse HTTP protocol on loopback."""

    pid: int
    port: int
    token: str
    host: str = "127.0.0.1"
    otlp: str = ""
    """Where it takes OTLP over HTTP; empty where it takes none."""


class FolderLock:
    """The lock on a store's folder, held by this process until released."""

    def __init__(self, folder: Path, descriptor: int) -> None:
        self.folder = folder
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """Let another process have the folder."""
        if self._descriptor is not None:
            withdraw(self.folder)
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None


def take_lock(folder: Path) -> FolderLock | None:
    """Return the lock on the folder, or ``None`` where another holds it."""
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return None
        raise
    # A server that was killed leaves its advertisement behind.
    withdraw(folder)
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return FolderLock(folder, descriptor)


def holder_pid(folder: Path) -> int | None:
    """Return the process that the lock file names; ``None`` where it names none. Ask only while the lock is held."""
    try:
        return int((folder / _LOCK).read_text())
    except (OSError, ValueError):
        return None


def advertise(folder: Path, serving: Serving) -> None:
    """Say where this process, which holds the folder, answers. Only the folder's owner can read it."""
    draft = folder / f"{_SERVING}.new"
    with contextlib.suppress(FileNotFoundError):
        draft.unlink()
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(asdict(serving), file)
    draft.replace(folder / _SERVING)


def withdraw(folder: Path) -> None:
    """Take the advertisement back. None is fine too."""
    with contextlib.suppress(FileNotFoundError):
        (folder / _SERVING).unlink()


def find_serving(folder: Path) -> Serving | None:
    """Return where the folder's holder answers, or ``None`` where it does not say so."""
    try:
        found = json.loads((folder / _SERVING).read_text())
        serving = Serving(
            pid=found["pid"],
            port=found["port"],
            token=found["token"],
            host=found["host"],
            otlp=found.get("otlp", ""),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return serving if serving.pid == holder_pid(folder) else None


def serving_now(folder: Path) -> Serving | None:
    """Return where the folder's holder answers; ``None`` where nobody holds it, or the holder does not say so.

    What a killed holder left behind says nothing: the lock is tried.
    """
    lock = take_lock(folder)
    if lock is not None:
        lock.release()
        return None
    return find_serving(folder)
