"""Measures what recording costs an agent: at import, per span, per tool call, at exit; ratios within one run.

Usage: ``python -m bench.instrumentation [--spans N] [--starts N]``. Each step runs beside the same work without it, in
turns, and the median of the turns counts; wall time of a start says little on a busy machine, so CPU time is taken.
"""

import argparse
import os
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.util.types import Attributes

from spanproof_instrumentation import content, settings, spans, tool
from spanproof_instrumentation.delivery import SpanDelivery
from spanproof_instrumentation.ending import Ending
from spanproof_instrumentation.outbox import Limits
from spanproof_instrumentation.redacted import redacted_spans
from spanproof_instrumentation.redaction import Redaction
from spanproof_instrumentation.run import INJECTED

TURNS: Final = 9
SDK: Final = (
    "from opentelemetry.sdk.trace import TracerProvider; "
    "from opentelemetry.sdk.trace.export import BatchSpanProcessor; "
    "from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter; "
)
ONE_LINE: Final = "from spanproof_instrumentation import configure; configure(endpoint='http://127.0.0.1:9')"
ATTRIBUTES: Final[Attributes] = {
    "gen_ai.operation.name": "chat",
    "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "' + "x" * 2000 + '"}]}]',
    "gen_ai.usage.input_tokens": 100,
}
MOST_PACKAGES: Final = 20
MOST_MEGABYTES: Final = 40.0
MOST_IMPORT_SECONDS: Final = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """CPU seconds of one unit, with the step and without it."""

    step: str
    unit: str
    seconds: float
    floor: str
    floor_seconds: float


def measure_spans(count: int) -> list[Cost]:
    """Return what a span costs beyond the SDK's own, and what redaction adds on the sending thread."""
    bare = TracerProvider(shutdown_on_exit=False)
    ours = TracerProvider(shutdown_on_exit=False)
    limits = Limits(most_waiting=10 * count * TURNS, most_in_batch=512, delay_seconds=3600)
    ending = Ending(0.0)
    ours.add_span_processor(SpanDelivery([_thrown_away], limits, ending, {"spanproof.task.id": "t"}))
    kept: list[ReadableSpan] = []

    def make(provider: TracerProvider) -> Callable[[], None]:
        tracer = provider.get_tracer("bench")

        def work() -> None:
            for _ in range(count):
                with tracer.start_as_current_span("chat", attributes=ATTRIBUTES):
                    pass

        return work

    floor, seconds = _in_turns(make(bare), make(ours))
    with ours.get_tracer("bench").start_as_current_span("chat", attributes=ATTRIBUTES) as span:
        pass
    if isinstance(span, ReadableSpan):
        kept = [span] * count
    redaction = Redaction.strictly([r"sk-\w+", r"\d{16}", "$..password"])
    nothing, redacting = _in_turns(lambda: list(kept), lambda: redacted_spans(redaction, kept))
    return [
        Cost(
            step="span, recorded and queued",
            unit="span",
            seconds=seconds / count,
            floor="SDK",
            floor_seconds=floor / count,
        ),
        Cost(
            step="redaction of a 2 KB message, 3 rules",
            unit="span",
            seconds=(redacting - nothing) / count + floor / count,
            floor="SDK span",
            floor_seconds=floor / count,
        ),
    ]


def measure_tools(count: int) -> list[Cost]:
    """Return what ``@tool`` costs a call, without a provider, with one, and with content."""
    provider = TracerProvider(shutdown_on_exit=False)
    limits = Limits(most_waiting=10 * count * TURNS, most_in_batch=512, delay_seconds=3600)
    provider.add_span_processor(SpanDelivery([_thrown_away], limits, Ending(0.0), {}))

    def look_up(order: int, deep: bool = False) -> dict[str, object]:
        return {"order": order, "deep": deep, "status": "sent"}

    decorated = tool(look_up)
    # A provider can be set once in a process; this one is for the measurement only.
    before, spans._tracer = spans._tracer, (trace.get_tracer_provider(), provider.get_tracer("bench"))
    tracer = provider.get_tracer("bench")

    def bare() -> None:
        for number in range(count):
            with tracer.start_as_current_span("execute_tool look_up"):
                look_up(number)

    def recorded() -> None:
        for number in range(count):
            decorated(number)

    found = []
    for captured in (False, True):
        content._chosen = captured  # capture() would set variables of this process too
        floor, seconds = _in_turns(bare, recorded)
        words = "with arguments and result" if captured else "without content"
        found.append(
            Cost(
                step=f"tool call, {words}",
                unit="call",
                seconds=seconds / count,
                floor="bare SDK span",
                floor_seconds=floor / count,
            )
        )
    spans._tracer = before
    content._chosen = None
    return found


