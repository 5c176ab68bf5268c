"""Rubrics, what a judge sees, and what its answers come to."""

import dataclasses
import json
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from jsonschema import Draft202012Validator, ValidationError

from spanproof_evaluators.__main__ import main
from spanproof_evaluators.errors import JudgeInputError, JudgementError, JudgeSourcesError, RubricError
from spanproof_evaluators.judges.rubrics import find_rubric, shipped
from spanproof_evaluators.model.judge_inputs import Asked, JudgeInput, asked
from spanproof_evaluators.model.judge_sources import read_judge_sources
from spanproof_evaluators.model.judgements import (
    Judge,
    Judgement,
    JudgeUsage,
    as_line,
    decided,
    from_line,
)
from spanproof_evaluators.model.rubrics import Answer, Rubric, parse_rubric

GROUNDED = shipped()["grounded"]
GOOD: dict[str, tuple[Answer, str]] = {
    "consistent": ("yes", "a"),
    "complete": ("yes", "b"),
    "quote_verbatim": ("not_applicable", "c"),
    "fabricated": ("no", "d"),
}
JUDGE = Judge(
    provider="openai",
    model="gpt-5-mini",
    family="gpt",
    prompt_hash="p",
    rubric="grounded",
    rubric_hash=GROUNDED.hash,
    settings={"temperature": 0.0, "seed": 7},
)


def _with(**answers: Answer) -> dict[str, tuple[Answer, str]]:
    return GOOD | {name: (answer, "") for name, answer in answers.items()}


@pytest.mark.parametrize(
    ("answers", "state", "reason"),
    [
        (GOOD, "pass", None),
        (_with(fabricated="yes"), "fail", "criterion_failed"),
        (_with(quote_verbatim="no"), "fail", "criterion_failed"),
        (_with(consistent="partially"), "fail", "abstained"),
        (_with(consistent="partially", complete="no"), "fail", "criterion_failed"),
    ],
)
def test_a_verdict_follows_from_its_required_criteria(
    answers: dict[str, tuple[Answer, str]], state: str, reason: str | None
) -> None:
    assert decided(GROUNDED, answers)[:2] == (state, reason)


def test_a_criterion_that_is_not_required_fails_nothing() -> None:
    refusal = shipped()["refusal"]
    answers: dict[str, tuple[Answer, str]] = {
        "declined": ("yes", ""),
        "reason_in_source": ("yes", ""),
        "fabricated": ("no", ""),
        "way_forward": ("no", ""),
    }
    state, _, criteria = decided(refusal, answers)
    assert state == "pass"
    assert criteria[-1].means == "failed"


def test_nothing_found_good_is_no_pass() -> None:
    rubric = parse_rubric(
        '{"id": "q", "criteria": [{"id": "c", "question": "?", "answers": ["yes", "no", "not_applicable"]}]}', name="q"
    )
    assert decided(rubric, {"c": ("not_applicable", "")})[:2] == ("fail", "abstained")


@pytest.mark.parametrize("wrong", [_with(fabricated="partially"), {k: v for k, v in GOOD.items() if k != "complete"}])
def test_an_answer_that_is_missing_or_not_allowed_is_no_verdict(wrong: dict[str, tuple[Answer, str]]) -> None:
    with pytest.raises(JudgementError):
        decided(GROUNDED, wrong)


def test_what_a_rubric_is_for_does_not_change_its_hash_and_a_question_does() -> None:
    told = GROUNDED.model_dump(mode="json")
    assert Rubric.model_validate_json(Rubric(**told | {"about": "else"}).model_dump_json()).hash == GROUNDED.hash
    told["criteria"][0]["question"] += " Really?"
    assert Rubric(**told).hash != GROUNDED.hash


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id: q\ncriteria: [{id: c, question: '?', requird: false}]", "Did you mean 'required'?"),
        ("id: q\ncriteria: [{id: c, question: '?', answers: [yes, partially]}]", "lack 'yes' or 'no'"),
        ("id: q\ncriteria: [{id: c, question: '?', required: false}]", "no criterion is required"),
        ("id: q\ncriteria: [{id: c, question: '?'}, {id: c, question: '!'}]", "two criteria are called 'c'"),
        ("id: q\ncriteria: [{id: c, question: '?', answers: [yes, no, 7]}]", "answers"),
    ],
)
def test_a_rubric_that_is_wrong_is_refused_with_the_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "q.yaml"
    path.write_text(text)
    with pytest.raises(RubricError, match=r"q\.yaml") as refused:
        find_rubric(str(path))
    assert said in str(refused.value)


def test_yes_and_no_in_yaml_are_words(tmp_path: Path) -> None:
    path = tmp_path / "q.yaml"
    path.write_text("id: q\ncriteria: [{id: c, question: '?', answers: [yes, no], passes_on: no}]")
    assert find_rubric(str(path)).criteria[0].passes_on == "no"


def test_a_name_that_no_rubric_has_is_told_which_there_are() -> None:
    with pytest.raises(RubricError, match="diff, grounded, refusal, tone"):
        find_rubric("groundd")


def _leaves(annotation: Any, seen: set[object]) -> set[object]:
    """Return every type that a type is made of, dataclasses by their fields."""
    if annotation in seen:
        return set()
    seen.add(annotation)
    if dataclasses.is_dataclass(annotation):
        hints = get_type_hints(annotation)
        return set().union(*(_leaves(hints[field.name], seen) for field in dataclasses.fields(annotation)))
    if get_origin(annotation) is not None or get_args(annotation):
        return set().union(*(_leaves(part, seen) for part in get_args(annotation)))
    return {type(annotation) if isinstance(annotation, str) else annotation}


