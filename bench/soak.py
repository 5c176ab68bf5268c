"""Lets a server run for long at a steady load, watches what it holds, and counts every span at the end.

Usage: ``python -m bench.soak --minutes 30``. First the rate is measured that a server of its own takes from the same
senders as fast as they can, for a minute; then the run goes at 80 % of it. Senders, half over gRPC and half over HTTP,
send a request again until it is acknowledged. At the end the store must hold exactly the spans that were acknowledged.
"""

import argparse
import contextlib
import itertools
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import clickhouse_connect
from clickhouse_connect.driver import Client

from bench.soak_clients import Sent, Task, work
from bench.soak_memory import growth

_KINDS: Final = ("grpc", "http", "grpc", "http")
_ALLOCATED: Final = re.compile(r"Allocated: (\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The server at one moment."""

    seconds: float
    spans: int
    """Acknowledged since the start."""

    rss: float
    """MiB, as the next two."""

    code: float
    """Of it, what is mapped from files: the engine's and Python's code, and what of it was used so far."""

    engine: float
    """Of it, what the engine's allocator has given out."""

    files: int
    threads: int
    queue_rows: int
    parts: int


class Senders:
    """Processes that send to one server."""

    def __init__(self, grpc: str, http: str, per_request: int, first: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._counts = [context.Value("Q", 0) for _ in _KINDS]
        self._pipes = []
        self._processes = []
        for place, kind in enumerate(_KINDS):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=work,
                args=(kind, grpc if kind == "grpc" else http, first + place, per_request, theirs, self._counts[place]),
            )
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)
        for pipe in self._pipes:
            pipe.recv()  # it has made its requests

    @property
    def acknowledged(self) -> int:
        """Spans since the start."""
        return sum(int(count.value) for count in self._counts)

    def begin(self, seconds: float, rate: float | None) -> None:
        """Have them send for so long, at a rate over all."""
        until = time.monotonic() + seconds
        for pipe in self._pipes:
            pipe.send(Task(until=until, rate=None if rate is None else rate / len(_KINDS)))

    def end(self) -> list[Sent]:
        """Return what they came to, once each has its last acknowledgement."""
        return [pipe.recv() for pipe in self._pipes]

    def close(self) -> None:
        """End the processes."""
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join(30)


class Server:
    """``spanproof serve`` on a store of its own, and what can be seen of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        command = [sys.executable, "-m", "spanproof_evaluators", "serve", "--json"]
        command += ["--store", f"chdb://{folder}", "--grpc-port", "0", "--http-port", "0"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self._process.stdout is not None
        told = json.loads(self._process.stdout.readline())
        self.grpc: str = told["grpc"]
        self.http: str = told["http"]

    @contextmanager
    def client(self) -> Iterator[Client]:
        """Lend a client of the store, through the server."""
        serving = json.loads((self._folder / "serving.json").read_text())
        client = clickhouse_connect.get_client(
            host=serving["host"], port=serving["port"], password=serving["token"], database="spanproof"
        )
        try:
            yield client
        finally:
            client.close()

    def look(self, seconds: float, spans: int) -> Sample:
        """Return how it is."""
        place = Path(f"/proc/{self._process.pid}")
        status = dict(line.split(":", 1) for line in (place / "status").read_text().splitlines() if ":" in line)
        with urllib.request.urlopen(f"{self.http}/metrics", timeout=30) as answer:
            text: str = answer.read().decode()
        metrics = dict(line.rsplit(" ", 1) for line in text.splitlines() if line and line[0] != "#")
        with self.client() as client:
            ((parts,),) = client.query("SELECT count() FROM system.parts WHERE active").result_rows
            ((told,),) = client.query("SELECT stats FROM system.jemalloc_stats").result_rows
        allocated = _ALLOCATED.search(told)
        assert allocated is not None
        return Sample(
            seconds=seconds,
            spans=spans,
            rss=int(status["VmRSS"].split()[0]) / 1024,
            code=int(status["RssFile"].split()[0]) / 1024,
            engine=int(allocated[1]) / 2**20,
            files=len(os.listdir(place / "fd")),  # noqa: PTH208  # a Path would open one more
            threads=int(status["Threads"]),
            queue_rows=int(float(metrics["spanproof_queue_rows"])),
            parts=int(parts),
        )

    def count(self) -> int:
        """Return how many spans the store holds, each once; in pieces, so that counting needs little memory."""
        with self.client() as client:
            total = 0
            for prefix in range(256):
                query = "SELECT uniqExact(trace_id, span_id) FROM spans WHERE startsWith(trace_id, {prefix:String})"
                ((count,),) = client.query(query, parameters={"prefix": f"{prefix:02x}"}).result_rows
                total += int(count)
            return total

    def disk(self) -> int:
        """Return the bytes of the store's active parts."""
        with self.client() as client:
            ((size,),) = client.query("SELECT sum(bytes_on_disk) FROM system.parts WHERE active").result_rows
        return int(size)

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(60)


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """Run a server until the block ends."""
    server = Server(folder)
    try:
        yield server
    finally:
        server.stop()


