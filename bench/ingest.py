"""Measures ingest in CPU-seconds beside the bare protobuf parse of the same bytes, in one run.

Usage: ``python -m bench.ingest [--spans N] [--request N]``. CPU time is that of the whole process, the engine's threads
included. End to end is what the server does with a request that has come, without the socket. The goals, at 3.2 KB a
span: 12,000 spans per CPU-second end to end, every merge included, and 30,000 for conversion alone.

On a shared machine a busy neighbor stretches CPU-seconds by a factor of two and more. So each step is timed block by
block, and the table shows all blocks together and the best one: the best tells what the code costs, all what it cost
here. The yardstick, a fixed Python loop, says how the machine stood.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from bench.traffic import requests
from spanproof_collector.otlp import Sent, convert_plain_traces, convert_traces, decode_traces
from spanproof_collector.pipeline import collect_rarely
from spanproof_collector.pipeline.committing import commit
from spanproof_collector.pipeline.converting import convert_body
from spanproof_collector.pipeline.writing import BLOCK_ROWS
from spanproof_collector.store import open_store

GOALS: Final = (("decode + columns + steps", 30_000), ("end to end, durable", 12_000))


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What one step cost, in CPU-seconds for each block of BLOCK_ROWS spans."""

    step: str
    blocks: tuple[float, ...]


def measure(bodies: list[bytes], per_block: int, folder: Path) -> list[Timing]:
    """Run each step over the same bytes, ``per_block`` requests at a time, and return what each cost."""
    blocks = [bodies[first : first + per_block] for first in range(0, len(bodies), per_block)]
    sent = Sent()

    def parse(block: list[bytes]) -> None:
        for body in block:
            ExportTraceServiceRequest.FromString(body)

    def convert(block: list[bytes]) -> None:
        for body in block:
            batch = convert_plain_traces(body, sent)
            sent.add((batch or convert_traces(decode_traces(body).request, sent)).content)

    timings = [_timed("bare protobuf parse", parse, blocks), _timed("decode + columns + steps", convert, blocks)]
    with open_store(f"chdb://{folder.resolve()}/store") as store:
        stored = Sent()

        def ingest(block: list[bytes]) -> None:
            commit(store, [convert_body("traces", body, "protobuf", "", stored) for body in block], stored)

        timings.append(_timed("end to end, durable", ingest, blocks))
    return timings


def _timed(step: str, action: Callable[[list[bytes]], None], blocks: list[list[bytes]]) -> Timing:
    costs = []
    for block in blocks:
        began = time.process_time()
        action(block)
        costs.append(time.process_time() - began)
    return Timing(step=step, blocks=tuple(costs))


def yardstick() -> float:
    """Return the CPU-seconds of a fixed amount of Python, the median of some runs."""
    runs = []
    for _ in range(15):
        began = time.thread_time()
        numbers = {str(number): number for number in range(500)}
        total = 0
        for _ in range(20):
            for text in numbers:
                if isinstance(text, str) and len(text) > 2:
                    total += numbers.get(text, 0)
        runs.append(time.thread_time() - began)
    return statistics.median(runs)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=40_960)
    parser.add_argument("--request", type=int, default=512, help=f"spans of one request; an insert has {BLOCK_ROWS}")
    arguments = parser.parse_args()
    collect_rarely()  # as the server does
    bodies = requests(arguments.spans, arguments.request)
    span_bytes = sum(map(len, bodies)) / arguments.spans
    before = yardstick()
    with tempfile.TemporaryDirectory() as folder:
        timings = measure(bodies, max(1, BLOCK_ROWS // arguments.request), Path(folder))
    print(f"{arguments.spans:,} spans of {span_bytes:,.0f} bytes in {len(bodies)} requests")
    print(f"{'':26}{'all blocks':^36}{'best block':^36}")
    print(f"{'step':26}" + f"{'us/span':>8}{'spans/CPU-s':>12}{'MB/CPU-s':>9}{'parse x':>7}" * 2)
    floor = timings[0]
    for each in timings:
        total = (sum(each.blocks) / arguments.spans, sum(floor.blocks) / arguments.spans)
        best = (min(each.blocks) / BLOCK_ROWS, min(floor.blocks) / BLOCK_ROWS)
        print(f"{each.step:26}" + _cells(*total, span_bytes) + _cells(*best, span_bytes))
    print(f"yardstick before and after: {before * 1e6:,.0f} and {yardstick() * 1e6:,.0f} us")
    for step, goal in GOALS:
        blocks = next(each.blocks for each in timings if each.step == step)
        for name, cost in (("all blocks", sum(blocks) / arguments.spans), ("best", min(blocks) / BLOCK_ROWS)):
            found = 1 / cost
            print(f"{step}, goal {goal:,}, {name}: {found:,.0f} {'reached' if found >= goal else 'missed'}")


def _cells(cost: float, floor: float, span_bytes: float) -> str:
    return f"{cost * 1e6:8.1f}{1 / cost:12,.0f}{span_bytes / cost / 1e6:9.1f}{cost / floor:7.1f}"


if __name__ == "__main__":
    main()
