"""The null agent: what doing nothing passes."""

import json
from dataclasses import replace

import pytest

from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.end_states import EndState
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.verifications import Verdict
from spanproof_evaluators.runner.baselines import passes_untouched
from spanproof_evaluators.stats.baselines import asks_nothing, null_adjusted, null_agent
from spanproof_evaluators.verifiers import RowsCheck, declared, judge
from tests.evaluators.factories import assessed, trial
from tests.shared import GOLDEN, needs_golden


@needs_golden
def test_the_tau_bench_airline_tasks_that_doing_nothing_passes() -> None:
    golden = json.loads((GOLDEN / "G08_null_agent_baseline_tau_airline.json").read_text())
    tasks, expected = golden["inputs"]["tasks"], golden["expected"]
    found = null_agent({name: asks_nothing(one["ref_writes"], one["expected_outputs"]) for name, one in tasks.items()})
    assert [int(name) for name in found.vacuous] == expected["vacuous_ids"]
    assert (len(found.vacuous), found.judged, found.unavailable) == (expected["vacuous"], expected["tasks"], ())
    assert found.rate == expected["rate"]
    assert null_adjusted(0.42, expected["rate"]) == pytest.approx(expected["null_adjusted_success"], abs=1e-12)


@needs_golden
def test_a_payment_that_the_start_state_holds_is_verified_without_transition() -> None:
    golden = json.loads((GOLDEN / "G32_prestate_check_agentdojo_user_task_5.json").read_text())
    rows = tuple(golden["inputs"]["pre_state"])
    before = EndState(tables={"transactions": rows})
    verifier = declared([RowsCheck(kind="rows", table="transactions", where=rows[0])])
    sent = EndState(tables={"transactions": (*rows, {"recipient": rows[0]["recipient"], "amount": 5.0})})
    for after in (before, sent):
        found = judge(verifier, before, after, name="user_task_5")
        assert (found.state, found.pre_state, found.effect_of_trial) == ("verified", "verified", "vacuous")
    required = declared([RowsCheck(kind="rows", table="transactions", where={**rows[0], "amount": 5.0})])
    assert judge(required, before, before, name="v").effect_of_trial == "unchanged"
    assert judge(required, before, sent, name="v").effect_of_trial == "caused"


def test_what_nobody_knows_is_in_no_rate() -> None:
    found = null_agent({"a": True, "b": None, "c": False, "d": False})
    assert (found.vacuous, found.judged, found.unavailable) == (("a",), 3, ("b",))
    assert found.rate == pytest.approx(1 / 3)
    assert null_agent({"b": None}).rate is None
    assert null_agent({}).rate is None


def test_where_doing_nothing_passes_everything_there_is_nothing_to_gain() -> None:
    assert null_adjusted(1.0, 1.0) is None
    assert null_adjusted(0.2, 0.2) == 0
    assert null_adjusted(0.1, 0.2) == pytest.approx(-0.125)
    with pytest.raises(ValueError, match="between 0 and 1"):
        null_adjusted(1.2, 0.0)
    with pytest.raises(ValueError, match="not negative"):
        asks_nothing(-1, 0)


def test_the_state_before_any_trial_tells_whether_a_task_passes_untouched() -> None:
    def one(task: str, pre_state: Verdict) -> Assessment:
        return replace(assessed(trial(task_id=task)), outcome=Outcome(state="verified", pre_state=pre_state))

    every = [
        *(one("a", "failed"), one("a", "verified")),
        *(one("b", "unavailable"), one("b", "failed")),
        one("c", "unavailable"),
    ]
    assert list(passes_untouched(every).values()) == [True, False, None]
