"""Calls that were made again although nothing had changed since."""

from dataclasses import dataclass

from spanproof_collector.model.trials import ToolCall, Trial
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules.trajectories._calls import Calls, calls_of, first_spans, named
from spanproof_evaluators.rules.trajectories._saying import Gap, nothing_to_see, said


@dataclass(frozen=True)
class RepeatsSinceWrite:
    """Count calls whose equal was already made since the last effective write (evaluators.md B27b).

    A call is counted where an earlier call has its tool and arguments (keys sorted), no other call between the two
    changed anything, and the answers of the two are equal: polling whose result changes is no repeat. A write that
    took place opens a new stretch and is its first call, so a write made twice in a row is a repeat.
    """

    name: str = "repeats_since_write"
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Count; more than the task's ``max_repeats`` (none, where it says nothing) raises the flag."""
        empty, found = nothing_to_see(self.name, trial)
        if empty:
            return found
        calls = calls_of(trial)
        allowed = 0 if task is None or task.max_repeats is None else task.max_repeats
        sure, perhaps = repeats_since_write(calls)
        return said(
            self.name,
            trial,
            flagged=len(sure) > allowed,
            score=float(len(sure)),
            told=f"made again while nothing had changed: {named(sure)}" if sure else "none",
            spans=first_spans(sure),
            gap=_gap(calls, len(perhaps) > max(allowed, len(sure)), allowed),
        )


def repeats_since_write(calls: Calls) -> tuple[list[ToolCall], list[ToolCall]]:
    """Return the repeats that are certain, and those that may be: what nobody knows taken for the worst."""
    return _repeats(calls, certain=True), _repeats(calls, certain=False)


def _repeats(calls: Calls, *, certain: bool) -> list[ToolCall]:
    stretch: dict[str, int] = {}
    found: list[ToolCall] = []
    for at, (text, call) in enumerate(zip(calls.signatures, calls.all, strict=True)):
        if text is not None and text in stretch:
            alike = calls.same_answer(stretch[text], at)
            if alike or (alike is None and not certain):
                found.append(call)
        changed = calls.changed[at]
        if changed or (changed is None and certain):
            stretch.clear()
        if text is not None:
            stretch[text] = at
    return found


def _gap(calls: Calls, more: bool, allowed: int) -> Gap | None:
    if calls.blank > allowed:
        return "not_captured", f"the arguments of {calls.blank} calls that may be repeats are not recorded"
    if more:
        return "unknown_effect", "whether something changed between equal calls, or their answers, is not recorded"
    return None
