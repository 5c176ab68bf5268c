"""Measures rules and measures in SQL beside pulling the spans into Python, on runs of trials (``bench.trajectories``).

Usage: ``python -m bench.rules [--spans N] [--store FOLDER]``. Goals: 1,000,000 spans (40,000 trials) in one pass of
all statements, and less than 1 GB of memory in each process, the engine included. A store that is there already is
used as it is. CPU time is that of the whole process, the engine's threads included; each step is a process of its own.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from math import ceil
from pathlib import Path
from typing import Final

from bench.ingest import yardstick
from bench.storage import feed
from bench.trajectories import SPANS, TRIALS
from spanproof_collector.model.filters import Filter
from spanproof_collector.pipeline import collect_rarely
from spanproof_collector.store import Store, open_store
from spanproof_collector.trials import read_trials
from spanproof_evaluators.model.suites import Limits, Task
from spanproof_evaluators.rules import RULES
from spanproof_evaluators.rules.sql import SQL_RULES, parameters_of
from spanproof_evaluators.runner import evaluate
from spanproof_evaluators.runner.measuring.in_sql import measures_in_sql

GOAL_BYTES: Final = 1_000_000_000
TASK: Final = Task(
    id="any",
    forbidden_tools=("delete_account",),
    required_tools=("lookup_order",),
    limits=Limits(max_steps=30, max_tool_calls=20),
)
"""What every trial is asked for here, so that no rule is silent for want of a demand."""


def taken_in(store: Store, runs: int) -> str:
    """Fill the store."""
    fed = feed(store, runs)
    return f"{fed.spans:,} spans"


def evaluated(store: Store, runs: int) -> str:
    """Evaluate everything as the command does: results and the rows for SQL are stored."""
    return f"{sum(1 for _ in evaluate(store, Filter(), None)):,} trials"


def pulled(store: Store, runs: int) -> str:
    """Read every trial and ask the rules in Python, and store nothing."""
    said: Counter[str] = Counter()
    trials = 0
    for trial in read_trials(store):
        trials += 1
        said.update(found.state for rule in RULES if (found := rule.evaluate(trial, TASK)) is not None)
    return f"{trials:,} trials, {_told(said)}"


def in_sql(store: Store, runs: int) -> str:
    """Ask every statement and count what it says, inside of the engine."""
    said: Counter[str] = Counter()
    for rule in SQL_RULES.values():
        asked = rule.asked(parameters_of(TASK))
        if asked is None:
            continue
        began = time.process_time()
        counted = f"SELECT toString(state), count() FROM ({rule.statement}) GROUP BY state"
        rows = store.select(rule.name, counted, asked)
        said.update({str(state): int(str(count)) for state, count in rows})
        print(f"    {rule.name:28}{time.process_time() - began:8.2f}", flush=True)
    began = time.process_time()
    found = measures_in_sql(store)
    print(f"    {'every measure':28}{time.process_time() - began:8.2f}", flush=True)
    return f"{_told(said)}, {len(found)} measures"


STEPS: Final[Mapping[str, Callable[[Store, int], str]]] = {
    "taken in": taken_in,
    "evaluated": evaluated,
    "pulled into Python": pulled,
    "in SQL": in_sql,
}


def _told(said: Counter[str]) -> str:
    return ", ".join(f"{state} {count:,}" for state, count in sorted(said.items()))


def _step(name: str, address: str, runs: int) -> None:
    """Run one step in this process, and print what it cost."""
    if name == "taken in":
        collect_rarely()  # as the server does
    with open_store(address) as store:
        opened, began = time.process_time(), time.monotonic()
        told = STEPS[name](store, runs)
        cpu, wall = time.process_time() - opened, time.monotonic() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    goal = (
        "" if name == "taken in" else f", goal {GOAL_BYTES / 1e6:,.0f}: {'reached' if peak < GOAL_BYTES else 'missed'}"
    )
    print(f"{name:20}{cpu:10,.1f} CPU-s{wall:10,.1f} s{peak / 1e6:10,.0f} MB at most{goal}; {told}", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=100_000, help="rounded up to whole runs of 12,500")
    parser.add_argument("--store", type=Path, help="a folder for the store; one that is there is not filled again")
    parser.add_argument("--step", choices=[*STEPS], help="only this one, in this process")
    arguments = parser.parse_args()
    runs = ceil(arguments.spans / (TRIALS * SPANS))
    with tempfile.TemporaryDirectory() as folder:
        kept: Path = arguments.store or Path(folder) / "store"
        address = f"chdb://{kept.resolve()}"
        if arguments.step is not None:
            _step(arguments.step, address, runs)
            return
        print(f"{runs * TRIALS * SPANS:,} spans, yardstick {yardstick() * 1e6:,.0f} us", flush=True)
        for name in STEPS:
            if name != "taken in" or not (kept / "data").is_dir():
                command = [sys.executable, "-m", "bench.rules", "--spans", str(arguments.spans), "--store", str(kept)]
                subprocess.run([*command, "--step", name], check=True)


if __name__ == "__main__":
    main()
