"""What an agent gets that does nothing: the tasks whose checks the untouched start state meets (B16)."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NullAgent:
    """The tasks that doing nothing passes."""

    vacuous: tuple[str, ...]
    """Their ids, in the order in which the tasks came."""

    judged: int
    """Tasks of which it is known."""

    unavailable: tuple[str, ...]
    """Tasks of which it is not."""

    @property
    def rate(self) -> float | None:
        """The part of the judged tasks that doing nothing passes; ``None`` where no task was judged."""
        return len(self.vacuous) / self.judged if self.judged else None


def null_agent(untouched: Mapping[str, bool | None]) -> NullAgent:
    """Return what doing nothing passes.

    Args:
        untouched: by task, whether its checks pass on the start state with no answer given; ``None``: nobody knows.
    """
    return NullAgent(
        vacuous=tuple(task for task, passes in untouched.items() if passes is True),
        judged=sum(passes is not None for passes in untouched.values()),
        unavailable=tuple(task for task, passes in untouched.items() if passes is None),
    )


def asks_nothing(reference_writes: int, expected_outputs: int) -> bool:
    """Return whether a task passes untouched whose checks are that the reference writes and outputs are there."""
    if reference_writes < 0 or expected_outputs < 0:
        raise ValueError("counts are not negative")
    return reference_writes == 0 and expected_outputs == 0


def null_adjusted(rate: float, null: float) -> float | None:
    """Return a success rate as a part of what doing nothing leaves: ``(rate - null) / (1 - null)``.

    0 is what doing nothing gets, 1 is every task. ``None`` where doing nothing passes every task: then nothing is left.

    Raises:
        ValueError: one of them is no rate.
    """
    if not (0 <= rate <= 1 and 0 <= null <= 1):
        raise ValueError("rates lie between 0 and 1")
    return None if null == 1 else (rate - null) / (1 - null)
