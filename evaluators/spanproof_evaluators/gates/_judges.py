"""Gates on judges: by a valid calibration or not at all."""

from collections.abc import Mapping
from decimal import Decimal

from spanproof_evaluators.model.decisions import Gate, GateResult, Verdict
from spanproof_evaluators.model.judged_rates import NOT_CALIBRATED, JudgedRate
from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.model.policies import JudgeGate, LenienceGate


def by_judges(
    spec: LenienceGate | JudgeGate, order: int, owner: str, judged: Mapping[str, JudgedRate]
) -> list[GateResult]:
    """Return what a gate says of each judge that it is on; inconclusive where there is none."""
    asked = [one for one in judged.values() if one.rubric == spec.rubric and spec.judge in (None, _name(one))]
    if not asked:
        who = f" by {spec.judge}" if spec.judge else ""
        why = f"no verdict by rubric {spec.rubric!r}{who}: ask with 'spanproof judge run'"
        return [_result(spec, order, owner, "", "inconclusive", _nothing(why), why)]
    several = len(asked) > 1
    return [_one(spec, order, owner, _name(one) if several else "", one) for one in asked]


def _one(spec: LenienceGate | JudgeGate, order: int, owner: str, name: str, one: JudgedRate) -> GateResult:
    if one.calibration is None:
        why = f"{one.corrected.reason or NOT_CALIBRATED}: {one.corrected.note}"
        return _result(spec, order, owner, name, "inconclusive", one.corrected, why)
    if isinstance(spec, LenienceGate):
        return _lenience(spec, order, owner, name, one)
    return _floor(spec, order, owner, name, one.corrected)


def _lenience(spec: LenienceGate, order: int, owner: str, name: str, one: JudgedRate) -> GateResult:
    """Return whether the judge is shown to pass no more of what fails than the policy takes."""
    assert one.calibration is not None
    rate = one.calibration.false_pass
    measure = Measure(
        value=rate.value,
        unit="trial",
        numerator=rate.numerator,
        denominator=rate.denominator,
        interval=rate.interval,
        interval_method=rate.method,
        n_units=rate.denominator,
        n_clusters=rate.denominator,
        reason=None if rate.value is not None else "no graded item fails in truth",
        note=f"graded by {one.calibration.raters.truth_by}, calibration {one.calibration.hash[:12]}",
    )
    if rate.value is None or rate.interval is None:
        return _result(spec, order, owner, name, "inconclusive", measure, str(measure.reason))
    told = f"passes {rate.numerator} of {rate.denominator} that fail in truth, up to {rate.interval[1]:.3f} at 95 %"
    decision: Verdict = "pass"
    if Decimal(str(round(rate.interval[1], 12))) > spec.at_most:
        decision = "fail"
    elif rate.denominator < spec.failing_items:
        decision, told = "inconclusive", f"{told}; {spec.failing_items} failing items are asked for"
    return _result(spec, order, owner, name, decision, measure, told)


def _floor(spec: JudgeGate, order: int, owner: str, name: str, measure: Measure) -> GateResult:
    """Return whether the corrected rate is shown to be above the floor, or below it."""
    if measure.value is None or measure.interval is None:
        why = measure.reason or "nothing is known of the spread"
        return _result(spec, order, owner, name, "inconclusive", measure, why)
    low, high = (Decimal(str(round(end, 12))) for end in measure.interval)
    told = f"{float(measure.value):.3f} of {measure.denominator}, corrected ({low:.3f}-{high:.3f}); {measure.note}"
    decision: Verdict = "inconclusive"
    if high < spec.at_least:
        decision = "fail"
    elif low >= spec.at_least and not measure.unavailable:
        decision = "pass"
    elif low >= spec.at_least:
        told = f"{told}; {measure.unavailable} without a verdict"
    else:
        told = f"{told}: neither above nor below the limit for sure"
    return _result(spec, order, owner, name, decision, measure, told)


def _result(
    spec: LenienceGate | JudgeGate,
    order: int,
    owner: str,
    name: str,
    decision: Verdict,
    measure: Measure,
    explanation: str,
) -> GateResult:
    lenience = isinstance(spec, LenienceGate)
    limit = spec.at_most if isinstance(spec, LenienceGate) else spec.at_least
    gate = Gate(
        id=f"{spec.id}:{name}" if name else spec.id,
        order=order,
        hard=spec.hard,
        measure=f"false passes by judges of {spec.rubric}" if lenience else f"pass rate by judges of {spec.rubric}",
        comparator="at_most" if lenience else "at_least",
        limit=limit,
        on_unavailable=spec.on_unavailable,
        on_empty="inconclusive",
        because=spec.because,
        owner=owner,
    )
    words = f"{'upper bound at most' if lenience else 'lower bound at least'} {limit.normalize():f}"
    return GateResult(gate=gate, decision=decision, measure=measure, limit=words, explanation=explanation)


def _name(one: JudgedRate) -> str:
    return one.evaluator.removeprefix(f"judge:{one.rubric}:")


def _nothing(why: str) -> Measure:
    return Measure(
        value=None, unit="trial", numerator=None, denominator=0, unavailable=0, n_units=0, n_clusters=0, reason=why
    )
