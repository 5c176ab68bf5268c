"""Child processes that hold a store, as servers and importers do."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

HOLD = """
import sys
from spanproof_collector.store import open_store

with open_store(sys.argv[1]) as store:
    print("ready", flush=True)
    sys.stdin.readline()
"""

SERVE = """
import asyncio, os, sys
from spanproof_collector.server.clickhouse import ClickHouseEndpoint
from spanproof_collector.store import Serving, advertise, open_store, withdraw

async def main() -> None:
    with open_store(sys.argv[1]) as store:
        endpoint = ClickHouseEndpoint(store)
        await endpoint.start()
        advertise(store.embedded_path, Serving(pid=os.getpid(), port=endpoint.port, token=endpoint.token))
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        withdraw(store.embedded_path)
        await endpoint.stop()

asyncio.run(main())
"""


@contextmanager
def running(program: str, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """Run a program until the block ends; it is ready when the block begins."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            if process.poll() is None:
                process.stdin.write("\n")
                process.stdin.flush()
            process.wait(20)
