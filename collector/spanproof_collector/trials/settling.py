"""Whether a trial is settled: whether no more of it is to be expected. It never is for good."""

from dataclasses import dataclass
from typing import Final

from spanproof_collector.model.trials import Trial

SETTLE_SECONDS: Final = 60.0
"""Longer than exporters wait between two batches, and than they retry for at most."""

IDLE_SECONDS: Final = 600.0
_SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Settling:
    """How long nothing has to come. Seconds; 0 for no wait at all."""

    settle_seconds: float = SETTLE_SECONDS
    """After the root has ended."""

    idle_seconds: float = IDLE_SECONDS
    """Where the root is missing or never ended: it may still run, or it was killed. Never less than the other."""

    def settled(self, trial: Trial, now: int) -> bool:
        """Return whether the trial is settled at a moment, in Unix nanoseconds.

        What was imported is settled at once: a file is as long as it is, and no more of it comes by itself. So is a
        trial whose world was recorded after it: whoever did that knew that it was over.
        """
        if trial.received_at is None or any(state.phase == "after" for state in trial.end_states):
            return True
        quiet = now - trial.received_at
        if quiet < self.settle_seconds * _SECOND:
            return False
        ended = not trial.completeness.root_missing and trial.status_reason != "unfinished"
        return ended or quiet >= max(self.idle_seconds, self.settle_seconds) * _SECOND
