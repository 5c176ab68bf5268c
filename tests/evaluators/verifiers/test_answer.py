"""Answers: texts, patterns, numbers and quotes, and no more than what was said."""

import time
from decimal import Decimal
from pathlib import Path
from typing import Literal

import pytest
from pydantic import ValidationError

from spanproof_evaluators.verifiers import AnswerCheck, Check, EndState
from spanproof_evaluators.verifiers._numbers import numbers
from tests.evaluators.verifiers.asking import ask, folder, said


def asked(answer: str | None, after: EndState | None = None, /, **fields: object) -> Check:
    state = after or EndState()
    spec = AnswerCheck.model_validate({"kind": "answer", **fields})
    return ask(spec, EndState(answer=answer, files=state.files, places=state.places))


@pytest.mark.parametrize(
    ("answer", "fields", "passed"),
    [
        ("It is\n 25", {"equals": "It is 25"}, True),
        ("It is 25.", {"equals": "It is 25"}, False),
        ("it is 25", {"equals": "It IS 25", "ignore_case": True}, True),
        (None, {"equals": "x"}, False),
        ("", {"equals": ""}, True),
        (None, {"equals": ""}, False),
        ("yes", {"one_of": ["yes", "no"]}, True),
        ("Yes", {"one_of": ["yes", "no"]}, False),
        ("yes and no", {"one_of": ["yes", "no"]}, False),
        ("e\u0301t\u00e9", {"contains": ["\u00e9te\u0301"]}, True),
        ("ORD-12 done", {"regex": r"ORD-\d+"}, True),
        ("ord-12 done", {"regex": r"ORD-\d+"}, False),
        ("ord-12 done", {"regex": r"ORD-\d+", "ignore_case": True}, True),
    ],
)
def test_texts_and_patterns(answer: str | None, fields: dict[str, object], passed: bool) -> None:
    assert asked(answer, **fields).passed is passed


def test_a_pattern_that_does_not_end_is_a_gap_and_no_hang() -> None:
    started = time.monotonic()
    found = asked("a" * 5000 + "!", regex=r"(a|a|aa)+$", regex_seconds=0.2)
    assert said(found) == (None, "timeout")
    assert time.monotonic() - started < 5


def test_what_is_no_pattern_is_refused() -> None:
    with pytest.raises(ValidationError, match="no regular expression"):
        asked("x", regex="(")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It costs 25.", ["25"]),
        ("1,234.50 USD", ["1234.50"]),
        ("$1,234,567", ["1234567"]),
        ("US$5 or €6", ["5", "6"]),
        ("-3, +4 and \u22125", ["-3", "4", "-5"]),
        ("-$5.20 and $-7", ["-5.20", "-7"]),
        ("(1,234.50) and ($3) but (25)", ["-1234.50", "-3", "25"]),
        ("12 % or 12%", ["12", "12"]),
        ("1 234 567", ["1", "234", "567"]),
        ("1\u202f234\u202f567", ["1234567"]),
        ("1.5e3", ["1500"]),
        ("ORD-1001, v1.2.3, 2026-01-31, 10:30, 1/2, 10-20, #7, a4", []),
        ("1,23 and 1,2,3", []),
        ("25USD", ["25"]),
        ("$25/month or 30 USD/month", ["25", "30"]),
        ("$3.5 Million, $5k, USD 2bn and 1.5 thousand", ["3500000", "5000", "2000000000", "1500"]),
        ("5m of pipe", ["5"]),
        ("50%-60%, 0x1F", []),
        ("**$25.00** and `26`", ["25.00", "26"]),
        ("Total: 7", ["7"]),
        ("7,", ["7"]),
        ("x=8; [9]", ["8", "9"]),
        ("\u0663\u0664", ["34"]),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, expected: list[str]) -> None:
    assert [number.value for number in numbers(text, ".")] == [Decimal(value) for value in expected]


@pytest.mark.parametrize(("decimal", "expected"), [(",", "1234.5"), (".", None)])
def test_the_decimal_sign_is_what_the_task_says(decimal: Literal[".", ","], expected: str | None) -> None:
    found = [number.value for number in numbers("1.234,5 EUR", decimal)]
    assert found == ([Decimal(expected)] if expected else [])


