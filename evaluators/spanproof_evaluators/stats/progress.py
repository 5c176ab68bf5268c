"""Progress over milestones: how many were reached, step by step."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressRate:
    """Shares of a task's milestones, each between 0 and 1."""

    highest: float
    """The most that was reached at any step. It hides what was lost again, so the other two stand beside it."""

    final: float
    """What was reached at the last step."""

    area: float
    """The mean over the steps: how early it was reached."""


def progress_rate(milestones: int, reached_by_step: Sequence[int]) -> ProgressRate | None:
    """Return the progress of one trial; ``None`` without milestones or without a step that was looked at.

    Source: AgentBoard (arXiv 2401.13178), the running maximum of matched over all subgoals; golden case G30.

    Args:
        milestones: how many the task has.
        reached_by_step: how many of them held after each step, in order.

    Raises:
        ValueError: more were reached than there are, or fewer than none.
    """
    if any(not 0 <= reached <= milestones for reached in reached_by_step):
        raise ValueError(f"of {milestones} milestones 0 to {milestones} can be reached")
    if not milestones or not reached_by_step:
        return None
    return ProgressRate(
        highest=max(reached_by_step) / milestones,
        final=reached_by_step[-1] / milestones,
        area=sum(reached_by_step) / len(reached_by_step) / milestones,
    )
