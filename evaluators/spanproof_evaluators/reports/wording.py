"""Wording: how measures, claims and effects are called and shown, on every kind of report alike."""

import unicodedata
from collections import Counter
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.measures import Measure, money

FEW_TASKS: Final = 30
"""Below this many tasks the counts come first: five trials are 0/5, and no proof of a rate of zero (R052)."""

SIGNALS: Final[Mapping[str, str]] = {
    "evidence_coverage": "Evidence coverage",
    "task_quality": "Task quality",
    "useful_progress": "Useful progress",
    "effect_integrity": "Effect integrity",
    "cost_per_verified_outcome": "Cost per verified outcome",
    "false_success_rate": "False success rate",
}
"""The five signals and the coverage that stands next to them."""

BESIDE: Final[Mapping[str, str]] = {
    "solve_rate": "Solve rate",
    "solve_rate_without_vacuous": "Solve rate without vacuous tasks",
    "aborted_rate": "Aborted",
    "cost_per_run": "Cost per run",
    "unverified_completions": "Unverified completions",
    "unknown_effects": "Unknown effects",
    "silent_failure_share": "Claimed success among failures",
    "constraint_violations": "Constraint violations",
}
"""What explains the signals."""


def clean(text: str) -> str:
    """Return text from a trace without what could steer a terminal: controls and invisible marks shown as escapes."""
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co")
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def one_line(text: str, longest: int = 160) -> str:
    """Return text cleaned, on one line and cut where it is long."""
    flat = " ".join(clean(text).split())
    return flat if len(flat) <= longest else flat[: longest - 1] + "…"


def ratio(value: float | Decimal | None, places: int = 3) -> str:
    """Return a ratio rounded half up as a decimal, never as a binary float."""
    if value is None:
        return "unavailable"
    step = Decimal(1).scaleb(-places)
    return format(Decimal(str(value)).quantize(step, rounding=ROUND_HALF_UP), "f")


def value(measure: Measure) -> str:
    """Return the value alone."""
    if measure.value is None:
        return "unavailable"
    return f"${money(Decimal(measure.value))}" if measure.unit == "usd" else ratio(measure.value)


def counts(measure: Measure) -> str:
    """Return numerator over denominator; for a mean of scores, how many of those that should be graded were."""
    if measure.unit == "usd":
        return f"${Decimal(measure.numerator or 0):f} / {measure.denominator}"
    if measure.numerator is None or isinstance(measure.numerator, float):
        graded = measure.denominator or 0
        return f"{graded}/{graded + measure.unavailable} graded"
    return f"{measure.numerator}/{measure.denominator}"


def beside(measure: Measure) -> str:
    """Return what stands beside the number: what is unavailable and excluded, the interval, the reason, the note."""
    parts = []
    if measure.unavailable:
        parts.append(f"{measure.unavailable} unavailable")
    parts.extend(f"{count} {reason.replace('_', ' ')} left out" for reason, count in sorted(measure.excluded.items()))
    if measure.bounds and measure.unavailable:
        low, high = measure.bounds
        if measure.unit == "usd":
            parts.append(f"at least ${money(Decimal(low or 0))}")
        elif low is not None and high is not None:
            parts.append(f"worst to best {ratio(low)} to {ratio(high)}")
    if measure.interval:
        parts.append(f"95 % [{ratio(measure.interval[0])}, {ratio(measure.interval[1])}]")
    if measure.reason:
        parts.append(measure.reason)
    if measure.note:
        parts.append(measure.note)
    return "; ".join(parts)


def headline(measure: Measure, tasks: int) -> str:
    """Return the number with its counts: the counts first while there are few tasks."""
    if measure.value is None:
        return f"unavailable ({counts(measure)})" if measure.denominator else "unavailable"
    if measure.unit == "usd" or isinstance(measure.numerator, float):
        return f"{value(measure)} ({counts(measure)})"
    if tasks < FEW_TASKS:
        return f"{counts(measure)} ({value(measure)})"
    return f"{value(measure)} ({counts(measure)})"


def claim(one: Assessment) -> str:
    """Return what was claimed; a claim of success without a verdict is called unproven."""
    state = one.trial.claim.state
    return "success, UNPROVEN" if one.unproven else state


def outcome(one: Assessment) -> str:
    """Return the verdict on the end state, and whether the trial brought it about."""
    found = one.outcome
    if found.state == "unavailable":
        return f"unavailable: {found.reason}"
    return f"{found.state} ({found.effect_of_trial})" if found.effect_of_trial else found.state


def effects(one: Assessment) -> str:
    """Return how many effects are in each state; reads are none."""
    states: Counter[str] = Counter(call.effect.state for call in one.trial.tool_calls if call.effect.state != "none")
    order = ("failed", "unknown", "reported", "verified", "refused")
    return ", ".join(f"{states[state]} {state}" for state in order if states[state]) or "none"


def yes_no(value: bool | None) -> str:
    """Return three values in words."""
    return "open" if value is None else "yes" if value else "no"


def why_listed(one: Assessment) -> str:
    """Return why a trial needs a look, or nothing where it needs none."""
    if one.false_success:
        return "false success"
    if one.unknown:
        return "unknown effect"
    if one.unproven:
        return "unproven claim"
    broken = [result.evaluator for result in one.results if result.state == "fail" and result.label != "diagnostic"]
    if broken:
        return ", ".join(name.replace("_", " ") for name in broken)
    return "outcome failed" if one.outcome.state == "failed" else ""
