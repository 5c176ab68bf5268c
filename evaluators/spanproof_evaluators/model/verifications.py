"""A verification: what a verifier found in the end state, check by check."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Self

Verdict = Literal["verified", "failed", "unavailable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One predicate, and what it saw. ``passed`` is ``None`` where it could not run; then ``reason`` says why."""

    name: str
    passed: bool | None
    seen: str = ""
    """The evidence: rows, paths, counts."""

    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What the checks say together."""

    state: Verdict
    checks: tuple[Check, ...] = ()
    reason: str | None = None

    @classmethod
    def of(cls, checks: Iterable[Check]) -> Self:
        """Return the conjunction: one failure fails, else one gap leaves it open. No check at all proves nothing."""
        every = tuple(checks)
        if not every:
            return cls(state="unavailable", reason="no_verifier")
        failed = [check for check in every if check.passed is False]
        if failed:
            return cls(state="failed", checks=every, reason=None)
        gaps = [check for check in every if check.passed is None]
        if gaps:
            return cls(state="unavailable", checks=every, reason=gaps[0].reason or "check_could_not_run")
        return cls(state="verified", checks=every)
