"""Starts servers quickly: a process that has loaded everything and forks one server for each request.

What a server does after the fork is ``spanproof serve``. Nothing that has threads, engine or gRPC, runs before it.
"""

import contextlib
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Final

_LOADED: Final = (
    "uvicorn.protocols.http.httptools_impl",
    "uvloop",
    "spanproof_collector.server.serve",
    "spanproof_evaluators.__main__",
    "spanproof_evaluators.cli.serve",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A server to start, and where it is to be killed; ``point=""`` is nowhere."""

    store: str
    log: str
    point: str = ""
    nth: int = 1
    armed: str = ""
    seed: int = 0


class Server:
    """A server process. Its standard output ends when it does, however it ends."""

    def __init__(self, pid: int, output: int, start: Start) -> None:
        self.start = start
        self.ended = threading.Event()
        self._pid = pid
        self._output = os.fdopen(output)
        self._when_ended: list[Callable[[], None]] = []
        self._guard = threading.Lock()
        told = self._output.readline()
        self.addresses: dict[str, str] | None = json.loads(told) if told else None
        """Where it listens; ``None`` where it ended before it did."""

        threading.Thread(target=self._watch).start()

    def when_ended(self, call: Callable[[], None]) -> None:
        """Have something done as soon as the process has ended."""
        with self._guard:
            if not self.ended.is_set():
                self._when_ended.append(call)
                return
        call()

    def kill(self) -> None:
        """End it as a crash does."""
        self._signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to stop."""
        self._signal(signal.SIGTERM)

    def wait(self) -> None:
        """Return when it has ended."""
        if not self.ended.wait(60):
            raise TimeoutError(f"server {self._pid} does not end")

    def _watch(self) -> None:
        with self._output:
            self._output.read()
        with self._guard:
            self.ended.set()
            calls = self._when_ended
        for call in calls:
            call()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, number)


class Zygote:
    """The process that forks servers."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._socket, other = socket.socketpair()
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.zygote", str(other.fileno())],
                pass_fds=(other.fileno(),),
                cwd=Path(__file__).parents[2],
            )

    def serve(self, start: Start) -> Server:
        """Start a server and return when it is ready, or has ended."""
        reading, writing = os.pipe()
        with self._guard:
            socket.send_fds(self._socket, [json.dumps(asdict(start)).encode()], [writing])
            os.close(writing)
            pid = int(self._socket.recv(100))
        return Server(pid, reading, start)

    def __enter__(self) -> "Zygote":
        """Return the zygote itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End it. Servers are ended before."""
        self._socket.close()
        self._process.wait(20)


def main(descriptor: int) -> None:
    """Fork a server for each request, until there are no more."""
    for module in _LOADED:
        importlib.import_module(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    asked = socket.socket(fileno=descriptor)
    while True:
        told, descriptors, _, _ = socket.recv_fds(asked, 4096, 1)
        if not told:
            return
        pid = os.fork()
        if not pid:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            asked.close()
            _serve(Start(**json.loads(told)), descriptors[0])
        os.close(descriptors[0])
        asked.send(f"{pid}".encode())


def _serve(start: Start, output: int) -> None:
    from spanproof_evaluators.__main__ import main as command
    from tests.faults.points import Points

    with Path(start.log).open("a") as log:
        os.dup2(output, 1)
        os.dup2(log.fileno(), 2)
    os.close(output)
    if start.point:
        Points(start.point, start.nth, Path(start.armed), start.seed).install()
    code = command(["serve", "--json", "--store", start.store, "--grpc-port", "0", "--http-port", "0"])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main(int(sys.argv[1]))
