"""Gates: order, three values, and no way to improve a decision by losing evidence."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeAlias

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spanproof_collector.model.trials import EffectState, Trial
from spanproof_evaluators.gates import decide, release_policy
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.decisions import Decision
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.verifications import Verdict
from spanproof_evaluators.runner import assess_trial, measure
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


OUTCOMES: tuple[Verdict, ...] = ("verified", "failed", "unavailable")


@dataclass(frozen=True, kw_only=True)
class Said:
    """A verdict that somebody gave."""

    verdict: Verdict
    name: str = "test"
    declared: bool = True

    def outcome(self, trial: Trial) -> Outcome:
        """Return the verdict on any trial."""
        return Outcome(state=self.verdict, reason=self.verdict, verifier=self.name)


Attempted: TypeAlias = tuple[EffectState, str, str]
"""The state of a call's effect, the resource that it is to change, and what its receipt saw."""

Spec: TypeAlias = tuple[Verdict, tuple[Attempted, ...]]
"""The verdict on a trial, and its calls."""

LOST: Mapping[str, tuple[EffectState, ...]] = {
    "verified": ("failed", "unknown", "reported"),
    "failed": ("unknown", "reported"),
}
LEARNED: Mapping[str, tuple[EffectState, ...]] = {"reported": ("failed", "unknown"), "unknown": ("failed",)}
"""Bad news of what nobody had looked at: it settles the gate that asks for an explicit state, and fails another one."""


def judged(specs: Sequence[Spec]) -> list[Assessment]:
    """Return the trials with what the rules say of them."""
    found = []
    for number, (verdict, attempted) in enumerate(specs):
        calls = [
            call(state=state, resource=resource, operation="refund", observed=seen, span_id=f"{number:08x}{at:08x}")
            for at, (state, resource, seen) in enumerate(attempted)
        ]
        one = trial(f"t{number}", calls=calls, windows=progress(1, 1))
        found.append(assess_trial(one, None, [Said(verdict=verdict)]))
    return found


def losses(spec: Spec) -> list[Spec]:
    """Return the trial with one receipt, effect or verdict failed, unknown or missing."""
    verdict, calls = spec
    worse: list[Spec] = [(other, calls) for other in OUTCOMES if verdict == "verified" and other != verdict]
    if verdict == "failed":
        worse.append(("unavailable", calls))
    return worse + _moved(spec, LOST)


def bad_news(spec: Spec) -> list[Spec]:
    """Return the trial with one effect or verdict failed of which nothing was known."""
    verdict, calls = spec
    worse: list[Spec] = [("failed", calls)] if verdict == "unavailable" else []
    return worse + _moved(spec, LEARNED)


def _moved(spec: Spec, moves: Mapping[str, tuple[EffectState, ...]]) -> list[Spec]:
    verdict, calls = spec
    return [
        (verdict, (*calls[:at], (other, resource, seen), *calls[at + 1 :]))
        for at, (state, resource, seen) in enumerate(calls)
        for other in moves.get(state, ())
    ]


attempted = st.tuples(st.sampled_from(STATES), st.sampled_from(["A", "B"]), st.sampled_from(["row 1", "row 2"]))
specs = st.lists(
    st.tuples(st.sampled_from(OUTCOMES), st.lists(attempted, max_size=3).map(tuple)), min_size=1, max_size=3
)


def drawn(data: st.DataObject, specs: list[Spec], worse: Callable[[Spec], list[Spec]]) -> list[Spec]:
    """Return the trials with one of them made worse."""
    at = data.draw(st.integers(0, len(specs) - 1))
    others = worse(specs[at])
    assume(others)
    return [*specs[:at], data.draw(st.sampled_from(others)), *specs[at + 1 :]]


@settings(deadline=None, max_examples=200)
@given(specs=specs, data=st.data())
def test_losing_evidence_opens_no_gate(specs: list[Spec], data: st.DataObject) -> None:
    whole, less = (decided(*judged(of)) for of in (specs, drawn(data, specs, losses)))
    opened = {gate for gate, decision in said(less).items() if decision == "pass" and said(whole)[gate] != "pass"}
    # Of two receipts for one change the one that fails says that it took place once: the gate on effects then fails.
    assert opened <= {"constraints"}
    assert not opened or said(less)["effect_integrity"] == "fail"
    assert less.decision != "pass" or whole.decision == "pass"


@settings(deadline=None, max_examples=100)
@given(specs=specs, data=st.data())
def test_bad_news_never_turns_a_decision_into_pass(specs: list[Spec], data: st.DataObject) -> None:
    assert decided(*judged(drawn(data, specs, bad_news))).decision != "pass"


@pytest.mark.parametrize(
    ("worse", "gate"),
    [(good("b", effect="unknown"), "effect_integrity"), (good("b", outcome="unavailable"), "false_success")],
)
def test_a_gate_does_not_pass_while_something_it_asks_for_is_unavailable(worse: Assessment, gate: str) -> None:
    assert said(decided(good(), worse))[gate] == "inconclusive"


def test_effects_that_may_be_unseen_open_no_gate_on_effects() -> None:
    blind = assessed(trial("blind", calls=[], calls_whole=False, windows=progress(1, 1)))
    alone = decided(blind, no_effects=True)
    assert said(alone)["unknown_effects"] == said(alone)["effect_integrity"] == "inconclusive"
    for found in (measure([blind])["unknown_effects"], measure([blind])["effect_integrity"]):
        assert (found.value, found.denominator, found.unavailable) == (None, 0, 1)
        assert found.reason == "none is recorded, and calls of 1 trial may be unseen"
    beside = decided(good(), blind)
    assert said(beside)["unknown_effects"] == said(beside)["effect_integrity"] == "inconclusive"
    assert measure([good(), blind])["unknown_effects"].bounds == (0, 0.5)
    whole = decided(good(), good("b", effect=None))
    assert said(whole)["unknown_effects"] == said(whole)["effect_integrity"] == "pass"
