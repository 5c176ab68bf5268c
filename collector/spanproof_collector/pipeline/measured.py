"""What a pipeline tells of itself to whoever watches it."""

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Final

BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Seconds, each the upper end of a bucket; one bucket more holds what took longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is in the pipeline at one moment."""

    requests: int
    """Taken and not answered yet."""

    rows: int
    """Spans and log records that were read and are not durable yet."""

    bytes: int
    """Of those requests, as they came, and of bodies that are on their way."""


@dataclass(slots=True)
class Durations:
    """How long something took, counted by buckets."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0
    """The sum."""

    def add(self, seconds: float) -> None:
        """Count one more."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds


def kind_of(reason: str) -> str:
    """Return a reason for a rejection without what differs from case to case, so that the kinds are few."""
    return re.sub(r"(?<![\w-])\d+", "N", reason.partition(":")[0])[:80]
