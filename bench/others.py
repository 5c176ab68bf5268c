"""Feeds the same bytes to the spanproof server, to Phoenix and to MLflow, and compares the CPU that each takes.

Usage: ``python -m bench.others [--spans N] [--python PATH]``. Each server runs as it comes, on loopback, with a fresh
store of its own (Phoenix and MLflow: SQLite), and gets the requests one after the other over OTLP/HTTP. What counts is
the CPU-seconds of its processes, from the first request until every span is stored, and how many spans are.
``--python`` names an interpreter that has ``arize-phoenix`` and ``mlflow``; by default it is this one. What is not
installed is said to be so, and left out.
"""

import argparse
import contextlib
import json
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import clickhouse_connect
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from bench.ingest import yardstick
from bench.traffic import requests

_START_S: Final = 240.0
_STORE_S: Final = 120.0
"""So long may pass without one more span stored."""

_TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """How to run one, where it takes traces, and how to count what it has."""

    name: str
    command: Sequence[str]
    url: str
    health: str
    stored: Callable[[], int]
    environment: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What a server did with the spans."""

    stored: int
    cpu_seconds: float
    wall_seconds: float


def version_of(python: str, package: str) -> str | None:
    """Return the version of a package that an interpreter has, ``None`` where it has none."""
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    found = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return found.stdout.strip() if found.returncode == 0 else None


def spanproof(folder: Path) -> Server:
    """Return our own server."""
    port = _free_port()
    store = folder / "store"

    def stored() -> int:
        serving = json.loads((store / "serving.json").read_text())
        client = clickhouse_connect.get_client(
            host=serving["host"], port=serving["port"], password=serving["token"], database="spanproof"
        )
        with contextlib.closing(client):
            return int(client.query("SELECT count() FROM spans FINAL").result_rows[0][0])

    return Server(
        name="spanproof",
        command=(
            *(sys.executable, "-m", "spanproof_evaluators", "serve", "--store", f"chdb://{store}"),
            *("--grpc-port", "0", "--http-port", str(port)),
        ),
        url=f"http://127.0.0.1:{port}/v1/traces",
        health=f"http://127.0.0.1:{port}/healthz",
        stored=stored,
    )


def phoenix(python: str, folder: Path) -> Server:
    """Return Arize's Phoenix."""
    port = _free_port()
    return Server(
        name=f"arize-phoenix {version_of(python, 'arize-phoenix')}",
        command=(python, "-m", "phoenix.server.main", "serve"),
        environment={
            "PHOENIX_WORKING_DIR": str(folder),
            "PHOENIX_SQL_DATABASE_URL": f"sqlite:///{folder}/phoenix.db",
            "PHOENIX_HOST": "127.0.0.1",
            "PHOENIX_PORT": str(port),
            "PHOENIX_GRPC_PORT": str(_free_port()),
            "PHOENIX_TELEMETRY_ENABLED": "false",
        },
        url=f"http://127.0.0.1:{port}/v1/traces",
        health=f"http://127.0.0.1:{port}/healthz",
        stored=lambda: _rows(folder / "phoenix.db"),
    )


def mlflow(python: str, folder: Path) -> Server:
    """Return MLflow's tracking server."""
    port = _free_port()
    return Server(
        name=f"mlflow {version_of(python, 'mlflow')}",
        command=(
            *(python, "-m", "mlflow", "server", "--backend-store-uri", f"sqlite:///{folder}/mlflow.db"),
            *("--default-artifact-root", str(folder / "artifacts"), "--host", "127.0.0.1", "--port", str(port)),
            *("--workers", "1"),
        ),
        environment={"MLFLOW_DISABLE_TELEMETRY": "true"},
        headers={"x-mlflow-experiment-id": "0"},
        url=f"http://127.0.0.1:{port}/v1/traces",
        health=f"http://127.0.0.1:{port}/health",
        stored=lambda: _rows(folder / "mlflow.db"),
    )


