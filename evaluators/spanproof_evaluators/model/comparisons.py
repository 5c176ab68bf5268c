"""A comparison: two variants on the same tasks, as often each, with what may be said of their difference."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from spanproof_evaluators.model.canonical import Plain

Word = Literal["improved", "non_inferior", "inconclusive", "regressed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What a comparison takes of one trial. ``None`` is no value; so it can be saved as a baseline and read back."""

    trial_id: str
    task_id: str | None
    category: str = ""
    left_out: str | None = None
    """Why the trial is no attempt: ``infrastructure``, ``waiting``, ``cancelled``."""

    solved: bool | None = None
    false_success: bool | None = None
    """``False`` also where nothing was claimed; ``None`` without a verdict, and where the claim could not be read."""

    aborted: bool | None = None
    cost_usd: Decimal | None = None
    tokens: int | None = None
    tool_calls: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    """What may have been varied: agent, model, version, labels of the user's."""

    evidence: str = ""
    """SHA-256 of the trial that it was taken from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One measure of both variants over the tasks that both have it for. Differences are b - a, of task means."""

    name: str
    a: float | None
    b: float | None
    difference: float | None
    """``None`` where no task has it on both sides; then ``reason`` says why."""

    standard_error: float | None
    """Of the mean over tasks, which is the clustered one."""

    interval: tuple[float, float] | None
    """Student's t, two-sided 95 %; ``None`` where all tasks differ alike: the spread is not known then."""

    lower: float | None = None
    """One-sided 95 % bound; of tasks that all end alike, the exact one on the share of losses."""

    upper: float | None = None
    p_value: float | None = None
    p_method: str | None = None
    p_adjusted: float | None = None
    """After Holm, where several categories are tested."""

    worse: int = 0
    """Tasks on which b does worse than a: below it in the solve rate, above it in all that stands beside."""

    better: int = 0
    tasks: int = 0
    unavailable: int = 0
    """Tasks that one side has no value for."""

    trials_without: int = 0
    """Trials of both sides without a value: the task's mean is over its others."""

    trials_left_out: int = 0
    """Trials of both sides that are no attempts: broken by the infrastructure, waiting, cancelled."""

    mde: float | None = None
    """The smallest change for the worse that is found in 80 of 100 comparisons; ``None`` without any spread."""

    verdict: Word | None = None
    """``None`` for what explains and does not decide."""

    reason: str | None = None

    def to_json(self) -> dict[str, Plain]:
        """Return it as JSON."""
        return {
            "name": self.name,
            "a": self.a,
            "b": self.b,
            "difference": self.difference,
            "standard_error": self.standard_error,
            "interval": list(self.interval) if self.interval else None,
            "lower": self.lower,
            "upper": self.upper,
            "p_value": self.p_value,
            "p_method": self.p_method,
            "p_adjusted": self.p_adjusted,
            "worse": self.worse,
            "better": self.better,
            "tasks": self.tasks,
            "unavailable": self.unavailable,
            "trials_without": self.trials_without,
            "trials_left_out": self.trials_left_out,
            "mde": self.mde,
            "verdict": self.verdict,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """The mean of an amount over tasks, as a ratio b / a."""

    name: str
    a: float | None
    b: float | None
    ratio: float | None
    """``None`` where a task lacks it on a side, or a's mean is 0."""

    standard_error: float | None
    """By linearization over tasks (W. G. Cochran, Sampling Techniques, 1977, section 6.3)."""

    tasks: int
    unavailable: int
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Variant b against variant a."""

    a: str
    b: str
    tasks: int
    trials: int
    """Of each variant."""

    margin: float
    solve_rate: Compared
    categories: tuple[Compared, ...]
    beside: tuple[Compared, ...]
    """What explains: false success, cost, tokens, calls."""

    growth: tuple[Growth, ...]
    """Cost, tokens and calls as ratios."""

    differing: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
    """Labels and models by which the two differ, with the values of each."""

    @property
    def verdict(self) -> Word:
        """What is said of b as a whole: of its solve rate, unless a category fell."""
        if any(one.verdict == "regressed" for one in self.categories):
            return "regressed"
        return self.solve_rate.verdict or "inconclusive"

    def to_json(self) -> dict[str, Plain]:
        """Return it as JSON."""
        return {
            "a": self.a,
            "b": self.b,
            "tasks": self.tasks,
            "trials_each": self.trials,
            "margin": self.margin,
            "verdict": self.verdict,
            "solve_rate": self.solve_rate.to_json(),
            "categories": [one.to_json() for one in self.categories],
            "beside": [one.to_json() for one in self.beside],
            "differing": {key: {"a": list(old), "b": list(new)} for key, (old, new) in self.differing.items()},
        }
