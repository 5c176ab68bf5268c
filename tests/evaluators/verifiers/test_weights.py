"""Weighted criteria: a score beside the verdict, and never in place of a required check."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.model.verifications import Check, Verification
from spanproof_evaluators.verifiers import AnswerCheck, EndState, declared, judge

FOUR = ("def total", "-> int", '"""', "2")
"""The four criteria of evaluators.md R021; the last one stands for running the code."""


def check(passed: bool | None, weight: float | None = None, *, required: bool = True) -> Check:
    return Check(name="c", passed=passed, reason="no" if passed is None else None, weight=weight, required=required)


def test_three_of_four_criteria_do_not_pass_where_the_fourth_is_required() -> None:
    # A.6, R021: a score of 0.75 with the execution criterion failed would be a built-in false success.
    answer = EndState(answer='def total(xs) -> int: """Sum."""')
    text_only = [AnswerCheck(kind="answer", contains=(text,), weight=0.25, required=False) for text in FOUR[:3]]
    ran = AnswerCheck(kind="answer", contains=(FOUR[3],), weight=0.25)
    found = judge(declared([*text_only, ran], pass_score=0.75), None, answer, name="v")
    assert (found.state, found.score) == ("failed", 0.75)
    optional = ran.model_copy(update={"required": False})
    found = judge(declared([*text_only, optional], pass_score=0.75), None, answer, name="v")
    assert (found.state, found.score) == ("verified", 0.75)
    found = judge(declared([*text_only, optional], pass_score=0.76), None, answer, name="v")
    assert (found.state, found.score) == ("failed", 0.75)


def test_the_score_is_stored_with_the_outcome() -> None:
    spec = [AnswerCheck(kind="answer", contains=(text,), weight=1, required=False) for text in "ab"]
    found = judge(declared(spec, pass_score=0.5), None, EndState(answer="a"), name="v")
    assert found.as_result().score == 0.5


def test_without_weights_there_is_no_score() -> None:
    assert Verification.of([check(True), check(False)]).score is None


def test_a_check_without_a_weight_counts_one_beside_others() -> None:
    specs = [
        AnswerCheck(kind="answer", contains=("a", "b"), required=False),
        AnswerCheck(kind="answer", contains=("c",), weight=3),
    ]
    assert declared(specs)(None, EndState(answer="a c")).score == 0.875


def test_tenths_add_up() -> None:
    found = Verification.of([check(True, 0.1), check(True, 0.2), check(False, 0.7, required=False)], pass_score=0.3)
    assert (found.state, found.score) == ("verified", 0.3)


@pytest.mark.parametrize(
    ("passed", "state"),
    [
        ((True, True, None), "verified"),  # whatever the third one says, two of three are there
        ((True, None, None), "unavailable"),
        ((False, None, None), "unavailable"),
        ((False, False, None), "failed"),  # whatever it says, two of three are not
    ],
)
def test_a_gap_decides_only_where_it_cannot_change_the_answer(passed: tuple[bool | None, ...], state: str) -> None:
    found = Verification.of([check(one, 1, required=False) for one in passed], pass_score=0.6)
    assert (found.state, found.score) == (state, None)


def test_an_optional_check_that_failed_decides_nothing_without_a_score_to_reach() -> None:
    assert Verification.of([check(True), check(False, required=False)]).state == "verified"
    assert Verification.of([check(True), check(None, required=False)]).state == "verified"
    assert Verification.of([check(True, required=False)]).state == "unavailable"


@pytest.mark.parametrize(
    "fields",
    [
        {"checks": [{"kind": "answer", "contains": ["x"], "required": False}]},
        {"checks": [{"kind": "answer", "contains": ["x"]}], "pass_score": 1.5},
        {
            "expects": "no_change",
            "checks": [
                {"kind": "unchanged", "tables": ["t"]},
                {"kind": "answer", "contains": ["no"], "required": False},
            ],
        },
    ],
)
def test_checks_that_decide_nothing_or_that_an_idle_agent_passes_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Task.model_validate({"id": "t", **fields})


CHECKS = st.lists(
    st.builds(
        check,
        st.sampled_from([True, False, None]),
        st.none() | st.floats(0.01, 100),
        required=st.booleans(),
    ),
    min_size=1,
    max_size=6,
)


@given(CHECKS, st.none() | st.floats(0.01, 1))
def test_a_gap_stands_for_both_answers(checks: list[Check], pass_score: float | None) -> None:
    # A verdict that is given beside a gap is the verdict whichever way the gap turns out.
    found = Verification.of(checks, pass_score=pass_score).state
    gaps = [index for index, one in enumerate(checks) if one.passed is None]
    for answer in (True, False) if gaps else ():
        index = gaps[0]
        filled = [*checks[:index], check(answer, checks[index].weight, required=checks[index].required)]
        settled = Verification.of([*filled, *checks[index + 1 :]], pass_score=pass_score).state
        if found != "unavailable":
            assert settled == found


@given(CHECKS, st.none() | st.floats(0.01, 1), st.integers(0, 5))
def test_losing_a_check_s_evidence_never_verifies(checks: list[Check], pass_score: float | None, at: int) -> None:
    index = at % len(checks)
    lost = check(None, checks[index].weight, required=checks[index].required)
    before = Verification.of(checks, pass_score=pass_score).state
    after = Verification.of([*checks[:index], lost, *checks[index + 1 :]], pass_score=pass_score).state
    assert before == "verified" or after != "verified"
