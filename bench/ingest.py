"""Measures ingest in CPU-seconds beside the bare protobuf parse of the same bytes, in one run.

Usage: ``python -m bench.ingest [--spans N] [--request N]``. CPU time is that of the whole process, the engine's threads
included; wall time says little on a shared machine. The goal is 8,000 spans per CPU-second end to end at 3.2 KB a span.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from bench.traffic import requests
from spanproof_collector.otlp import WIRE, Sent, convert_traces, decode_traces
from spanproof_collector.pipeline import Writer
from spanproof_collector.store import open_store

GOAL: Final = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What one step cost for all spans."""

    step: str
    cpu_seconds: float


def measure(bodies: list[bytes], folder: Path) -> list[Timing]:
    """Run each step over the same bytes and return what each cost."""
    parse = ExportTraceServiceRequest.FromString

    def parse_all() -> None:
        for body in bodies:
            parse(body)

    timings = [_timed("bare protobuf parse", parse_all)]

    def convert() -> None:
        sent = Sent()
        for body in bodies:
            sent.add(convert_traces(decode_traces(body), sent).content)

    timings.append(_timed("decode + columns + steps", convert))
    with open_store(f"chdb://{folder.resolve()}/warm") as store:
        _ingest(Writer(store), bodies[:1])
    store = open_store(f"chdb://{folder.resolve()}/store")
    timings.append(_timed("end to end, durable", lambda: _ingest(Writer(store), bodies)))
    timings.append(_timed("close, merges that ran meanwhile", store.close))
    return timings


def _ingest(writer: Writer, bodies: list[bytes]) -> None:
    for body in bodies:
        writer.add(decode_traces(body), body, WIRE)
    writer.flush()


def _timed(step: str, action: Callable[[], object]) -> Timing:
    began = time.process_time()
    action()
    return Timing(step=step, cpu_seconds=time.process_time() - began)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=40_960)
    parser.add_argument("--request", type=int, default=512, help="spans of one request; an insert has 4096")
    arguments = parser.parse_args()
    bodies = requests(arguments.spans, arguments.request)
    size = sum(map(len, bodies))
    with tempfile.TemporaryDirectory() as folder:
        timings = measure(bodies, Path(folder))
    floor = timings[0].cpu_seconds
    print(f"{arguments.spans:,} spans, {size / arguments.spans:,.0f} bytes a span, {len(bodies)} requests")
    print(f"{'step':34}{'us/span':>9}{'spans/CPU-s':>13}{'MB/CPU-s':>10}{'x parse':>9}")
    for each in timings:
        per_span = each.cpu_seconds / arguments.spans
        print(
            f"{each.step:34}{per_span * 1e6:9.1f}{1 / per_span:13,.0f}{size / each.cpu_seconds / 1e6:10.1f}"
            f"{each.cpu_seconds / floor:9.1f}"
        )
    reached = arguments.spans / timings[2].cpu_seconds
    print(f"goal {GOAL:,} spans/CPU-s end to end: {reached:,.0f}, {'reached' if reached >= GOAL else 'missed'}")


if __name__ == "__main__":
    main()
