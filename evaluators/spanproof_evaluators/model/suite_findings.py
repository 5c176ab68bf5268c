"""What is to be said of a set of tasks before any agent is tried on it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Level: TypeAlias = Literal["ok", "note", "warning", "failure"]
"""``failure``: numbers from this set mislead; ``warning``: they say less than they seem to; ``note``: to be known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteFinding:
    """One thing that was looked at."""

    id: str
    level: Level
    says: str
    tasks: tuple[str, ...] = ()
    """The tasks that it is about, where it is about some."""

    facts: Mapping[str, object] = field(default_factory=dict)
    """The numbers, and the limits that they were held against."""


def failed(findings: Iterable[SuiteFinding]) -> bool:
    """Return whether any of them is a failure."""
    return any(one.level == "failure" for one in findings)
