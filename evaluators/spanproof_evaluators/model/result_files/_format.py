"""What a file of results says, whichever format it is written in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from spanproof_evaluators.model.canonical import Plain

Item = Mapping[str, Plain]

BUDGET: Final = "budget_exhausted"
"""Why an attempt was stopped: its own budget. It failed."""

INFRASTRUCTURE: Final = "infrastructure"
"""Why an attempt has no verdict: something broke that is not the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRow:
    """One attempt as it was written down. ``None`` is: not written down."""

    task: str
    attempt: int
    passed: bool | None
    """``None``: it has no verdict, and ``reason`` says why."""

    reason: str = ""
    score: float | None = None
    steps: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    aborted: bool | None = None
    details: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryRow:
    """What a trajectory evaluator said of one trajectory."""

    steps: int
    errors: int
    repeats: int
    tools: tuple[str, ...]
    findings: tuple[str, ...]
    clean: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRow:
    """One line of a journal of failures."""

    task: str
    result: str
    layer: str
    """By its English name; as it stands there, where it is none of the five."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSummary:
    """A baseline as percentages without counts, and the mean number of steps."""

    overall: float
    categories: Mapping[str, float]
    mean_steps: float | None
    mean_tokens: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFile:
    """What stands in a file of results."""

    format: str
    attempts: tuple[AttemptRow, ...] = ()
    trajectories: tuple[TrajectoryRow, ...] = ()
    journal: tuple[JournalRow, ...] = ()
    summary: ScoreSummary | None = None
    stated: Mapping[str, float] = field(default_factory=dict)
    """Figures that the file gives, by the names that it gives them."""

    doubts: tuple[str, ...] = ()
    """Where what the file states is not what its rows say, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFormat:
    """A way of writing results down."""

    name: str
    required: frozenset[str]
    optional: frozenset[str]
    read: Callable[[Sequence[Item]], ResultFile]
    """Given the objects of the file, whose keys are known. Raises ``ValueError`` where a value is none."""

    @property
    def keys(self) -> frozenset[str]:
        """Every key that it knows."""
        return self.required | self.optional


def number(item: Item, key: str) -> float | None:
    """Return a number; ``None`` where there is none.

    Raises:
        ValueError: it is something else.
    """
    value = item.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{key} is {value!r}, and no number")
    return float(value)


def count(item: Item, key: str) -> int | None:
    """Return a whole number; ``None`` where there is none.

    Raises:
        ValueError: it is something else.
    """
    value = number(item, key)
    if value is not None and (value < 0 or not value.is_integer()):
        raise ValueError(f"{key} is {value:g}, and no count")
    return None if value is None else int(value)


def text(item: Item, key: str) -> str:
    """Return a text.

    Raises:
        ValueError: it is something else.
    """
    value = item.get(key)
    if not isinstance(value, str):
        raise ValueError(f"{key} is {value!r}, and no text")
    return value


def truth(item: Item, key: str) -> bool:
    """Return a truth value.

    Raises:
        ValueError: it is something else.
    """
    value = item.get(key)
    if not isinstance(value, bool):
        raise ValueError(f"{key} is {value!r}, and neither true nor false")
    return value


def texts(item: Item, key: str) -> tuple[str, ...]:
    """Return a list of texts.

    Raises:
        ValueError: it is something else.
    """
    value = item.get(key)
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"{key} is no list of texts")
    return tuple(str(one) for one in value)