def measure_rate(folder: Path, seconds: float, per_request: int) -> float:
    """Return the spans a second that a server takes from senders as fast as they can."""
    with serving(folder) as server:
        senders = Senders(server.grpc, server.http, per_request, first=0)
        try:
            began = time.monotonic()
            senders.begin(seconds, None)
            sent = senders.end()
            taken = time.monotonic() - began
        finally:
            senders.close()
        total = sum(each.acknowledged for each in sent)
        found = server.count()
        if found != total:
            raise SystemExit(f"{total} spans were acknowledged, the store has {found}")
        return total / taken


def soak(
    folder: Path, seconds: float, rate: float, per_request: int, every: float
) -> tuple[list[Sample], list[Sent], int, int]:
    """Run the load; return samples, what the senders came to, how many spans the store holds, and its bytes."""
    with serving(folder) as server:
        senders = Senders(server.grpc, server.http, per_request, first=len(_KINDS))
        try:
            began = time.monotonic()
            senders.begin(seconds, rate)
            samples = []
            while (now := time.monotonic() - began) < seconds:
                samples.append(server.look(now, senders.acknowledged))
                time.sleep(max(0.0, began + len(samples) * every - time.monotonic()))
            sent = senders.end()
        finally:
            senders.close()
        return samples, sent, server.count(), server.disk()


def table(samples: Sequence[Sample], rows: int = 15) -> list[str]:
    """Return the samples as lines of Markdown, thinned out."""
    lines = [
        "| minute | spans/s | RSS MiB | code | engine | rest | open files | threads | queued rows | parts |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    step = max(1, len(samples) // rows)
    shown = samples[::step]
    for before, each in itertools.pairwise(shown):
        rate = (each.spans - before.spans) / (each.seconds - before.seconds)
        lines.append(
            f"| {each.seconds / 60:.1f} | {rate:,.0f} | {each.rss:,.0f} | {each.code:,.0f} | {each.engine:,.0f} "
            f"| {each.rss - each.code - each.engine:,.0f} | {each.files} | {each.threads} | {each.queue_rows:,} "
            f"| {each.parts} |"
        )
    return lines


def main() -> int:
    """Run and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--measure", type=float, default=60, help="seconds of measuring the rate")
    parser.add_argument("--request", type=int, default=512, help="spans of one request")
    parser.add_argument("--share", type=float, default=0.8, help="of the measured rate")
    parser.add_argument("--every", type=float, default=5, help="seconds between two looks")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rate = measure_rate(folder / "rate", arguments.measure, arguments.request)
        print(
            f"measured: {rate:,.0f} spans/s for {arguments.measure:g} s, {len(_KINDS)} senders, every span found",
            flush=True,
        )
        samples, sent, found, size = soak(
            folder / "soak", arguments.minutes * 60, rate * arguments.share, arguments.request, arguments.every
        )
    acknowledged = sum(each.acknowledged for each in sent)
    memory = growth([each.seconds for each in samples], [each.rss for each in samples])
    print(f"\n{arguments.minutes:g} minutes at {arguments.share:.0%} of it, {rate * arguments.share:,.0f} spans/s\n")
    print("\n".join(table(samples)))
    print(
        f"\n- spans: {acknowledged:,} acknowledged, {found:,} in the store: "
        f"{'every one accounted for' if found == acknowledged else 'NOT ACCOUNTED FOR'}; "
        f"{size / max(1, found):.0f} bytes each on the disk"
    )
    print(
        f"- requests turned away and sent again: {sum(each.refused for each in sent)}; slowest acknowledgement: "
        f"{max(each.slowest for each in sent):.2f} s"
    )
    print(
        f"- memory over the last two thirds: {memory.level:,.0f} MiB, at most {memory.maximum:,.0f} in all; its line "
        f"gains {memory.mean}, the line of its floor {memory.floor}: {'flat' if memory.flat else 'NOT FLAT'}"
    )
    return 0 if found == acknowledged and memory.flat else 1


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
