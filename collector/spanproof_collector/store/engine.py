"""The embedded engine: one path a process, in a folder that only its owner can read.

The engine reads a config.xml out of the working folder, both when its module is imported and when it opens, and the
driver writes every insert, which is to say transcripts, to a file in the folder for temporary files. So both happen
in folders of the store's own.
"""

import contextlib
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from clickhouse_connect.driver import Client

from spanproof_collector.errors import StoreError

_CONFIG = "engine.xml"
_SETTINGS = """\
<clickhouse>
    <!-- An acknowledged insert outlives a power cut. -->
    <merge_tree>
        <fsync_after_insert>1</fsync_after_insert>
        <fsync_part_directory>1</fsync_part_directory>
    </merge_tree>
</clickhouse>
"""
# The working folder and the folder for temporary files belong to the process, not to a thread.
_process = threading.Lock()


class Engine:
    """The open engine. ``close`` gives the process back its folder for temporary files, and another path a chance."""

    _open: "Engine | None" = None

    def __init__(self, folder: Path) -> None:
        """Open the engine over ``folder``, which this process has locked.

        Raises:
            StoreError: this process has another store open already.
        """
        self.path = folder / "data"
        self._home = folder / "engine"
        with _process:
            if Engine._open is not None:
                raise StoreError(
                    f"this process has the store in {Engine._open.path.parent} open, and the embedded engine admits "
                    "one at a time: close that one first"
                )
            self._temporary_before = tempfile.tempdir
            temporary = folder / "tmp"
            for place in (self.path, self._home, temporary):
                place.mkdir(mode=0o700, exist_ok=True)
            for leftover in temporary.iterdir():
                leftover.unlink()
            (self._home / _CONFIG).write_text(_SETTINGS)
            tempfile.tempdir = str(temporary)
            Engine._open = self

    def connect(self) -> Client:
        """Return a client of its own handle to the engine."""
        return self._at_home(lambda: _client(self.path))

    def _at_home(self, action: Callable[[], Client]) -> Client:
        with _process, _working_in(self._home):
            return action()

    def close(self) -> None:
        """Let go of the process's one engine. Its clients are closed before."""
        with _process:
            if Engine._open is self:
                tempfile.tempdir = self._temporary_before
                Engine._open = None


def _client(path: Path) -> Client:
    import clickhouse_connect

    return clickhouse_connect.get_client(
        interface="chdb",
        path=str(path),
        # Relative, because the driver's connection string mangles some characters; it is read in the engine's home.
        chdb_options={"config-file": _CONFIG},
    )


@contextlib.contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    before = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.chdir(folder)
        yield
    finally:
        os.fchdir(before)
        os.close(before)
