"""A collector in a process of its own: ``spanproof serve`` on ports that the system picks.

It ends with the process that started it, however that ends: its standard input closes then.
"""

import json
import selectors
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from spanproof_evaluators.errors import EvaluatorError

_LONGEST_START: Final = 30.0
_LONGEST_STOP: Final = 30.0
_LAST_WORDS: Final = 2000
_PROGRAM: Final = (
    "import os, signal, sys, threading\n"
    "threading.Thread(target=lambda: (os.read(0, 1), os.kill(os.getpid(), signal.SIGTERM)),"
    " daemon=True).start()\n"
    "from spanproof_evaluators.__main__ import main\n"
    "sys.exit(main(sys.argv[1:]))\n"
)


class CollectorProcessError(EvaluatorError):
    """The collector did not come up, or did not end well."""

    def __init__(self, what: str, log: Path) -> None:
        said = log.read_text(encoding="utf-8", errors="replace")[-_LAST_WORDS:]
        super().__init__(f"the collector {what}. It said, in {log}:\n{said}")
        self.log = log


class CollectorProcess:
    """Runs while its block does. SIGTERM ends it, and what it acknowledged is durable then."""

    def __init__(self, store: Path | str, *, log: Path) -> None:
        """Take the folder of an embedded store, or the address of any."""
        self.address = store if isinstance(store, str) else f"chdb://{store.resolve()}"
        self.endpoint = ""
        """Where it takes OTLP over gRPC."""

        self.http = ""
        """Where it takes OTLP over HTTP."""

        self.ready_after = 0.0
        self._log = log
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        started = time.monotonic()
        command = [sys.executable, "-c", _PROGRAM, "serve", "--json", "--store", self.address]
        with self._log.open("w", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [*command, "--grpc-port", "0", "--http-port", "0"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,  # Ctrl-C is for who started it: a second signal would end it at once
            )
        try:
            self.endpoint, self.http = self._wait_until_ready(self._process)
        except BaseException:
            self._process.kill()
            self._end(self._process)
            raise
        self.ready_after = time.monotonic() - started
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop it.

        Raises:
            CollectorProcessError: it did not end by itself, or ended with an error.
        """
        if self._process is None:
            return
        self._process.terminate()
        try:
            code = self._end(self._process)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._end(self._process)
            raise CollectorProcessError(f"did not stop within {_LONGEST_STOP:.0f} s", self._log) from error
        if code != 0 and error is None:
            raise CollectorProcessError(f"ended with {code}", self._log)

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """End it as a crash does, and take no offence."""
        if self._process is not None:
            self._process.kill()
            self._end(self._process)
            self._process = None

    def _wait_until_ready(self, process: "subprocess.Popen[str]") -> tuple[str, str]:
        assert process.stdout is not None  # it is a pipe
        with selectors.DefaultSelector() as selector:  # select() itself knows no descriptor above 1023
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(_LONGEST_START):
                raise CollectorProcessError(f"was not ready within {_LONGEST_START:.0f} s", self._log)
        line = process.stdout.readline()
        if not line:
            raise CollectorProcessError(f"ended with {process.wait(_LONGEST_STOP)} before it was ready", self._log)
        where = json.loads(line)
        return str(where["grpc"]), str(where["http"])

    def _end(self, process: "subprocess.Popen[str]") -> int:
        code = process.wait(_LONGEST_STOP)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        return code
