"""Deciding: what a policy says of one variant's measures."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from spanproof_evaluators.model.decisions import Decision, Gate, GateResult, Verdict
from spanproof_evaluators.model.measures import Measure, money


def decide(policy: Sequence[Gate], measures: Mapping[str, Measure], *, no_effects_expected: bool = False) -> Decision:
    """Return the decision: the first hard gate that fails decides, else what keeps it open, else it passes.

    Every gate is evaluated. ``no_effects_expected`` says that every task declares that it is done without effects.
    """
    found = [judge(gate, measures, no_effects_expected) for gate in sorted(policy, key=lambda gate: gate.order)]
    return Decision.of(found)


def judge(gate: Gate, measures: Mapping[str, Measure], no_effects_expected: bool) -> GateResult:
    """Return what one gate says."""
    measure = measures[gate.measure]
    decision, explanation = _say(gate, measure, measures, no_effects_expected)
    return GateResult(
        gate=gate, decision=decision, measure=measure, limit=_limit(gate, measure), explanation=explanation
    )


def _say(
    gate: Gate, measure: Measure, measures: Mapping[str, Measure], no_effects_expected: bool
) -> tuple[Verdict, str]:
    """Return the verdict and its reason."""
    if gate.needs_verdict is not None and not (verdicts := measures[gate.needs_verdict]).numerator:
        return gate.on_empty, f"no verdict at all: {verdicts.reason or f'0 of {verdicts.denominator}'}"
    if measure.empty:
        if gate.measure == "effect_integrity" and no_effects_expected:
            return "pass", "no effect was attempted, and the tasks expect none"
        return gate.on_empty, measure.reason or "nothing to measure"
    counts = f"{_plain(measure.numerator)} of {measure.denominator}"
    if gate.what == "numerator":
        kept = _kept(gate, Decimal(str(measure.numerator)))
    elif measure.value is None:
        return gate.on_unavailable, measure.reason or "unavailable"
    else:
        kept = _kept(gate, Decimal(str(measure.value)))
        counts = f"{_shown(measure)} ({counts})"
    about = f", {measure.note}" if measure.note else ""
    if not kept:
        return "fail", f"{counts}{about}"
    if measure.unavailable:
        return gate.on_unavailable, f"{counts}, {measure.unavailable} unavailable{about}"
    return "pass", f"{counts}{about}"


def _kept(gate: Gate, value: Decimal) -> bool:
    """Return whether a number keeps the limit; the limit itself is within it."""
    return value >= gate.limit if gate.comparator == "at_least" else value <= gate.limit


def _limit(gate: Gate, measure: Measure) -> str:
    """Return the limit in words."""
    limit = f"${money(gate.limit)}" if measure.unit == "usd" else f"{gate.limit.normalize():f}"
    word = "at least" if gate.comparator == "at_least" else "at most"
    return f"{word} {limit}" + ("" if gate.what == "value" else f" {measure.unit}s")


def _shown(measure: Measure) -> str:
    """Return a value for reading."""
    if isinstance(measure.value, Decimal):
        return f"${money(measure.value)}"
    return f"{measure.value:.3f}"


def _plain(value: float | Decimal | None) -> str:
    """Return a count for reading."""
    return f"{value:g}" if isinstance(value, float) else f"{value}"
