"""``spanproof serve`` in a process of its own, with its log at hand, and on request with something that goes wrong."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from spanproof_collector.server.serve import Addresses

_PROGRAM = """
import sys
from spanproof_evaluators.__main__ import main

{patch}
sys.exit(main(["serve", "--json", "--grpc-port", "0", "--http-port", "0", *sys.argv[1:]]))
"""


@dataclass(frozen=True, kw_only=True)
class Running:
    """A running server."""

    store: str
    addresses: Addresses
    process: "subprocess.Popen[str]"
    log_file: Path

    def log(self) -> str:
        """Return what it has logged."""
        return self.log_file.read_text()

    def wait_for_log(self, text: str) -> None:
        """Return when it has logged this."""
        deadline = time.monotonic() + 30
        while text not in self.log():
            assert time.monotonic() < deadline, f"it never says {text!r}: {self.log()}"
            time.sleep(0.01)


@contextmanager
def running(
    store: str, folder: Path, *, patch: str = "", environment: Mapping[str, str] | None = None
) -> Iterator[Running]:
    """Run a server until the block ends; it listens when the block begins.

    Args:
        store: the address of its store.
        folder: where its log goes.
        patch: Python that it runs before it starts.
        environment: its environment, if not ours.
    """
    log_file = folder / f"log-{time.monotonic_ns()}"
    with (
        log_file.open("w") as log,
        subprocess.Popen(
            [sys.executable, "-c", _PROGRAM.format(patch=patch), "--store", store],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=environment,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            told = process.stdout.readline()
            assert told, log_file.read_text()
            where = json.loads(told)
            addresses = Addresses(
                host="127.0.0.1",
                grpc_port=int(where["grpc"].rpartition(":")[2]),
                http_port=int(where["http"].rpartition(":")[2]),
                store=store,
            )
            yield Running(store=store, addresses=addresses, process=process, log_file=log_file)
        finally:
            if process.poll() is None:
                process.terminate()
            try:
                process.wait(30)
            finally:
                process.kill()
