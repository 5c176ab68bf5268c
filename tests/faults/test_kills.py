"""Servers killed at every point, in two lanes side by side. How often: ``SPANPROOF_FAULT_RUNS``, over all lanes.

A lane ends after 25 kills, and another begins: the engine keeps replaced parts for eight minutes after a start, so none
is removed from a store whose servers live for seconds, and each of them has more to load than the one before.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

from spanproof_collector.store import Store
from tests.faults.__main__ import SEED, tell
from tests.faults.lane import POINTS, Lane, Summary, sum_of
from tests.faults.zygote import Zygote

_AT_ONCE = 2
_KILLS = 25
"""Of one lane."""

_RUNS = int(os.environ.get("SPANPROOF_FAULT_RUNS", "200"))
_SEED = int(os.environ.get("SPANPROOF_FAULT_SEED", SEED))


def test_whenever_the_server_is_killed_no_acknowledged_span_is_lost_or_doubled_and_no_trial_changed(
    store: Store, tmp_path: Path
) -> None:
    comparing = Lock()

    def live(first: int) -> Summary:
        folder = tmp_path / f"lane{first}"
        folder.mkdir()
        lane = Lane(zygote, folder, first, _SEED)
        try:
            lane.run(range(first, min(first + _KILLS, _RUNS)))
            with comparing:
                return lane.compare(store)
        finally:
            lane.close()

    with Zygote() as zygote, ThreadPoolExecutor(_AT_ONCE) as threads:
        summaries = list(threads.map(live, range(0, _RUNS, _KILLS)))
    summary = sum_of(summaries)
    tell(_SEED, summary)
    assert sum(summary.killed.values()) == _RUNS
    assert sum(count for point, count in summary.killed.items() if "not reached" in point) < _RUNS / 10
    if 4 * len(POINTS) <= _RUNS:
        assert summary.killed.keys() >= set(POINTS)