@pytest.mark.parametrize(
    ("answer", "number", "passed"),
    [
        ("The total is 25.", {"value": 25}, True),
        ("The total is 25.00.", {"value": 25}, True),
        ("The total is 25 and 25.0.", {"value": 25}, True),
        ("The total is 24 or 25.", {"value": 25}, False),
        ("Nothing.", {"value": 25}, False),
        (None, {"value": 25}, False),
        ("0.3", {"value": 0.3}, True),
        ("0.30000001", {"value": 0.3}, False),
        ("0.301", {"value": 0.3, "abs_tol": 0.001}, True),
        ("0.302", {"value": 0.3, "abs_tol": 0.001}, False),
        ("101", {"value": 100, "rel_tol": 0.01}, True),
        ("102", {"value": 100, "rel_tol": 0.01}, False),
        ("It is -5.", {"value": 5}, False),
        ("3 items for $25", {"value": 25, "unit": "USD"}, True),
        ("3 items for 25 USD", {"value": 25, "unit": "$"}, True),
        ("3 items for USD 25", {"value": 25, "unit": "USD"}, True),
        ("3 items for 25 EUR", {"value": 25, "unit": "USD"}, False),
        ("up 12 percent", {"value": 12, "unit": "%"}, True),
        ("It is 3.5 million.", {"value": 3.5}, False),
        ("It is $3.5m.", {"value": 3.5, "unit": "USD"}, False),
        ("It is 3.5 million USD.", {"value": 3_500_000, "unit": "USD"}, True),
        ("a pipe of 5m", {"value": 5}, False),
        ("a pipe of 5m", {"value": 5, "unit": "m"}, True),
        ("It weighs 25kg", {"value": 25, "unit": "kg"}, True),
        ("the 3rd order, 25 in all", {"value": 25}, True),
        ("tax 5, total 25", {"value": 25, "near": "total"}, True),
        ("tax 5, total 25", {"value": 5, "near": "total"}, False),
        ("25 in total, as of day 7", {"value": 7, "near": "total"}, True),
        ("25 in total", {"value": 25, "near": "Total"}, True),
        ("total 25\ntotal 30", {"value": 25, "near": "total"}, False),
        ("the total:\n25", {"value": 25, "near": "total"}, False),
    ],
)
def test_one_number_is_given_or_none_is(answer: str | None, number: dict[str, object], passed: bool) -> None:
    assert asked(answer, number=number).passed is passed


def test_an_ambiguous_number_says_what_was_seen() -> None:
    found = asked("The total is 24 or 25.", number={"value": 25})
    assert "24" in found.seen
    assert "25" in found.seen


POLICY = EndState(files={"policy.md": "Refunds are paid\nwithin 14 days of the claim.\n"})


@pytest.mark.parametrize(
    ("answer", "passed"),
    [
        ("It says “Refunds are paid within 14 days”.", True),
        ('It says "Refunds are paid within 14 days".', True),
        ("> Refunds are paid\n> within 14 days of the claim.\n\nSo wait.", True),
        ('"Refunds are paid within 30 days".', False),
        ('"Refunds are paid within 14 days" and "we never refund anything"', False),
        ("Refunds are paid within 14 days", False),
        ('The "claim" is in.', False),
        (None, False),
    ],
)
def test_every_quote_is_in_the_source_and_one_is_given(answer: str | None, passed: bool) -> None:
    assert asked(answer, POLICY, quote={"source": "policy.md"}).passed is passed


def test_a_source_that_is_not_there_is_a_gap(tmp_path: Path) -> None:
    quote = {"source": "policy.md"}
    assert said(asked('"Refunds are paid"', EndState(files={}), quote=quote)) == (None, "source_missing")
    assert said(asked('"Refunds are paid"', EndState(), quote=quote)) == (None, "files_not_recorded")
    live = {**quote, "destination": "work"}
    assert said(asked('"Refunds are paid"', folder(tmp_path), quote=live)) == (None, "source_missing")
    (tmp_path / "policy.md").write_bytes(b"\xff\xfe")
    assert said(asked('"Refunds are paid"', folder(tmp_path), quote=live)) == (None, "file_unreadable")
    (tmp_path / "policy.md").write_text("Refunds are paid.")
    assert said(asked('"Refunds are paid"', folder(tmp_path), quote=live)) == (True, None)


def test_an_answer_that_nobody_recorded_is_a_gap_whatever_is_asked() -> None:
    for fields in ({"equals": "x"}, {"number": {"value": 1}}, {"regex": "x"}, {"not_contains": ["x"]}):
        spec = AnswerCheck.model_validate({"kind": "answer", **fields})
        assert said(ask(spec, EndState(answer_recorded=False))) == (None, "answer_not_captured")
