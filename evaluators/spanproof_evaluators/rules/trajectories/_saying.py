"""How a rule on the course of a trial says what it found. A flag that is seen stands, whatever else is missing."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.rules._rule import UNSEEN

Gap: TypeAlias = tuple[str, str]
"""Reason and explanation of evidence that is missing."""


def said(
    name: str,
    trial: Trial,
    *,
    flagged: bool,
    score: float,
    told: str,
    spans: tuple[str, ...] = (),
    gap: Gap | None = None,
    details: Mapping[str, Plain] | None = None,
) -> Result:
    """Return ``fail`` where the flag is raised; else ``unavailable`` where evidence is missing; else ``pass``."""
    if not flagged and gap is None and not trial.completeness.calls_whole:
        gap = "not_captured", f"none seen, but {UNSEEN}"
    if not flagged and gap is not None:
        return unavailable(name, *gap)
    state: Literal["fail", "pass"] = "fail" if flagged else "pass"
    return Result(
        evaluator=name,
        state=state,
        score=score,
        label="diagnostic",
        explanation=told,
        span_ids=spans,
        details=details or {},
    )


def unavailable(name: str, reason: str, explanation: str) -> Result:
    """Return a diagnostic that has no verdict, and why."""
    return Result.unavailable(name, reason=reason, explanation=explanation, label="diagnostic")


def nothing_to_see(name: str, trial: Trial) -> tuple[bool, Result | None]:
    """Return whether a trial has no call to look at, and what is to be said then: nothing, or that none was seen."""
    if not trial.understood:
        return True, unavailable(name, "not_captured", "no dialect recognizes any span")
    if trial.tool_calls:
        return False, None
    whole = trial.completeness.calls_whole
    return True, None if whole else unavailable(name, "not_captured", f"none seen, but {UNSEEN}")
