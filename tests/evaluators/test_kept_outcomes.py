"""What an evaluation found stands until its source is asked anew, or the evidence changes."""

import json
from dataclasses import dataclass

import pytest

from spanproof_collector.model.filters import Filter
from spanproof_collector.model.trials import Trial
from spanproof_collector.store import Store
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.suites import Suite, parse_suite
from spanproof_evaluators.model.verifications import Check, Verdict
from spanproof_evaluators.runner import assess, evaluate
from spanproof_evaluators.verifiers import VERSION
from tests.evaluators.shop import SUITE, attempt
from tests.storing import put


@dataclass(frozen=True)
class Says:
    """A source with one verdict for every trial."""

    state: Verdict
    name: str = "live"
    declared: bool = True

    def outcome(self, trial: Trial) -> Outcome | None:
        """Return the verdict, with a check that says so."""
        passed = {"verified": True, "failed": False, "unavailable": None}[self.state]
        check = Check(name="row is there", passed=passed, seen=trial.trial_id, reason="no" if passed is None else None)
        return Outcome(
            state=self.state,
            reason=self.state,
            pre_state="failed",
            effect_of_trial="caused" if self.state == "verified" else None,
            verifier=self.name,
            version=VERSION,
            checks=(check,),
        )


@pytest.fixture(scope="module")
def shop() -> Suite:
    return parse_suite(json.dumps(SUITE), name="suite.json")


def told(store: Store, suite: Suite | None = None) -> Assessment:
    (one,) = assess(store, Filter(), suite)
    return one


def judged(store: Store, suite: Suite | None, *sources: Says) -> list[str]:
    """Evaluate everything; return the names of the sources whose earlier words stand."""
    standing: list[str] = []
    list(evaluate(store, Filter(), suite, sources=sources, kept=lambda trial, names: standing.extend(names)))
    return standing


def test_an_evaluation_with_nothing_declared_keeps_what_was_found(store: Store) -> None:
    put(store, attempt("good", refunds=None))
    assert judged(store, None, Says("verified")) == []
    found = told(store)
    assert (found.outcome.state, found.outcome.effect_of_trial) == ("verified", "caused")
    assert judged(store, None) == ["live"]
    assert told(store) == found
    assert judged(store, None) == ["live"]
    assert told(store) == found


def test_a_source_that_is_asked_anew_replaces_its_word(store: Store) -> None:
    put(store, attempt("good", refunds=None))
    judged(store, None, Says("verified"))
    assert judged(store, None, Says("failed")) == []
    assert told(store).outcome.state == "failed"
    judged(store, None, Says("unavailable"))
    assert told(store).outcome.state == "unavailable"


def test_what_stands_and_what_is_found_now_decide_together(store: Store, shop: Suite) -> None:
    put(store, attempt("good"))
    judged(store, None, Says("failed"))
    assert judged(store, shop) == ["live"]
    found = told(store, shop)
    assert found.outcome.state == "failed"
    assert {check.name for check in found.outcome.checks if check.passed is False} == {"row is there"}
    assert len(found.outcome.checks) > 1


def test_recorded_evidence_does_not_outrank_declared_words_that_stand(store: Store) -> None:
    put(store, attempt("good", refunds=None))
    judged(store, None, Says("failed"))
    judged(store, None, Says("verified", name="recorded", declared=False))
    assert told(store).outcome.state == "failed"


def test_new_evidence_ends_what_was_found_on_the_old(store: Store) -> None:
    put(store, attempt("good", refunds=None))
    judged(store, None, Says("verified"))
    put(store, attempt("good", at=5))
    assert judged(store, None) == []
    assert told(store).outcome.reason == "no_verifier"


def test_without_the_suite_its_verdicts_and_its_limits_stand(store: Store, shop: Suite) -> None:
    put(store, attempt("good"))
    judged(store, shop)
    before = told(store, shop)
    assert judged(store, None) == ["shop"]
    assert told(store, shop) == before


def test_another_version_of_the_suite_replaces_what_the_first_one_found(store: Store, shop: Suite) -> None:
    put(store, attempt("good"))
    judged(store, shop)
    other = parse_suite(json.dumps({**SUITE, "id": "other"}), name="other.json")
    assert judged(store, other) == []
    assert told(store, other).outcome.verifier == "other/refund"
    assert told(store, shop).outcome.reason == "suite_changed"
