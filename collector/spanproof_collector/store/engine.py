"""The embedded engine: one path a process, in a folder that only its owner can read.

The engine reads a config.xml out of the working folder, both when its module is imported and when it opens, and the
driver writes every insert, which is to say transcripts, to a file in the folder for temporary files. So both happen
in folders of the store's own.

Its database ``default`` lies over the file system: the name of a table that it does not know, it takes for the path of
a file. So ours has another name, and ``default`` is replaced by an empty one each time the engine opens.

It takes over the signals of a crash, and keeps a process that crashed alive for minutes in which it answers nothing.
So those signals are given back: a crash ends the process, and whoever watches over that starts another.
"""

import contextlib
import ctypes
import os
import shutil
import signal
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, Protocol, cast

import clickhouse_connect
from clickhouse_connect.driver import Client

from spanproof_collector.errors import StoreError, StoreUnreachableError

DATABASE: Final = "spanproof"

_CONFIG: Final = "engine.xml"
_SETTINGS: Final = """\
<clickhouse>
    <!-- Where in the files something lies is remembered up to so many bytes; by default 5 GB. -->
    <mark_cache_size>134217728</mark_cache_size>
    <index_mark_cache_size>33554432</index_mark_cache_size>
    <!-- An acknowledged insert outlives a power cut. -->
    <merge_tree>
        <fsync_after_insert>1</fsync_after_insert>
        <fsync_part_directory>1</fsync_part_directory>
        <!-- Ten parts of a size become one, not five: a row is written anew less often, a read sees more parts. -->
        <merge_selector_base>10</merge_selector_base>
        <!-- The buffers of a merge begin small and grow: by default each column takes 2 MB, a merge 160 MB. -->
        <min_columns_to_activate_adaptive_write_buffer>1</min_columns_to_activate_adaptive_write_buffer>
        <!-- Replaced parts go one by one: from 100 on the engine would start 128 threads for them, and keep those. -->
        <concurrent_part_removal_threshold>1000000</concurrent_part_removal_threshold>
        <!-- No statistics of columns: they are a tenth of the disk, and a statement reads those of every part. -->
        <auto_statistics_types></auto_statistics_types>
    </merge_tree>
</clickhouse>
"""
_SESSION: Final = "local_filesystem_read_method = 'pread', use_skip_indexes_on_data_read = 0"
"""Files are read by the thread that needs them: through the engine's pool for it a query costs a third more CPU.
And what filters rule out is ruled out before anything is opened, not when its turn comes to be read."""

_SIGNALS: Final = ("SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGSYS", "SIGTRAP", "SIGTSTP")
"""What the engine handles for the whole process; the last is Ctrl-Z."""

_SIGACTION_BYTES: Final = 512
"""More than a ``struct sigaction`` has anywhere: 152 bytes with glibc on x86-64."""

_ASK_AGAIN_SECONDS: Final = 0.1
_QUOTE: Final = "'"

# The working folder and the folder for temporary files belong to the process, not to a thread.
_process = threading.Lock()


class Answer(Protocol):
    """What the engine gives back."""

    def bytes(self) -> bytes:
        """Return the answer in the format asked for."""

    def rows_read(self) -> int:
        """Return how many rows were read, of an insert those written."""

    def bytes_read(self) -> int:
        """Return how many bytes were read, of an insert those written."""


class Stream(Protocol):
    """An answer that comes in pieces."""

    def __next__(self) -> Answer:
        """Return the next piece."""

    def close(self) -> None:
        """Stop the statement."""


class Handle(Protocol):
    """The engine's own: its settings and its current database are its own, and one thread uses it at a time."""

    def query(self, query: str, format: str = "CSV", params: Mapping[str, str] | None = None) -> Answer:  # noqa: A002
        """Run a statement."""

    def send_query(self, query: str, format: str = "CSV", params: Mapping[str, str] | None = None) -> Stream:  # noqa: A002
        """Run a statement whose answer comes in pieces."""

    def close(self) -> None:
        """End the session."""


