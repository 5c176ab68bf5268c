"""Rates by judges: corrected or not told; gates on them: by a valid calibration, and never alone."""

import json
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import pytest

from spanproof_evaluators.errors import PolicyError
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.calibrations import Calibration
from spanproof_evaluators.model.decisions import Decision
from spanproof_evaluators.model.documents import parse_document
from spanproof_evaluators.model.judgements import Judge, as_json
from spanproof_evaluators.model.labels import Labels, Rater
from spanproof_evaluators.model.policies import Policy
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.runner import gate, report
from spanproof_evaluators.runner.calibrating import calibrate
from spanproof_evaluators.runner.judged_rates import judged_rates
from tests.evaluators.calibration.graded import NOW, given, judge, record, say, sheet, table, verdict
from tests.evaluators.factories import assessed, trial

EVALUATOR = "judge:supported:openai:gauge-1"
CORRECTED, POWERED = f"pass_rate {EVALUATOR}", f"pass_rate_powered {EVALUATOR}"


def judged(
    states: Sequence[bool | None], by: Judge | None = None, *, at: int = NOW, first: int = 0, a_task: int = 1
) -> list[Assessment]:
    """Return trials with these verdicts on their answers; ``first`` is the number of the first answer."""
    who = by or judge()
    found = []
    for place, state in enumerate(states):
        said = verdict(given(first + place).hash, state, who, at)
        result = Result(
            evaluator=who.evaluator,
            version=who.hash,
            kind="judge",
            state=said.state,
            reason=said.reason,
            details={"judgement": as_json(said)},
        )
        one = assessed(trial(f"trial-{place:03}", task_id=f"task-{place // a_task}", variant="v"))
        found.append(replace(one, judges=(result,)))
    return found


def policy(*gates: dict[str, object]) -> Policy:
    """Return a policy of these gates, and one on what was checked."""
    checked = {"kind": "limit", "id": "solved", "measure": "solve_rate", "at_least": 0.5}
    text = json.dumps({"id": "p", "owner": "me", "gates": [checked, *gates]})
    return parse_document(Policy, text, "p.json", PolicyError)


LENIENCE: dict[str, object] = {"kind": "lenience", "id": "lenience", "rubric": "supported", "at_most": 0.25}
FLOOR: dict[str, object] = {"kind": "judge", "id": "floor", "rubric": "supported", "at_least": 0.6}


def decide(trials: Sequence[Assessment], known: Sequence[Calibration], *gates: dict[str, object]) -> Decision:
    return gate(trials, policy(*gates), name="v", calibrations=known)[0]


def test_a_rate_is_corrected_as_the_golden_file_has_it() -> None:
    # G15: 42 of 50 passed by a judge with 25 + 1 and 5 + 9 graded: 0.799, from 0.540 to 1
    rate = judged_rates(judged([True] * 42 + [False] * 8), [record(25, 5, 9, 1)], suite_hash=None)[EVALUATOR]
    assert rate.corrected.reason == "judge_not_calibrated"  # calibrated on forty of these answers, not on all fifty
    labels, verdicts = table(25, 5, 9, 1)
    whole = _of_population(labels, 50)
    trials = judged([True] * 42 + [False] * 8)
    found = judged_rates(trials, [calibrate(whole, judge(), verdicts, at=NOW)])[EVALUATOR].corrected
    assert found.value == pytest.approx(0.7989090909090908)
    assert found.interval == pytest.approx((0.5398442320564278, 1))
    assert (found.denominator, found.unavailable, found.interval_method) == (50, 0, "lee_95")
    assert found.numerator == pytest.approx(0.7989090909090908 * 50)


def _of_population(labels: Labels, count: int) -> Labels:
    """Return the same labels on a sample of a larger population."""
    larger = sheet(count, drawn=len(labels.items))
    for label in labels.standing.values():
        larger.take(label)
    return larger


