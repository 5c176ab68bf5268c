"""Whether memory was flat over a run: by its level and by its floor, in which what is only in flight has no part."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import stats

_FLAT: Final = 0.05
"""What memory may grow over the time that is judged, as a part of what it is."""

_WARM: Final = 1 / 3
"""The first part of a run is not judged: caches fill, and merges come to their size."""

_WINDOWS: Final = 10
_BLOCK_SECONDS: Final = 180.0
"""Samples that are closer depend on each other: caches are emptied and parts merged every minute or two."""

_RESAMPLES: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a straight line gains over the time that is judged, in MiB, with its 95 % interval."""

    change: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return it as the report says it."""
        return f"{self.change:+,.0f} MiB (95 % interval {self.low:+,.0f} to {self.high:+,.0f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """How memory went over the last two thirds of a run, in MiB."""

    level: float
    maximum: float
    mean: Change
    """Of all samples; the interval is that of a bootstrap in blocks of three minutes."""

    floor: Change
    """Of the least in each of ten windows."""

    @property
    def flat(self) -> bool:
        """True where neither can have gained more than 5 %. Too few samples to tell is not flat."""
        return max(self.mean.high, self.floor.high) <= _FLAT * self.level


def growth(seconds: Sequence[float], rss: Sequence[float]) -> Growth:
    """Return how memory went; ``seconds`` since the start and MiB of each sample."""
    first = int(len(rss) * _WARM)
    times, levels = np.asarray(seconds[first:]), np.asarray(rss[first:])
    return Growth(
        level=float(levels.mean()),
        maximum=float(np.max(rss)),
        mean=_of_the_mean(times, levels),
        floor=_of_the_floor(times, levels),
    )


def _of_the_mean(times: np.ndarray, levels: np.ndarray) -> Change:
    span = float(times[-1] - times[0])
    slope, start = np.polyfit(times, levels, 1)
    line = slope * times + start
    residuals = levels - line
    count = len(levels)
    size = max(1, min(count, round(_BLOCK_SECONDS / span * count)))
    source = np.random.default_rng(1)
    slopes = []
    for _ in range(_RESAMPLES):
        begins = source.integers(0, count, -(-count // size))
        # blocks go around the end, so that every sample is drawn as often
        chosen = (begins[:, None] + np.arange(size)).ravel()[:count] % count
        slopes.append(np.polyfit(times, line + residuals[chosen], 1)[0])
    low, high = np.percentile(slopes, [2.5, 97.5])
    return Change(change=slope * span, low=float(low) * span, high=float(high) * span)


def _of_the_floor(times: np.ndarray, levels: np.ndarray) -> Change:
    span = float(times[-1] - times[0])
    windows = [each for each in np.array_split(np.arange(len(levels)), _WINDOWS) if len(each)]
    middles = [float(times[each].mean()) for each in windows]
    floors = [float(levels[each].min()) for each in windows]
    line = stats.linregress(middles, floors)
    reach = float(stats.t.ppf(0.975, len(windows) - 2)) * line.stderr
    return Change(change=line.slope * span, low=(line.slope - reach) * span, high=(line.slope + reach) * span)
