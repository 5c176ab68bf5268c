"""Inversions: where the better average belongs to a variant that a gate stops."""

from collections.abc import Sequence
from decimal import Decimal

from spanproof_evaluators.model.measures import Measure, money
from spanproof_evaluators.model.reports import VariantReport

AVERAGES: tuple[tuple[str, str, bool], ...] = (
    ("task_quality", "higher task quality", True),
    ("useful_progress", "more useful progress", True),
    ("cost_per_run", "lower cost per run", False),
)
"""What looks good in a table: measure, words, and whether more is better."""


def inversions(variants: Sequence[VariantReport]) -> tuple[str, ...]:
    """Return a sentence for each pair in which a variant that fails its gate has the better averages."""
    found = []
    for worse in variants:
        if worse.decision.decision != "fail":
            continue
        for other in variants:
            if other.decision.decision == "fail":
                continue
            better = [words for average in AVERAGES if (words := _better(worse, other, *average))]
            if better:
                found.append(
                    f"{worse.name}: {_listed(better)} than {other.name}, but fails gate {worse.decision.decided_by}"
                    f" ({_why(worse)}); {other.name} {_says(other)}."
                )
    return tuple(found)


def _better(worse: VariantReport, other: VariantReport, name: str, words: str, more: bool) -> str:
    """Return the words with both numbers where the first variant's is better, else nothing."""
    mine, theirs = worse.measures[name], other.measures[name]
    if mine.value is None or theirs.value is None:
        return ""
    if name == "task_quality" and mine.note != theirs.note:
        return ""  # other graders, other scales
    ahead = mine.value > theirs.value if more else mine.value < theirs.value
    return f"{words} ({_shown(mine)}, against {_shown(theirs)})" if ahead else ""


def _shown(measure: Measure) -> str:
    """Return a mean with the number of those that it is the mean of."""
    mean = f"${money(measure.value)}" if isinstance(measure.value, Decimal) else f"{measure.value:.3f}"
    return f"{mean}, n={measure.denominator}"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _why(variant: VariantReport) -> str:
    return next(gate.explanation for gate in variant.decision.gates if gate.gate.id == variant.decision.decided_by)


def _says(variant: VariantReport) -> str:
    if variant.decision.decision == "pass":
        return "passes every gate"
    return f"is inconclusive at gate {variant.decision.decided_by}"
