"""Canonical texts: one for one value, whatever it holds and however deep it goes."""

import json
import math
from dataclasses import replace

import pytest

from spanproof_evaluators.model.canonical import Plain, canonical, digest, plain
from spanproof_evaluators.reports.machine import line, trial_json
from spanproof_evaluators.rules import RULES
from spanproof_evaluators.runner import assess_trial
from tests.evaluators.factories import assessed, call, trial


def nested(levels: int, core: Plain = 1) -> Plain:
    """Return a value in lists and objects, one in the other."""
    for level in range(levels):
        core = [core] if level % 2 else {"k": core}
    return core


def strict(text: str) -> object:
    """Read JSON as the standard has it: without NaN and Infinity."""

    def refuse(word: str) -> object:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize(
    "value",
    [
        {"b": [1, 2.5, None, True], "a": {"ż": '\ud83d\n"', "": []}, "c": {}},
        [],
        "text",
        0.1,
        nested(40),
    ],
)
def test_a_canonical_text_is_json_with_sorted_keys_and_no_spaces(value: Plain) -> None:
    assert canonical(value) == json.dumps(value, sort_keys=True, separators=(",", ":"))


def test_a_deep_value_has_a_text_as_any_other() -> None:
    by_hand = '[{"k":' * 3000 + "1" + "}]" * 3000
    assert canonical(nested(6000)) == by_hand
    assert line(nested(6000, "é")) == by_hand.replace(":", ": ").replace("1", '"\\u00e9"')
    assert digest(nested(6000)) != digest(nested(6002)) != digest(nested(6002, 2))


@pytest.mark.parametrize("levels", [600, 990, 6000])
def test_a_call_with_deep_arguments_is_judged_and_printed(levels: int) -> None:
    calls = [call(arguments=nested(levels), state="reported"), call(arguments=nested(levels, 2), state="reported")]
    one = assess_trial(trial(calls=calls), None)
    assert len(one.results) > 2
    assert line(trial_json(one)).count('{"k": ') == levels
    found = {rule.name: rule.evaluate(one.trial, None) for rule in RULES}
    assert {name: result.state for name, result in found.items() if result} == {
        "duplicate_effect": "pass",
        "unknown_effect": "pass",
        "unsafe_retry": "pass",
        "repeats": "pass",
        "repeats_since_write": "pass",
        "identical_run": "pass",
        "same_result": "pass",
        "ping_pong": "pass",
        "same_error": "pass",
        "redundancy": "pass",
        "tool_call_validity": "unavailable",
        "check_before_completion": "fail",
    }


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_does_not_have_is_printed_as_text(number: float) -> None:
    told = strict(line(trial_json(assessed(trial(calls=[call(arguments={"x": [number]})])))))
    assert isinstance(told, dict)
    text = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(number)]
    assert told["tool_calls"][0]["arguments"] == {"x": [text]}
    assert strict(canonical([number])) == [text]
    with pytest.raises(ValueError, match="not JSON compliant"):
        line([number])
    assert plain(number) == text


def test_a_time_that_nobody_recorded_is_null() -> None:
    told = trial_json(assessed(replace(trial(), started_at=1_770_000_000_000_000_000, ended_at=0)))
    assert isinstance(told, dict)
    assert (told["started_at"], told["ended_at"]) == ("1770000000000000000", None)