class Session:
    """Settings, a database and one statement at a time, from any thread.

    A handle that is closed while it answers takes the engine down with it, and with the engine the process. So closing
    first ends the statement, by the engine's own list of what runs, and then waits until it has ended.
    """

    def __init__(self, connect: Callable[[], Handle]) -> None:
        self._connect = connect
        self._handle = connect()
        self._mark = uuid.uuid4().hex
        self._stream: Stream | None = None
        self._turn = threading.Lock()

    def prepare(self, database: str, settings: Mapping[str, str]) -> None:
        """Use a database, and settings.

        Raises:
            RuntimeError: the engine does not take them.
        """
        # The mark is last, because a statement is found by it.
        assigned = [*sorted(settings.items()), ("log_comment", self._mark)]
        with self._turn:
            self._handle.query("USE " + _quoted("`", database))
            self._handle.query("SET " + ", ".join([f"{name} = {_quoted(_QUOTE, value)}" for name, value in assigned]))

    def query(self, query: str, format: str = "CSV", params: Mapping[str, str] | None = None) -> Answer:  # noqa: A002
        """Run a statement.

        Raises:
            RuntimeError: the statement failed, or was ended.
        """
        with self._turn:
            return self._handle.query(query, format, params)

    def begin(self, query: str, format: str, params: Mapping[str, str]) -> bytes | None:  # noqa: A002
        """Run a statement whose answer comes in blocks; return the first, or ``None`` where there is none.

        Raises:
            RuntimeError: the statement failed, or was ended.
        """
        with self._turn:
            self._stream = self._handle.send_query(query, format, params)
            return _next(self._stream)

    def next(self) -> bytes | None:
        """Return the next block of the answer, or ``None`` at its end.

        Raises:
            RuntimeError: the statement failed, or was ended, or the session is closed.
        """
        with self._turn:
            if self._stream is None:
                raise RuntimeError("no statement answers in this session")
            return _next(self._stream)

    def close(self) -> None:
        """End the session, and what runs in it."""
        while not self._turn.acquire(timeout=_ASK_AGAIN_SECONDS):
            # Again and again: a statement that has only just been given to the engine is not in its list yet.
            self._end_statement()
        with contextlib.ExitStack() as stack:
            stack.callback(self._turn.release)
            stack.callback(self._handle.close)
            stream, self._stream = self._stream, None
            if stream is not None:
                stream.close()

    def _end_statement(self) -> None:
        other = self._connect()
        try:
            other.query(f"KILL QUERY WHERE Settings['log_comment'] = '{self._mark}' ASYNC")
        finally:
            other.close()


def _next(stream: Stream) -> bytes | None:
    while True:
        try:
            block = next(stream).bytes()
        except StopIteration:
            return None
        if block:
            return block


def _quoted(quote: str, text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace(quote, "\\" + quote)
    return quote + escaped + quote


class Engine:
    """The open engine. Closing it gives the process back its folder for temporary files, and another path a chance."""

    _open: "Engine | None" = None

    def __init__(self, folder: Path) -> None:
        """Open the engine over ``folder``, which this process has locked.

        Raises:
            StoreError: this process has another store open already.
            StoreUnreachableError: the engine does not open.
        """
        self.path = folder / "data"
        self.temporary = folder / "tmp"
        home = folder / "engine"
        with _process:
            if Engine._open is not None:
                raise StoreError(
                    f"this process has the store in {Engine._open.path.parent} open, and the embedded engine admits "
                    "one at a time: close that one first"
                )
            for place in (self.path, self.temporary, home):
                place.mkdir(mode=0o700, exist_ok=True)
            for leftover in self.temporary.iterdir():
                if leftover.is_dir() and not leftover.is_symlink():
                    shutil.rmtree(leftover)
                else:
                    leftover.unlink()
            (home / _CONFIG).write_text(_SETTINGS)
            # The name of the settings is relative because the connection string mangles some characters.
            with _working_in(home), _keeping_signals():
                self._keeper = _open_handle(f"{os.path.realpath(self.path)}?config-file={_CONFIG}")
            try:
                self._keeper.query(f"CREATE DATABASE IF NOT EXISTS {DATABASE} ENGINE = Atomic")
                self._keeper.query("DROP DATABASE default")
                self._keeper.query("CREATE DATABASE default ENGINE = Memory")
            except RuntimeError as error:
                self._keeper.close()
                raise StoreUnreachableError(str(folder), str(error)) from error
            self._temporary_before = tempfile.tempdir
            tempfile.tempdir = str(self.temporary)
            Engine._open = self

    def connect(self) -> Client:
        """Return a client with a session of its own."""
        client = clickhouse_connect.get_client(interface="chdb", path=str(self.path), database=DATABASE)
        client.command(f"SET {_SESSION}")
        return client

    def session(self) -> Session:
        """Return a session of the engine's, below any client. It costs a third of a millisecond."""
        return Session(self._handle)

    def _handle(self) -> Handle:
        return _open_handle(os.path.realpath(self.path))

    def close(self) -> None:
        """Let go of the process's one engine. Its clients are closed before."""
        with _process:
            if Engine._open is self:
                self._keeper.close()
                tempfile.tempdir = self._temporary_before
                Engine._open = None


def _open_handle(connection: str) -> Handle:
    import chdb  # starts an engine for a moment, in the working folder

    try:
        return cast(Handle, chdb.connect(connection))
    except RuntimeError as error:
        raise StoreUnreachableError(connection.partition("?")[0], str(error)) from error


@contextlib.contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    before = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.chdir(folder)
        yield
    finally:
        os.fchdir(before)
        os.close(before)


@contextlib.contextmanager
def _keeping_signals() -> Iterator[None]:
    """Put back what the process did on these signals. Python's own module knows its own handlers only."""
    sigaction = ctypes.CDLL(None, use_errno=True).sigaction
    before = {}
    for name in _SIGNALS:
        number = getattr(signal, name)
        before[number] = ctypes.create_string_buffer(_SIGACTION_BYTES)
        sigaction(number, None, before[number])
    try:
        yield
    finally:
        for number, action in before.items():
            sigaction(number, action, None)