def test_several_trials_of_a_task_widen_the_interval() -> None:
    labels, verdicts = table(40, 2, 30, 2)
    known = [calibrate(_of_population(labels, 100), judge(), verdicts, at=NOW)]
    states = [True] * 60 + [False] * 40
    alone = judged_rates(judged(states), known)[EVALUATOR].corrected
    of_tasks = judged_rates(judged(states, a_task=5), known)[EVALUATOR].corrected
    assert alone.interval is not None
    assert of_tasks.interval is not None
    assert of_tasks.value == alone.value
    assert of_tasks.interval[0] < alone.interval[0] < alone.interval[1] < of_tasks.interval[1]
    assert (of_tasks.interval_method, of_tasks.n_clusters) == ("lee_effective_n_95", 20)


def test_labels_on_a_random_part_correct_the_rest() -> None:
    labels, verdicts = table(20, 5, 14, 1)
    states = [verdicts[item].state == "pass" for item in labels.items] + [True] * 30 + [False] * 30
    known = calibrate(_of_population(labels, 100), judge(), verdicts, at=NOW)
    found = judged_rates(judged(states), [known])[EVALUATOR].powered
    assert found is not None
    # by hand: the mean of what the judge said of the others, and the mean error on the labeled ones
    truth = [1.0] * 20 + [0.0] * 19 + [1.0]
    said = [1.0] * 25 + [0.0] * 15
    assert found.value == pytest.approx(0.5 + fmean(truth) - fmean(said))
    assert found.interval_method == "prediction_powered_95"
    # somebody's choice is no random part, and neither are labels on other answers
    assert judged_rates(judged(states, first=500), [known])[EVALUATOR].powered is None


GOOD = record(30, 1, 30, 1)


def _by_a_model() -> Calibration:
    labels, verdicts = table(30, 1, 30, 1)
    states = [labels.of(item)[0].state for item in labels.items]
    labels.standing.clear()
    say(labels, states, Rater(kind="model", name="large"))
    return calibrate(labels, judge(), verdicts, at=NOW)


@pytest.mark.parametrize(
    ("known", "trials", "why"),
    [
        ([], judged([True] * 30), "no calibration of this judge"),
        ([GOOD], judged([True] * 30, judge("gauge-2")), "no calibration of this judge"),
        ([GOOD], judged([True] * 30, replace(judge(), settings={"temperature": 1.0})), "another version of this judge"),
        ([record(30, 1, 3, 1)], judged([True] * 30), "too_few_failing_items"),
        ([record(15, 15, 15, 15)], judged([True] * 30), "not_above_chance"),
        ([_by_a_model()], judged([True] * 30), "no_human_labels"),
        ([GOOD], judged([True] * 30, at=int(GOOD.expires_at) + 1), "expired"),
        ([GOOD], judged([True] * 30, first=1000), "another population"),
        ([GOOD], judged([True] * 30) + judged([True], replace(judge(), revision="")), None),
    ],
)
def test_without_a_valid_calibration_there_is_no_rate_and_no_gate_passes_or_fails(
    known: list[Calibration], trials: list[Assessment], why: str | None
) -> None:
    (rate,) = judged_rates(trials, known).values()
    decision = decide(trials, known, LENIENCE, FLOOR)
    if why is None:
        assert rate.corrected.value is not None
        assert decision.decision == "pass"
        return
    assert (rate.corrected.value, rate.corrected.numerator, rate.powered) == (None, None, None)
    assert rate.corrected.reason == "judge_not_calibrated"
    assert why in str(rate.corrected.note)
    assert [one.decision for one in decision.gates] == ["pass", "inconclusive", "inconclusive"]
    assert decision.decision == "inconclusive"
    assert why in decision.gates[1].explanation


