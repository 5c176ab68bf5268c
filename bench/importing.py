"""Imports 100,000 spans from files of each kind, in bounded memory, beside the bare protobuf parse of the same bytes.

Usage: ``python -m bench.importing [--spans N] [--kinds otlp-protobuf,…]``. Each kind is imported in a process of its
own, on Linux. The table gives spans per second of wall time and of CPU time (all threads, the engine's included), and
the peak of the process's memory over what it had before the import; the engine's own buffers are in it.
"""

import argparse
import json
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from bench.traffic import requests
from spanproof_collector.importers import import_paths
from spanproof_collector.store import open_store

_PER_REQUEST: Final = 512
_CALLS: Final = 5
"""Calls of a conversation; with its answers that is eleven spans and the root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one import cost. Seconds, and bytes."""

    kind: str
    spans: int
    size: int
    wall: float
    cpu: float
    memory: int


def _protobuf(spans: int) -> Iterator[bytes]:
    yield from requests(spans, _PER_REQUEST)


def _json_lines(spans: int) -> Iterator[bytes]:
    for body in requests(spans, _PER_REQUEST):
        yield _spelled(body) + b"\n"


def _json_document(spans: int) -> Iterator[bytes]:
    """One document, as large as all of it: it is read group by group."""
    yield b'{"resourceSpans": ['
    for number, body in enumerate(requests(spans, _PER_REQUEST)):
        groups = json.loads(_spelled(body))["resourceSpans"]
        yield (b"," if number else b"") + ",".join(map(json.dumps, groups)).encode()
    yield b"]}"


def _spelled(body: bytes) -> bytes:
    """Return a request as OTLP/JSON, whose ids are hex where protobuf's own JSON has base64."""
    request = ExportTraceServiceRequest.FromString(body)
    told = MessageToDict(request)
    for group, sent in zip(told["resourceSpans"], request.resource_spans, strict=True):
        for scope, own in zip(group["scopeSpans"], sent.scope_spans, strict=True):
            for span, each in zip(scope["spans"], own.spans, strict=True):
                span |= {"traceId": each.trace_id.hex(), "spanId": each.span_id.hex(), "kind": each.kind}
                span |= {"parentSpanId": each.parent_span_id.hex()} if each.parent_span_id else {}
    return json.dumps(told).encode()


def _messages(spans: int) -> Iterator[bytes]:
    """Conversations, one a line."""
    words = "The order has been looked up and its status is on the way to the customer. " * 8
    for number in range(spans // (2 * _CALLS + 2)):
        messages: list[object] = [{"role": "user", "content": f"{number} {words}"}]
        for call in range(_CALLS):
            asked = {"id": f"c{call}", "type": "function", "function": {"name": "look", "arguments": '{"order": 7}'}}
            messages += [
                {"role": "assistant", "content": None, "tool_calls": [asked]},
                {"role": "tool", "tool_call_id": f"c{call}", "content": words},
            ]
        messages.append({"role": "assistant", "content": words})
        yield json.dumps({"id": f"s{number}", "messages": messages}).encode() + b"\n"


KINDS: Final[Mapping[str, Callable[[int], Iterator[bytes]]]] = {
    "otlp-protobuf": _protobuf,
    "otlp-json-lines": _json_lines,
    "otlp-json-document": _json_document,
    "openai-messages": _messages,
}


def _memory(field: str) -> int:
    """Return what Linux says of this process's memory under this field, in bytes."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(f"{field}:")]
    return int(line.split()[1]) * 1024


def _forget_peak() -> int:
    """Let the peak begin anew, and return what memory there is now. A new process has its parent's peak."""
    Path("/proc/self/clear_refs").write_text("5")
    return _memory("VmRSS")


def measure(kind: str, spans: int) -> Measured:
    """Write a file of this kind, import it in a process of its own, and return what that cost."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "recorded"
        with file.open("wb") as out:
            for part in KINDS[kind](spans):
                out.write(part)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            return pool.apply(_import, (kind, file, Path(folder) / "store"))


def _import(kind: str, file: Path, store: Path) -> Measured:
    with open_store(f"chdb://{store.resolve()}") as opened:
        before = _forget_peak()
        wall, cpu = time.perf_counter(), time.process_time()
        found = import_paths(opened, [file])
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        if found.rejected:
            raise SystemExit(f"{kind}: {found.rejected[0]}")
        return Measured(
            kind=kind,
            spans=found.spans,
            size=file.stat().st_size,
            wall=wall,
            cpu=cpu,
            memory=_memory("VmHWM") - before,
        )


def bare_parse(spans: int) -> float:
    """Return how many spans a second protobuf alone parses, of CPU time."""
    bodies = requests(spans, _PER_REQUEST)
    began = time.process_time()
    for body in bodies:
        ExportTraceServiceRequest.FromString(body)
    return spans / (time.process_time() - began)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=100_000)
    parser.add_argument("--kinds", default=",".join(KINDS), help="of: " + ", ".join(KINDS))
    given = parser.parse_args()
    print(f"{'kind':<20} {'spans':>8} {'MB':>7} {'spans/s':>9} {'per CPU-s':>10} {'memory, MB':>11}")
    for kind in given.kinds.split(","):
        one = measure(kind, given.spans)
        print(
            f"{one.kind:<20} {one.spans:>8} {one.size / 1e6:>7.0f} {one.spans / one.wall:>9.0f} "
            f"{one.spans / one.cpu:>10.0f} {one.memory / 1e6:>11.0f}"
        )
    print(f"bare protobuf parse of the first kind's bytes: {bare_parse(given.spans):.0f} spans per CPU-second")


if __name__ == "__main__":
    main()
