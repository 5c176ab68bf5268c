"""Arguments against a reference: exact where it matters, loosely only where it is marked, matched in no order."""

from dataclasses import replace
from itertools import permutations

import pytest

from spanproof_collector.model.readings import ToolDefinition
from spanproof_collector.model.values import Json
from spanproof_evaluators.errors import SuiteError
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules import RULES
from spanproof_evaluators.rules._normalising import bfcl, text
from tests.evaluators.factories import call, suite, trial
from tests.evaluators.stats.golden import golden
from tests.shared import needs_golden


def referring(*calls: dict[str, object]) -> Task:
    return suite({"id": "task-1", "reference_trajectory": list(calls)}).tasks[0]


def ask(about: Task, *made: tuple[str, Json], schema: Json = None) -> Result:
    one = trial(calls=[call(name, arguments, span_id=f"{at:016x}") for at, (name, arguments) in enumerate(made)])
    rule = next(rule for rule in RULES if rule.name == "tool_argument_match")
    found = rule.evaluate(replace(one, tools=(ToolDefinition(name="pay", parameters=schema),)), about)
    assert found is not None
    return found


PAY: dict[str, object] = {
    "tool": "pay",
    "arguments": {"to": "U-1", "amount": 10.5, "on": "2024-01-12", "note": "Thank you", "fast": True},
    "accept": {"to": ["U-01"]},
    "optional": ["fast"],
    "normalise": {"note": "text"},
}
GIVEN: dict[str, Json] = {"to": "U-1", "amount": 10.5, "on": "2024-01-12", "note": "thank  you", "fast": True}


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({}, {}),
        ({"to": "U-01"}, {}),
        ({"to": "u-1"}, {"to": "differs"}),
        ({"amount": 105}, {"amount": "differs"}),
        ({"amount": "10.5"}, {"amount": "differs"}),
        ({"on": "2024-1-12"}, {"on": "differs"}),
        ({"note": "thankyou"}, {"note": "differs"}),
        ({"fast": None}, {"fast": "differs"}),
        ({"tip": 1}, {"tip": "unexpected"}),
    ],
)
def test_each_parameter_is_compared_as_its_kind_asks(changed: dict[str, Json], wrong: dict[str, str]) -> None:
    found = ask(referring(PAY), ("pay", GIVEN | changed))
    assert (found.state, found.score) == (("fail", 0.0) if wrong else ("pass", 1.0))
    unmatched = found.details.get("unmatched", [])
    assert isinstance(unmatched, list)
    assert [one["nearest"] for one in unmatched if isinstance(one, dict)] == ([wrong] if wrong else [])


def test_what_is_optional_may_be_absent_and_nothing_else() -> None:
    without_fast = {name: value for name, value in GIVEN.items() if name != "fast"}
    without_note = {name: value for name, value in GIVEN.items() if name != "note"}
    assert ask(referring(PAY), ("pay", without_fast)).state == "pass"
    assert ask(referring(PAY), ("pay", without_note)).state == "fail"


@pytest.mark.parametrize("about", [{"enum": ["Thank you"]}, {"type": "string", "format": "date"}, {"type": "integer"}])
def test_what_the_schema_says_is_no_free_text_is_compared_exactly_whatever_is_marked(about: Json) -> None:
    schema: Json = {"properties": {"note": about}}
    assert ask(referring(PAY), ("pay", GIVEN), schema=schema).state == "fail"
    assert ask(referring(PAY), ("pay", GIVEN), schema={"properties": {"note": {"type": "string"}}}).state == "pass"


def test_calls_are_matched_so_that_as_many_fit_as_can_and_no_order_matters() -> None:
    # The first call fits both references, the second only the first: greedy matching leaves one without a call.
    wide: dict[str, object] = {"tool": "find", "arguments": {"q": "a"}, "accept": {"q": ["b"]}}
    narrow: dict[str, object] = {"tool": "find", "arguments": {"q": "a"}}
    for references in permutations([wide, narrow]):
        for values in permutations("ab"):
            made: list[tuple[str, Json]] = [("find", {"q": value}) for value in values]
            assert ask(referring(*references), *made).score == 1.0


def test_what_has_no_call_is_named_with_the_nearest_one() -> None:
    found = ask(referring(PAY, {"tool": "mail"}), ("pay", GIVEN | {"amount": 9}), ("look", {}))
    assert (found.state, found.score, found.span_ids) == ("fail", 0.0, (f"{0:016x}",))
    assert found.details["unmatched"] == [
        {"tool": "pay", "arguments": PAY["arguments"], "nearest": {"amount": "differs"}},
        {"tool": "mail", "arguments": {}, "nearest": None},
    ]


@needs_golden
def test_the_leaderboards_normalisation_is_as_published_and_takes_amounts_for_one_another() -> None:
    # Golden case G29.
    case = golden("G29")
    for (one, other), expected in zip(case["inputs"], case["expected"], strict=True):
        assert {"a": bfcl(one), "b": bfcl(other), "equal": bfcl(one) == bfcl(other)} == expected
    for one, other in (("10.5", "105"), ("-5", "5"), ("2024-1-12", "2024-11-2")):
        assert bfcl(one) == bfcl(other)
        assert text(one) != text(other)


def test_the_leaderboards_normalisation_is_refused_for_what_has_digits() -> None:
    town: dict[str, object] = {"tool": "fly", "arguments": {"to": "New York"}, "normalise": {"to": "bfcl"}}
    assert ask(referring(town), ("fly", {"to": "new_york"})).state == "pass"
    with pytest.raises(SuiteError, match="without digits"):
        referring({"tool": "pay", "arguments": {"amount": "10.5"}, "normalise": {"amount": "bfcl"}})
    with pytest.raises(SuiteError, match="none of the arguments"):
        referring({"tool": "pay", "arguments": {}, "optional": ["amount"]})