def test_nothing_but_text_can_stand_in_what_a_judge_sees() -> None:
    assert _leaves(JudgeInput, set()) == {str, type(None), Ellipsis}
    assert {field.name for field in dataclasses.fields(JudgeInput)} == {
        "task",
        "criteria",
        "source",
        "answer",
        "looks_at",
    }


class _Smuggler(str):
    trial: object


def test_text_that_carries_something_along_is_refused() -> None:
    for wrong in (_Smuggler("answer"), b"answer", ["answer"]):
        with pytest.raises(JudgeInputError, match="text only"):
            JudgeInput(task="t", criteria=asked(GROUNDED), answer=wrong)  # type: ignore[arg-type]
    with pytest.raises(JudgeInputError, match="tuple of Asked"):
        JudgeInput(task="t", criteria=("consistent",), answer="a")  # type: ignore[arg-type]
    with pytest.raises(JudgeInputError):
        Asked(id="c", question="?", answers=("yes", "no", "see the trajectory"))


def test_polarity_and_weight_of_a_criterion_are_not_told_to_the_judge() -> None:
    assert {field.name for field in dataclasses.fields(Asked)} == {"id", "question", "guidance", "answers"}


def test_whatever_the_judge_saw_is_in_the_hash() -> None:
    first = JudgeInput(task="t", criteria=asked(GROUNDED), source="s", answer="a")
    others = [
        dataclasses.replace(first, task="T"),
        dataclasses.replace(first, source=None),
        dataclasses.replace(first, source="S"),
        dataclasses.replace(first, answer="A"),
        dataclasses.replace(first, looks_at="diff"),
        dataclasses.replace(first, criteria=first.criteria[::-1]),
    ]
    assert len({first.hash, *(one.hash for one in others)}) == 1 + len(others)
    assert dataclasses.replace(first).hash == first.hash


def test_a_judgement_comes_back_from_its_line_as_it_was() -> None:
    state, reason, criteria = decided(GROUNDED, _with(consistent="partially"))
    first = Judgement(
        judge=JUDGE,
        input_hash="i",
        state=state,
        reason=reason,
        criteria=criteria,
        attempts=2,
        usage=JudgeUsage(input_tokens=10, output_tokens=None),
        cost=Decimal("0.00012"),
        served_model="gpt-5-mini-2026-08-07",
        flags=("same_family_allowed",),
        created_at=1_790_000_000_000_000_001,
    )
    assert from_line(as_line(first)) == first
    assert first.abstained == 1
    with pytest.raises(JudgementError, match="hash of the judge"):
        from_line(as_line(first).replace('"seed":7', '"seed":8'))
    with pytest.raises(JudgementError):
        from_line(as_line(first)[:-9])


def test_a_judgement_that_contradicts_itself_cannot_be_made() -> None:
    _, _, criteria = decided(GROUNDED, GOOD)
    for wrong in (
        {"state": "pass", "reason": "abstained", "criteria": criteria, "cost_reason": "x"},
        {"state": "unavailable", "reason": None, "cost_reason": "x"},
        {"state": "unavailable", "reason": "malformed", "criteria": criteria, "cost_reason": "x"},
        {"state": "pass", "criteria": criteria},
    ):
        with pytest.raises(JudgementError):
            Judgement(judge=JUDGE, input_hash="i", **wrong)


def test_another_prompt_rubric_model_setting_or_revision_is_another_judge() -> None:
    others = [
        dataclasses.replace(JUDGE, provider="anthropic"),
        dataclasses.replace(JUDGE, model="gpt-5"),
        dataclasses.replace(JUDGE, prompt_hash="q"),
        dataclasses.replace(JUDGE, rubric_hash="r"),
        dataclasses.replace(JUDGE, settings={"temperature": 0.5, "seed": 7}),
        dataclasses.replace(JUDGE, revision="q4"),
    ]
    assert len({JUDGE.hash, *(one.hash for one in others)}) == 1 + len(others)
    assert dataclasses.replace(JUDGE, family="other").hash == JUDGE.hash


def test_the_rubrics_command_gives_what_a_file_of_ones_own_can_begin_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(*arguments: str) -> str:
        assert main(["judge", "rubrics", *arguments]) == 0
        return capsys.readouterr().out

    assert [line.split()[0] for line in told().splitlines() if line[0] != " "] == [
        "diff",
        "grounded",
        "refusal",
        "tone",
    ]
    (tmp_path / "mine.json").write_text(told("grounded", "--json"))
    assert find_rubric(str(tmp_path / "mine.json")) == GROUNDED
    check = Draft202012Validator(json.loads(told("--schema")))
    for one in json.loads(told("--json")):
        check.validate(one["rubric"])
    with pytest.raises(ValidationError):
        check.validate({"id": "q", "criteria": [{"id": "c", "question": "?", "requird": False}]})
    assert main(["judge", "rubrics", "groundd"]) == 2


def test_a_sources_file_that_is_wrong_is_refused_with_the_place(tmp_path: Path) -> None:
    for text, said in (
        ("sources: [{task_id: t, sorce: s}]", "Did you mean 'source'?"),
        ("sources: [{source: s}]", "task_id or trial_id"),
        ("sources: [{task_id: t, trial_id: u}]", "task_id or trial_id"),
    ):
        path = tmp_path / "s.yaml"
        path.write_text(text)
        with pytest.raises(JudgeSourcesError, match=r"s\.yaml") as refused:
            read_judge_sources(path)
        assert said in str(refused.value)
