"""What the soak calls flat."""

import itertools
import random

from bench.soak_memory import growth

_SECONDS = [5.0 * number for number in range(360)]
"""Half an hour."""


def _run(gain: float) -> list[float]:
    """500 MiB that rise by ``gain`` over the last two thirds, under caches that fill up and are emptied."""
    source = random.Random(3)
    fill = itertools.cycle(range(0, 30, 2))
    return [500 + gain * seconds / 1200 + next(fill) + source.gauss(0, 8) for seconds in _SECONDS]


def test_caches_that_fill_up_and_are_emptied_are_flat() -> None:
    found = growth(_SECONDS, _run(0))
    assert found.flat
    assert found.mean.low < 0 < found.mean.high


def test_a_leak_of_a_twentieth_is_not_flat() -> None:
    found = growth(_SECONDS, _run(28))
    assert not found.flat
    assert found.mean.low < 28 < found.mean.high
    assert found.floor.low < 28 < found.floor.high


def test_a_floor_that_rises_is_not_flat_under_a_ceiling_that_stays() -> None:
    levels = [
        level if number % 24 else 400 + 60 * seconds / 1200
        for number, (seconds, level) in enumerate(zip(_SECONDS, [520.0] * 360, strict=True))
    ]
    assert not growth(_SECONDS, levels).flat


def test_a_run_too_short_to_tell_is_not_flat() -> None:
    assert not growth(_SECONDS[:12], _run(0)[:12]).flat
