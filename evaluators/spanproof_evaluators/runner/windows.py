"""Windows: the stretches of work in which progress was looked for, and which of them count."""

from dataclasses import dataclass
from typing import Literal

from spanproof_collector.model.trials import Trial, Wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One observed window. Only active ones are in the denominator of useful progress."""

    state: Literal["active", "waiting", "stale_collector"]
    useful: bool
    span_id: str


def windows(trial: Trial) -> tuple[Window, ...]:
    """Return the trial's windows in order of time (evaluators.md B03).

    A wait stops the clock when it names owner, decision, deadline and a resumable state, and until its deadline; else
    the window is active and without progress. A wait that no window reports is a window of its own.
    """
    found: list[tuple[int, Window]] = []
    told: set[int] = set()
    for one in trial.progress:
        if one.window != "waiting":
            useful = one.window == "active" and one.delta > 0
            found.append((one.time, Window(state=one.window, useful=useful, span_id=one.span_id)))
            continue
        before = [index for index, wait in enumerate(trial.waits) if wait.time <= one.time]
        index = max(before, key=lambda at: trial.waits[at].time, default=None)
        if index is not None:
            told.add(index)
        found.append((one.time, _paused(trial, None if index is None else trial.waits[index], one.time, one.span_id)))
    for index, wait in enumerate(trial.waits):
        if index not in told:
            found.append((wait.time, _paused(trial, wait, wait.time, wait.span_id)))
    return tuple(window for _, window in sorted(found, key=lambda pair: pair[0]))


def _paused(trial: Trial, wait: Wait | None, moment: int, span_id: str) -> Window:
    """Return the window of a wait. One that still goes on is looked at when the trial was last heard of."""
    until = trial.ended_at if trial.status == "waiting" else moment
    stops = wait is not None and wait.legitimate and wait.deadline is not None and until <= wait.deadline
    return Window(state="waiting" if stops else "active", useful=False, span_id=span_id)
