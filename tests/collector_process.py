"""A collector in a process of its own, as users run it."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from spanproof_collector.server.serve import Addresses

PROGRAM = """
import json, sys
from dataclasses import asdict
from spanproof_collector.server.serve import serve

serve(sys.argv[1], grpc_port=0, http_port=0, on_ready=lambda found: print(json.dumps(asdict(found)), flush=True))
"""


@dataclass(frozen=True, kw_only=True)
class Collecting:
    """A running collector."""

    store: str
    addresses: Addresses
    process: "subprocess.Popen[str]"

    def kill(self) -> None:
        """End it as a crash does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(20)


@contextmanager
def collecting(folder: Path) -> Iterator[Collecting]:
    """Run a collector on an embedded store until the block ends; it listens when the block begins."""
    store = f"chdb://{folder}"
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, store], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        try:
            yield Collecting(store=store, addresses=Addresses(**json.loads(process.stdout.readline())), process=process)
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(30)
