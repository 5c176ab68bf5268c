"""Gates: order, three values, and no way to improve a decision by losing evidence."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanproof_collector.model.trials import EffectState
from spanproof_evaluators.gates import decide, release_policy
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.decisions import Decision
from spanproof_evaluators.model.verifications import Verdict
from spanproof_evaluators.runner import measure
from tests.evaluators.factories import assessed, call, progress, trial

STATES: tuple[EffectState, ...] = ("verified", "failed", "reported", "unknown")


def decided(*trials: Assessment, no_effects: bool = False) -> Decision:
    return decide(release_policy(), measure(trials), no_effects_expected=no_effects)


def good(name: str = "good", *, outcome: Verdict = "verified", effect: EffectState | None = "verified") -> Assessment:
    calls = [] if effect is None else [call(state=effect, observed="row", resource=name)]
    return assessed(trial(name, calls=calls, windows=progress(1, 1)), outcome)


def said(decision: Decision) -> dict[str, str]:
    return {gate.gate.id: gate.decision for gate in decision.gates}


def test_evidence_for_everything_passes() -> None:
    assert decided(good()) == replace(decided(good()), decision="pass", decided_by=None)


@pytest.mark.parametrize(
    ("trials", "by"),
    [
        ([good(), good("b", outcome="failed")], "false_success"),
        ([good(), good("b", effect="unknown")], "unknown_effects"),
        ([good(), good("b", outcome="unavailable")], "unverified_completions"),
        ([good(), good("b", effect="reported")], "coverage"),
        ([good(), good("b", effect="failed")], "effect_integrity"),
        # Golden case G33: twenty declared completions without a verdict are no evidence.
        ([good(str(n), outcome="unavailable") for n in range(20)], "coverage"),
        ([assessed(trial(claim="none", windows=progress(1, 1)), "verified")], "coverage"),
    ],
)
def test_the_first_hard_gate_that_fails_decides(trials: list[Assessment], by: str) -> None:
    found = decided(*trials)
    assert (found.decision, found.decided_by) == ("fail", by)


def test_all_gates_are_evaluated_after_one_has_failed() -> None:
    found = decided(good(outcome="failed", effect="failed"))
    assert [gate.gate.order for gate in found.gates] == [1, 2, 3, 4, 5, 6, 7]
    assert said(found)["effect_integrity"] == "fail"


def test_a_soft_gate_that_fails_is_left_to_a_person() -> None:
    found = decided(assessed(trial(calls=good().trial.tool_calls, windows=progress(1, 3))))
    assert (found.decision, found.decided_by) == ("inconclusive", "useful_progress")


def test_no_effect_passes_only_where_the_tasks_say_so() -> None:
    assert said(decided(good(effect=None)))["effect_integrity"] == "inconclusive"
    assert said(decided(good(effect=None), no_effects=True))["effect_integrity"] == "pass"


def test_a_ceiling_of_cost_that_cannot_be_checked_is_not_kept() -> None:
    trials = [good(), assessed(trial("b", usd=None, windows=progress(1, 1)))]
    found = decide(release_policy(cost_per_verified_outcome_max=Decimal("9")), measure(trials))
    assert said(found)["cost_per_verified_outcome"] == "inconclusive"


def test_a_limit_is_kept_at_the_limit() -> None:
    policy = release_policy(cost_per_verified_outcome_max=Decimal("0.10"))
    assert said(decide(policy, measure([good()])))["cost_per_verified_outcome"] == "pass"


ORDER = {"fail": 0, "inconclusive": 1, "pass": 2}
OUTCOMES: tuple[Verdict, ...] = ("verified", "failed", "unavailable")


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(OUTCOMES), st.sampled_from(STATES)), min_size=1, max_size=4),
    st.data(),
)
def test_losing_evidence_never_turns_a_failing_gate_into_a_passing_one(
    rows: list[tuple[Verdict, EffectState]], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(rows) - 1))
    outcome, effect = rows[at]
    worse: list[tuple[Verdict, EffectState]] = [(outcome, "failed"), (outcome, "unknown"), (outcome, "reported")]
    worse += [("failed", effect), ("unavailable", effect)]
    degraded = [*rows[:at], data.draw(st.sampled_from(worse)), *rows[at + 1 :]]

    def decision(of: list[tuple[Verdict, EffectState]]) -> str:
        return decided(*(good(f"t{n}", outcome=one, effect=state) for n, (one, state) in enumerate(of))).decision

    if decision(rows) != "pass":
        assert decision(degraded) != "pass"


@pytest.mark.parametrize(
    ("worse", "gate"),
    [(good("b", effect="unknown"), "effect_integrity"), (good("b", outcome="unavailable"), "false_success")],
)
def test_a_gate_does_not_pass_while_something_it_asks_for_is_unavailable(worse: Assessment, gate: str) -> None:
    assert said(decided(good(), worse))[gate] == "inconclusive"
