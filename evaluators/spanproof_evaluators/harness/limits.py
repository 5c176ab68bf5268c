"""What a run may take: by the task, else by the run, and what is counted where the system tells."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spanproof_evaluators.harness import _launch
from spanproof_evaluators.model.suites import Limits

SECONDS: Final = 300.0
PROCESSES: Final = 256
DISK_BYTES: Final = 1_000_000_000
OUTPUT_BYTES: Final = 10_000_000
"""Where a task sets no limit of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The limits that a process is held to. Reaching one is within it."""

    seconds: float = SECONDS
    processes: int = PROCESSES
    disk_bytes: int = DISK_BYTES
    output_bytes: int = OUTPUT_BYTES
    places: tuple[Path, ...] = ()
    """The folders in which it writes."""

    there: int = 0
    """The bytes that lay there when it began."""

    @classmethod
    def of(cls, limits: Limits, places: tuple[Path, ...]) -> "Held":
        """Return the limits of a task over folders as they are now."""
        return cls(
            seconds=SECONDS if limits.max_seconds is None else limits.max_seconds,
            processes=PROCESSES if limits.max_processes is None else limits.max_processes,
            disk_bytes=DISK_BYTES if limits.max_disk_bytes is None else limits.max_disk_bytes,
            output_bytes=OUTPUT_BYTES if limits.max_output_bytes is None else limits.max_output_bytes,
            places=places,
            there=size_of(places),
        )

    @property
    def seconds_words(self) -> str:
        """What is said of an agent that took too long."""
        return f"more than {self.seconds:g} seconds"

    @property
    def output_words(self) -> str:
        """What is said of an agent that said too much."""
        return f"more than {self.output_bytes:,} bytes of output"

    def passed(self, launcher: int, *, namespace: bool) -> str:
        """Return the limit of processes or disk that is passed, in words; empty where none is."""
        running = len(_launch.descendants(launcher)) - (1 if namespace else 0)  # its first process is ours
        if running > self.processes:
            return f"{running} processes at once, limit {self.processes}"
        grown = size_of(self.places) - self.there
        if grown > self.disk_bytes:
            return f"{grown:,} bytes more on disk, limit {self.disk_bytes:,}"
        return ""


def size_of(places: tuple[Path, ...]) -> int:
    """Return the bytes that lie in folders. What vanishes meanwhile counts as nothing."""
    total = 0
    left = [os.fspath(place) for place in places]
    while left:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        total += entry.stat(follow_symlinks=False).st_size
        except OSError:
            continue
    return total
