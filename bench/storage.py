"""Measures what a span takes on disk and what reading one trial costs, on runs of trials (``bench.trajectories``).

Usage: ``python -m bench.storage [--spans N]``. Goals: 550 bytes a span on disk, all tables together, as the
engine's own merges leave them; under 40 CPU-milliseconds to read one trajectory. CPU time is that of the whole process,
the engine's threads included.
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from pydoc_data import topics
from typing import Final

from backports import zstd

from bench.ingest import yardstick
from bench.trajectories import SPANS, TRIALS, requests, trial_label
from bench.words import Words
from spanproof_collector.model.filters import Filter
from spanproof_collector.otlp import WIRE, decode_traces
from spanproof_collector.pipeline import Writer, collect_rarely
from spanproof_collector.store import Store, open_store
from spanproof_collector.store.engine import DATABASE
from spanproof_collector.trials import read_trials

GOAL_BYTES: Final = 550
GOAL_READ_MS: Final = 40
_READS: Final = 30
_SETTLE_S: Final = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fed:
    """What was taken in, and what that cost."""

    spans: int
    size: int
    cpu_seconds: float


def feed(store: Store, runs: int) -> Fed:
    """Take in so many runs; making them is not counted."""
    writer = Writer(store)
    size = 0
    cpu = 0.0
    for body in requests(runs):
        began = time.process_time()
        writer.add(decode_traces(body).request, body, WIRE)
        cpu += time.process_time() - began
        size += len(body)
    began = time.process_time()
    writer.flush()
    settle(store)
    cpu += time.process_time() - began
    return Fed(spans=runs * TRIALS * SPANS, size=size, cpu_seconds=cpu)


def settle(store: Store) -> None:
    """Wait until the engine merges nothing any more.

    Raises:
        TimeoutError: it still does after two minutes.
    """
    quiet, until = 0, time.monotonic() + _SETTLE_S
    while quiet < 10:
        merging = _ask(store, "SELECT count() FROM system.merges")[0][0]
        quiet = quiet + 1 if merging == "0" else 0
        if time.monotonic() > until:
            raise TimeoutError("the engine is still merging")
        time.sleep(0.05)


def on_disk(store: Store) -> list[tuple[str, int, int]]:
    """Return for each table its name, how many parts it has and its bytes."""
    sql = (
        f"SELECT table, count(), sum(bytes_on_disk) FROM system.parts WHERE active AND database = '{DATABASE}' "
        "GROUP BY table ORDER BY table"
    )
    return [(table, int(parts), int(size)) for table, parts, size in _ask(store, sql)]


def _ask(store: Store, sql: str) -> list[list[str]]:
    if store.engine is None:
        raise ValueError("only of the embedded engine can the parts be asked")
    session = store.engine.session()
    try:
        return [line.split("\t") for line in session.query(sql, "TSV").bytes().decode().splitlines()]
    finally:
        session.close()


def _cpu_ms(action: Callable[[int, int], None], trials: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """Return median and greatest CPU-milliseconds of an action on each trial."""
    costs = []
    for run, trial in trials:
        began = time.process_time()
        action(run, trial)
        costs.append((time.process_time() - began) * 1e3)
    return statistics.median(costs), max(costs)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=100_000, help="rounded up to whole runs of 12,500")
    arguments = parser.parse_args()
    runs = ceil(arguments.spans / (TRIALS * SPANS))
    collect_rarely()  # as the server does
    prose, made = "\n".join(topics.topics.values()).encode(), Words(7).text(500_000).encode()
    print(
        f"zstd -3 makes of {len(made):,} bytes of this text 1/{_ratio(made):.2f}, "
        f"of Python's manual ({len(prose):,} bytes) 1/{_ratio(prose):.2f}"
    )
    with tempfile.TemporaryDirectory() as folder, open_store(f"chdb://{Path(folder).resolve()}/store") as store:
        fed = feed(store, runs)
        print(
            f"{fed.spans:,} spans of {fed.size / fed.spans:,.0f} bytes; taken in at "
            f"{fed.spans / fed.cpu_seconds:,.0f} spans/CPU-s, every merge included; yardstick "
            f"{yardstick() * 1e6:,.0f} us"
        )
        tables = on_disk(store)
        for table, parts, size in tables:
            print(f"  {table:16}{parts:4} parts{size / fed.spans:9.1f} bytes a span")
        total = sum(size for _, _, size in tables) / fed.spans
        _print_goal("on disk", total, GOAL_BYTES, "bytes a span")
        _read(store, runs)


def _read(store: Store, runs: int) -> None:
    source = random.Random(1)
    chosen = [(source.randrange(runs), source.randrange(TRIALS)) for _ in range(_READS)]
    keys = {
        trial.trial_id: (trial.project, trial.steps[0].trace_id)
        for trial in read_trials(store, Filter(trials=tuple(trial_label(*each) for each in chosen)))
    }

    def trace(run: int, trial: int) -> None:
        (records,) = store.read_traces([keys[trial_label(run, trial)]]).values()
        if len(records.spans) != SPANS or records.lost:
            raise AssertionError(f"{len(records.spans)} spans of {SPANS}, {len(records.lost)} values lost")

    def whole(run: int, trial: int) -> None:
        (found,) = read_trials(store, Filter(trials=(trial_label(run, trial),)))
        if len(found.steps) < SPANS:
            raise AssertionError(f"{len(found.steps)} steps of {SPANS}")

    for name, action in (("spans of one trace", trace), ("one trial, found by its label", whole)):
        action(*chosen[0])
        median, most = _cpu_ms(action, chosen)
        _print_goal(f"{name} (median of {_READS}, most {most:.1f})", median, GOAL_READ_MS, "CPU-ms")


def _print_goal(what: str, found: float, goal: float, unit: str) -> None:
    print(f"{what}: {found:,.1f} {unit}, goal {goal:,}: {'reached' if found <= goal else 'missed'}")


def _ratio(text: bytes) -> float:
    return len(text) / len(zstd.compress(text, 3))


if __name__ == "__main__":
    main()