def test_another_model_by_the_same_name_is_not_the_one_that_was_calibrated() -> None:
    trials = judged([True] * 30)
    told = trials[3].judges[0].details["judgement"]
    assert isinstance(told, dict)
    other = replace(trials[3].judges[0], details={"judgement": told | {"served_model": "gauge-1-0909"}})
    trials[3] = replace(trials[3], judges=(other,))
    found = judged_rates(trials, [GOOD])[EVALUATOR].corrected
    assert found.value is None
    assert "gauge-1-0909" in str(found.note)


@pytest.mark.parametrize(
    ("counts", "passed", "gates"),
    [
        ((30, 1, 30, 1), 60, ("pass", "pass")),
        ((30, 1, 30, 1), 12, ("pass", "fail")),
        ((30, 1, 30, 1), 38, ("pass", "inconclusive")),
        ((40, 0, 11, 1), 60, ("fail", "pass")),  # none of eleven passed: up to one in four may
        ((30, 12, 30, 1), 60, ("fail", "pass")),
    ],
)
def test_lenience_blocks_and_a_floor_is_held_by_the_interval(
    counts: tuple[int, int, int, int], passed: int, gates: tuple[str, str]
) -> None:
    known = [record(*counts)]
    size = min(sum(counts), 60)
    decision = decide(judged([at < passed for at in range(size)]), known, LENIENCE, FLOOR)
    assert tuple(one.decision for one in decision.gates[1:]) == gates
    expected = "fail" if gates[0] == "fail" else "pass" if gates[1] == "pass" else "inconclusive"
    assert decision.decision == expected


def test_verdicts_that_are_missing_keep_a_floor_from_passing_and_failing_items_can_be_asked_for() -> None:
    trials = judged([*[True] * 55, None])
    assert [one.decision for one in decide(trials, [GOOD], LENIENCE, FLOOR).gates] == ["pass", "pass", "inconclusive"]
    more = LENIENCE | {"failing_items": 61}
    assert decide(judged([True] * 60), [GOOD], more).gates[1].decision == "inconclusive"
    nobody = decide([assessed(trial(variant="v"))], [GOOD], LENIENCE, FLOOR)
    assert [one.decision for one in nobody.gates] == ["pass", "inconclusive", "inconclusive"]


@pytest.mark.parametrize(
    ("gates", "why"),
    [
        ([LENIENCE, FLOOR | {"hard": True}], "never passes a hard gate"),
        ([FLOOR], "'lenience' on rubric 'supported'"),
        ([LENIENCE | {"on_unavailable": "fail"}], "inconclusive: leave on_unavailable out"),
        ([LENIENCE | {"limit": 1}], "unknown key"),
        ([{"kind": "limit", "id": "sly", "measure": CORRECTED, "at_least": 0.1}], None),
    ],
)
def test_what_a_policy_may_not_ask_of_judges(gates: list[dict[str, object]], why: str | None) -> None:
    if why is None:
        with pytest.raises(PolicyError, match="there is no measure"):
            decide(judged([True] * 30), [GOOD], *gates)
        return
    with pytest.raises(PolicyError, match=why):
        policy(*gates)


def test_a_policy_of_judges_alone_is_refused() -> None:
    text = json.dumps({"id": "p", "owner": "me", "gates": [LENIENCE, FLOOR]})
    with pytest.raises(PolicyError, match="every gate rests on a judge"):
        parse_document(Policy, text, "p.json", PolicyError)


def test_reports_tell_the_corrected_rate_and_no_other_and_their_certificate_minds_the_calibration() -> None:
    trials = judged([True] * 48 + [False] * 12)
    without = report(trials, None, described="")
    made = report(trials, None, described="", calibrations=[GOOD])
    (plain,), (told,) = without.variants, made.variants
    assert plain.judged[CORRECTED].reason == "judge_not_calibrated"
    assert told.judged[CORRECTED].value == pytest.approx((0.8 + 30 / 31 - 1) / (60 / 31 - 1))
    assert told.decision == plain.decision  # the release gates are not given it
    assert made.certificate != without.certificate
    assert report(trials, None, described="", calibrations=[GOOD, record(20, 1, 20, 1)]).certificate != made.certificate