def measure(server: Server, bodies: Sequence[bytes], spans: int, folder: Path) -> Taken:
    """Run the server, send it everything, and wait until it has it or takes no more.

    Raises:
        RuntimeError: it does not start, or does not take a request.
    """
    with _running(server, folder) as process:
        before, began = _cpu_seconds(process.pid), time.monotonic()
        for body in bodies:
            _post(server, body)
        stored, moved = server.stored(), time.monotonic()
        while stored < spans and time.monotonic() - moved < _STORE_S:
            time.sleep(0.2)
            now = server.stored()
            if now > stored:
                stored, moved = now, time.monotonic()
        return Taken(
            stored=stored,
            cpu_seconds=_cpu_seconds(process.pid) - before,
            wall_seconds=time.monotonic() - began,
        )


@contextmanager
def _running(server: Server, folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    log = folder / "server.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            server.command,
            stdout=out,
            stderr=out,
            cwd=folder,
            env={**os.environ, **server.environment},
            start_new_session=True,  # its processes are then found by their session
        )
        try:
            until = time.monotonic() + _START_S
            while not _answers(server.health):
                if process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(f"{server.name} does not start: {log.read_text(errors='replace')[-2000:]}")
                time.sleep(0.2)
            yield process
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except (OSError, urllib.error.URLError):
        return False


def _post(server: Server, body: bytes) -> None:
    headers = {"content-type": "application/x-protobuf", **server.headers}
    while True:
        try:
            with urllib.request.urlopen(urllib.request.Request(server.url, body, headers), timeout=300):
                return
        except urllib.error.HTTPError as error:
            if error.code not in (429, 503):
                raise RuntimeError(f"{server.name} answers {error.code}: {error.read()[:500]!r}") from error
            time.sleep(0.2)  # it is busy, and asks to be sent the same again


def _cpu_seconds(leader: int) -> float:
    """Return user and system time of every process of a session, and of those that ended in it."""
    ticks = 0
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = place.read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader:
                ticks += sum(map(int, fields[11:15]))
    return ticks / _TICKS


def _rows(database: Path) -> int:
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM spans").fetchone()[0])
        except sqlite3.OperationalError:  # being written
            return 0


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=8_192)
    parser.add_argument("--request", type=int, default=128, help="spans of one request")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has the others")
    arguments = parser.parse_args()
    bodies = requests(arguments.spans, arguments.request)
    size = sum(map(len, bodies)) / arguments.spans
    print(f"{arguments.spans:,} spans of {size:,.0f} bytes in {len(bodies)} requests")
    print(f"yardstick {yardstick() * 1e6:,.0f} us")
    began = time.process_time()
    for body in bodies:
        ExportTraceServiceRequest.FromString(body)
    floor = (time.process_time() - began) / arguments.spans
    print(f"{'':28}{'stored':>8}{'CPU us/span':>13}{'spans/CPU-s':>13}{'parse x':>9}{'wall s':>8}")
    print(f"{'bare protobuf parse':28}{'':>8}{floor * 1e6:13,.1f}{1 / floor:13,.0f}{1:9,.1f}")
    makers: dict[str, Callable[[Path], Server]] = {
        "": spanproof,
        "arize-phoenix": lambda folder: phoenix(arguments.python, folder),
        "mlflow": lambda folder: mlflow(arguments.python, folder),
    }
    for package, maker in makers.items():
        if package and version_of(arguments.python, package) is None:
            print(f"{package} is not installed in {arguments.python}")
            continue
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            server = maker(Path(folder).resolve())
            taken = measure(server, bodies, arguments.spans, Path(folder))
        cost = taken.cpu_seconds / max(1, taken.stored)
        print(
            f"{server.name:28}{taken.stored:8,}{cost * 1e6:13,.1f}{1 / cost:13,.0f}{cost / floor:9,.1f}"
            f"{taken.wall_seconds:8.1f}"
        )


if __name__ == "__main__":
    main()