def measure_starts(count: int) -> list[Cost]:
    """Return what a process pays at its start."""
    run = [sys.executable, "-m", "spanproof_instrumentation", "run", "--endpoint", "http://127.0.0.1:9", "--"]
    python = [sys.executable, "-c"]
    nothing = [*python, "pass"]
    steps: list[tuple[str, list[str], str, list[str]]] = [
        ("import spanproof_instrumentation", [*python, "import spanproof_instrumentation"], "python", nothing),
        ("configure()", [*python, SDK + ONE_LINE], "SDK + exporter", [*python, SDK + "OTLPSpanExporter()"]),
        ("python under spanproof run", nothing, "python", nothing),
        ("spanproof run itself, and python", [*run, *nothing], "python", nothing),
    ]
    costs = []
    for step, command, floor_name, floor_command in steps:
        injected = {"PYTHONPATH": INJECTED} if "under" in step else {}
        pairs = [(_cpu(floor_command, {}), _cpu(command, injected)) for _ in range(count)]
        costs.append(
            Cost(
                step=step,
                unit="start",
                seconds=statistics.median(seconds for _, seconds in pairs),
                floor=floor_name,
                floor_seconds=statistics.median(floor for floor, _ in pairs),
            )
        )
    return costs


def installed() -> tuple[list[str], float]:
    """Return the distributions that the base install brings, and their megabytes on disk."""
    names: dict[str, float] = {}
    waiting = ["spanproof"]
    while waiting:
        name = waiting.pop()
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue  # for another platform or Python
        if found.name.lower() in names:
            continue
        paths = [Path(str(found.locate_file(file))) for file in found.files or []]
        names[found.name.lower()] = sum((path.stat().st_size for path in paths if path.is_file()), 0) / 1e6
        for requirement in found.requires or []:
            if "extra ==" not in requirement:
                waiting.append(re.split(r"[^A-Za-z0-9._-]", requirement)[0])
    return sorted(names), sum(names.values())


def _thrown_away(batch: list[ReadableSpan]) -> bool:
    return True


def _in_turns(floor: Callable[[], object], work: Callable[[], object]) -> tuple[float, float]:
    taken: list[tuple[float, float]] = []
    for _ in range(TURNS):
        taken.append((_timed(floor), _timed(work)))
    return statistics.median(first for first, _ in taken), statistics.median(second for _, second in taken)


def _timed(work: Callable[[], object]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began


def _cpu(command: Sequence[str], more: Mapping[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, settings.EXIT_SECONDS: "0", **more}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=2000)
    parser.add_argument("--starts", type=int, default=7)
    arguments = parser.parse_args()
    names, megabytes = installed()
    small = len(names) <= MOST_PACKAGES and megabytes <= MOST_MEGABYTES
    goal = f"goal {MOST_PACKAGES}, {MOST_MEGABYTES:g} MB: {'reached' if small else 'missed'}"
    print(f"base install: {len(names)} packages, {megabytes:.1f} MB ({goal})")
    costs = measure_starts(arguments.starts) + measure_spans(arguments.spans) + measure_tools(arguments.spans)
    print(f"{'step':40}{'with':>12}{'without':>12}{'more':>12}{'ratio':>8}  beside")
    for cost in costs:
        unit, scale = ("ms", 1e3) if cost.unit == "start" else ("us", 1e6)
        taken = (cost.seconds, cost.floor_seconds, cost.seconds - cost.floor_seconds)
        numbers = "".join(f"{seconds * scale:9.1f} {unit}" for seconds in taken)
        print(f"{cost.step:40}{numbers}{cost.seconds / cost.floor_seconds:8.2f}  {cost.floor}")
    beside = costs[1]
    more = beside.seconds - beside.floor_seconds
    print(
        f"goal {MOST_IMPORT_SECONDS:g} s more than the SDK alone at import: {more:.3f} s, "
        f"{'reached' if more < MOST_IMPORT_SECONDS else 'missed'}"
    )


if __name__ == "__main__":
    main()
