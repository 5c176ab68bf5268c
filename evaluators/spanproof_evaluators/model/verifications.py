"""A verification: what a verifier found in the end state, check by check."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Self

Verdict = Literal["verified", "failed", "unavailable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One predicate, and its receipt: what it saw, where, when, and by which definition.

    ``passed`` is ``None`` where it could not run; then ``reason`` says why.
    """

    name: str
    passed: bool | None
    seen: str = ""
    """The evidence: rows, paths, counts."""

    reason: str | None = None
    """A word for machines: why it could not run."""

    kind: str = ""
    destination: str | None = None
    """Where it looked, as it is written: secrets stay references. ``None``: at what was recorded."""

    time: int | None = None
    """When the state was seen, in Unix nanoseconds: of a recorded one, when it was recorded."""

    definition: str = ""
    """SHA-256 of what was asked, the program included where there is one."""

    weight: float | None = None
    """What it counts in the score; ``None`` where its author gave no weight, which is 1 beside others' weights."""

    required: bool = True
    score: float | None = None
    """A part between 0 and 1, where a predicate of one's own gave one."""

    @property
    def worth(self) -> float:
        """Its weight."""
        return 1.0 if self.weight is None else self.weight

    @property
    def earned(self) -> float:
        """What it adds to the score."""
        if self.score is not None:
            return self.worth * self.score
        return self.worth if self.passed else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What the checks say together."""

    state: Verdict
    checks: tuple[Check, ...] = ()
    reason: str | None = None
    score: float | None = None
    """The weight of what passed, as a part of all weights. ``None``: nobody gave weights, or a check could not run."""

    @classmethod
    def of(cls, checks: Iterable[Check], *, pass_score: float | None = None) -> Self:
        """Return what the checks say together. No check at all proves nothing.

        The required ones stand in conjunction: one failure fails, else one gap leaves it open; and where a score is
        asked for, it must be reached too. A gap counts for neither side: what it could add decides only where it
        cannot change the answer.
        """
        every = tuple(checks)
        if not every:
            return cls(state="unavailable", reason="no_verifier")
        gaps = [check for check in every if check.passed is None]
        score = None
        if not gaps and (pass_score is not None or any(c.weight is not None or c.score is not None for c in every)):
            score = _part(every, 0.0)
        required = [check for check in every if check.required]
        if any(check.passed is False for check in required):
            return cls(state="failed", checks=every, score=score)
        if pass_score is not None and _part(every, 1.0) < pass_score:
            return cls(state="failed", checks=every, score=score)
        open_ = [check for check in required if check.passed is None]
        if pass_score is not None and _part(every, 0.0) < pass_score:
            open_ = open_ or gaps
        elif pass_score is None and not required:
            return cls(state="unavailable", checks=every, reason="nothing_required", score=score)
        if open_:
            return cls(state="unavailable", checks=every, reason=open_[0].reason or "check_could_not_run")
        return cls(state="verified", checks=every, score=score)


def _part(checks: tuple[Check, ...], gap: float) -> float:
    """Return the part of all weights that is earned where each gap earns such a part of its own.

    A sum of parts such as 0.1 + 0.2 is no binary number: what is a billionth short of a limit reaches it.
    """
    earned = sum(check.worth * gap if check.passed is None else check.earned for check in checks)
    return round(earned / sum(check.worth for check in checks), 9)
