"""Servers killed at every point, in two lanes side by side. How often: ``SPANPROOF_FAULT_RUNS``, over both lanes."""

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from spanproof_collector.store import Store
from tests.faults.__main__ import SEED, tell
from tests.faults.lane import POINTS, Lane
from tests.faults.zygote import Zygote

_LANES = 2
_RUNS = int(os.environ.get("SPANPROOF_FAULT_RUNS", "200"))
_SEED = int(os.environ.get("SPANPROOF_FAULT_SEED", SEED))


def test_whenever_the_server_is_killed_no_acknowledged_span_is_lost_or_doubled_and_no_trial_changed(
    store: Store, tmp_path: Path
) -> None:
    with Zygote() as zygote, ThreadPoolExecutor(_LANES) as threads:
        lanes = []
        for number in range(_LANES):
            folder = tmp_path / f"lane{number}"
            folder.mkdir()
            lanes.append(Lane(zygote, folder, number, _SEED))
        try:
            list(threads.map(lambda number: lanes[number].run(range(number, _RUNS, _LANES)), range(_LANES)))
            for lane in lanes:
                tell(_SEED, lane.compare(store))
        finally:
            for lane in lanes:
                lane.close()
    killed = sum((lane.summary.killed for lane in lanes), Counter[str]())
    assert sum(killed.values()) == _RUNS
    assert sum(count for point, count in killed.items() if "not reached" in point) < _RUNS / 10
    if 4 * len(POINTS) <= _RUNS:
        assert killed.keys() >= set(POINTS)
