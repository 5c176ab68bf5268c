"""Deciding by a policy: each gate judged in its order, with what it measured and how often it is wrong."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import TypeAlias, assert_never

from spanproof_evaluators.errors import PolicyError
from spanproof_evaluators.gates import error_rates
from spanproof_evaluators.gates._decide import judge
from spanproof_evaluators.gates._judges import by_judges
from spanproof_evaluators.model.comparisons import Compared, Comparison
from spanproof_evaluators.model.decisions import Decision, ErrorRates, Gate, GateResult, Verdict
from spanproof_evaluators.model.judged_rates import JudgedRate
from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.model.policies import (
    AnyGate,
    CategoryGate,
    DropGate,
    GrowthGate,
    JudgeGate,
    LenienceGate,
    LimitGate,
    Policy,
)
from spanproof_evaluators.model.suites import REFUSALS
from spanproof_evaluators.stats.sequential import BLOCKS_AT, e_value

NO_BASELINE = "no baseline was given"

_BY_K = re.compile(r"pass_(at|hat)_[1-9][0-9]*(_without_vacuous)?")
"""Measures that are there for each k that a task has trials for."""

Evidence: TypeAlias = Callable[[float], float]
"""What all nights show together, from what this one shows."""


def tonight_alone(evidence: float) -> float:
    """Return the evidence of one night where there were none before."""
    return evidence


def decide_by(
    policy: Policy,
    measures: Mapping[str, Measure],
    *,
    categories: Mapping[str, Measure],
    comparison: Comparison | None,
    together: Evidence = tonight_alone,
    no_effects_expected: bool = False,
    judged: Mapping[str, JudgedRate] | None = None,
) -> Decision:
    """Return what a policy says of a variant.

    Args:
        policy: the gates in their order.
        measures: the variant's, by name.
        categories: its solve rate by category of tasks.
        comparison: with the baseline; ``None`` where there is none, and gates that need one are unavailable.
        together: the evidence of all nights from this one's, for gates by e-value.
        no_effects_expected: every task declares that it is done without effects.
        judged: the rates by judges, by evaluator.

    Raises:
        PolicyError: a gate names a measure that there is not.
    """
    found: list[GateResult] = []
    for number, spec in enumerate(policy.gates, start=1):
        if isinstance(spec, LenienceGate | JudgeGate):
            found += by_judges(spec, number, spec.owner or policy.owner, judged or {})
            continue
        for result in _judged(spec, number, policy, measures, categories, comparison, together, no_effects_expected):
            found.append(result)
    return Decision.of(found)


def _judged(
    spec: LimitGate | CategoryGate | DropGate | GrowthGate,
    order: int,
    policy: Policy,
    measures: Mapping[str, Measure],
    categories: Mapping[str, Measure],
    comparison: Comparison | None,
    together: Evidence,
    no_effects_expected: bool,
) -> Iterator[GateResult]:
    owner = spec.owner or policy.owner
    match spec:
        case LimitGate():
            for name in (spec.measure, spec.needs_verdict):
                if name is not None and name not in measures:
                    if not _BY_K.fullmatch(name):
                        raise PolicyError(policy.id, f"gates.{spec.id}", f"there is no measure {name!r}")
                    measures = {**measures, name: _nothing("no task has so many judged trials")}
            yield _by_limit(_limit_gate(spec, order, owner), measures, no_effects_expected)
        case CategoryGate():
            named = (spec.category, *(sorted(REFUSALS) if spec.category in REFUSALS else ()))
            known = [categories[name] for name in named if name in categories]
            measure = known[0] if known else _nothing(f"no task of category {spec.category!r}")
            gate = _gate(spec, order, owner, f"solve_rate of {spec.category}", spec.at_least, "at_least")
            yield _by_limit(gate, {gate.measure: measure}, no_effects_expected=False)
        case DropGate():
            missing = NO_BASELINE if comparison is None else "no task has a category"
            looked_at = _compared(spec, comparison)
            among = sum(one is not None and one.p_adjusted is not None for _, one in looked_at)
            for name, one in looked_at:
                yield _by_drop(spec, order, owner, name, one, together, missing, among)
        case GrowthGate():
            yield _by_growth(spec, order, owner, comparison)
        case _:
            assert_never(spec)


def _limit_gate(spec: LimitGate, order: int, owner: str) -> Gate:
    limit = spec.at_least if spec.at_least is not None else spec.at_most
    gate = _gate(
        spec, order, owner, spec.measure, limit or Decimal(0), "at_least" if spec.at_most is None else "at_most"
    )
    return replace(gate, what=spec.what, on_empty=spec.on_empty, needs_verdict=spec.needs_verdict)


def _gate(spec: AnyGate, order: int, owner: str, measure: str, limit: Decimal, comparator: str, name: str = "") -> Gate:
    return Gate(
        id=f"{spec.id}:{name}" if name else spec.id,
        order=order,
        hard=spec.hard,
        measure=measure,
        comparator="at_least" if comparator == "at_least" else "at_most",
        limit=limit,
        on_unavailable=spec.on_unavailable,
        on_empty=spec.on_unavailable,
        because=spec.because,
        owner=owner,
    )


def _by_limit(gate: Gate, measures: Mapping[str, Measure], no_effects_expected: bool) -> GateResult:
    found = judge(gate, measures, no_effects_expected)
    return replace(found, errors=error_rates.of_limit(gate, measures[gate.measure]))


def _compared(spec: DropGate, comparison: Comparison | None) -> list[tuple[str, Compared | None]]:
    """Return what the gate looks at: the whole, or each category."""
    if comparison is None:
        return [("", None)]
    if spec.of == "all":
        return [("", comparison.solve_rate)]
    return [(one.name, one) for one in comparison.categories] or [("", None)]


def _by_drop(
    spec: DropGate,
    order: int,
    owner: str,
    name: str,
    found: Compared | None,
    together: Evidence,
    missing: str,
    among: int,
) -> GateResult:
    gate = _gate(spec, order, owner, "solve_rate against the baseline", spec.at_most, "at_most", name)
    limit = f"a drop of at most {spec.at_most * 100:f} points, {spec.rule}"
    if found is None or found.difference is None:
        why = missing if found is None else found.reason or "nothing was compared"
        return GateResult(gate=gate, decision=spec.on_unavailable, measure=_nothing(why), limit=limit, explanation=why)
    measure = Measure(
        value=found.difference,
        unit="task",
        numerator=found.difference * found.tasks,
        denominator=found.tasks,
        excluded={"left_out": found.trials_left_out} if found.trials_left_out else {},
        unavailable=found.unavailable,
        interval=found.interval,
        interval_method="t_95_of_task_differences" if found.interval else "none: a single task",
        n_units=found.tasks,
        n_clusters=found.tasks,
        note=f"{found.worse} tasks worse, {found.better} better, trials without a verdict {found.trials_without}",
    )
    decision, words = _drop_verdict(spec, found, together)
    if decision == "pass" and (found.unavailable or found.trials_without):
        decision, words = spec.on_unavailable, f"{words}, but {found.reason or 'a task has no value'}"
    errors = error_rates.of_drop(
        found, float(spec.at_most), spec.rule, inconclusive_stops=spec.on_inconclusive != "pass", among=among
    )
    return GateResult(gate=gate, decision=decision, measure=measure, limit=limit, explanation=words, errors=errors)


def _drop_verdict(spec: DropGate, found: Compared, together: Evidence) -> tuple[Verdict, str]:
    drop = Decimal(str(round(-(found.difference or 0.0), 12)))
    told = f"{-drop * 100:+.1f} points"
    if spec.rule == "point":
        return ("fail" if drop > spec.at_most else "pass"), told
    if spec.rule == "e_value":
        evidence = together(e_value(found.worse, found.better))
        return (
            "fail" if evidence >= BLOCKS_AT else "pass"
        ), f"{told}, evidence {evidence:.3g} (stops at {BLOCKS_AT:g})"
    open_ended = f"a larger drop is neither shown nor ruled out, the policy says {spec.on_inconclusive}"
    if found.lower is None or found.upper is None:
        return spec.on_inconclusive, f"{told}, nothing is known of the spread: {open_ended}"
    told += f", 95 % one-sided bounds {found.lower * 100:+.1f} and {found.upper * 100:+.1f}"
    if found.lower > -float(spec.at_most):
        return "pass", told
    if found.p_adjusted is not None:  # one of several categories, each of which falls by chance now and then
        told += f", p {found.p_adjusted:.3g} after Holm"
    if found.upper < 0 < drop and (found.p_adjusted is None or found.verdict == "regressed"):
        return "fail", told
    return spec.on_inconclusive, f"{told}: {open_ended}"


def _by_growth(spec: GrowthGate, order: int, owner: str, comparison: Comparison | None) -> GateResult:
    gate = _gate(spec, order, owner, f"{spec.of} against the baseline", spec.at_most, "at_most")
    limit = f"at most {spec.at_most.normalize():f} times"
    found = next((one for one in comparison.growth if one.name == spec.of), None) if comparison else None
    if found is None or found.ratio is None or found.b is None or not found.a:
        why = (found.reason if found else None) or NO_BASELINE
        return GateResult(gate=gate, decision=spec.on_unavailable, measure=_nothing(why), limit=limit, explanation=why)
    measure = Measure(
        value=found.ratio,
        unit="task",
        numerator=found.ratio * found.tasks,
        denominator=found.tasks,
        n_units=found.tasks,
        n_clusters=found.tasks,
        interval_method="none: see the error rates",
        note=f"mean {found.b:.4g} against {found.a:.4g}",
    )
    decision: Verdict = "fail" if Decimal(str(round(found.ratio, 12))) > spec.at_most else "pass"
    errors: ErrorRates | None = error_rates.of_growth(found, float(spec.at_most))
    words = f"{found.ratio:.3f} times: {measure.note}"
    return GateResult(gate=gate, decision=decision, measure=measure, limit=limit, explanation=words, errors=errors)


def _nothing(why: str) -> Measure:
    return Measure(
        value=None, unit="task", numerator=None, denominator=0, unavailable=0, n_units=0, n_clusters=0, reason=why
    )
