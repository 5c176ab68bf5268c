"""Trajectories against references: the definitions of Vertex AI and agentevals, and what a trial's calls give."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanproof_collector.model.trials import ToolCall
from spanproof_evaluators.errors import SuiteError
from spanproof_evaluators.model.expected_effects import identity
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.rules import RULES
from spanproof_evaluators.rules import _trajectories as trajectories
from spanproof_evaluators.rules._trajectories import ArgumentMode, Call, Mode, matches
from tests.evaluators.factories import call, suite, trial
from tests.evaluators.stats.golden import golden
from tests.shared import needs_golden

MODES: tuple[Mode, ...] = ("strict", "unordered", "subset", "superset")
ARGUMENTS: tuple[ArgumentMode, ...] = ("exact", "ignore", "subset", "superset")


def texts(calls: Sequence[Mapping[str, Any]]) -> list[str]:
    return [identity(one["tool_name"], one["tool_input"]) for one in calls]


def of_vertex(predicted: Sequence[str], reference: Sequence[str]) -> dict[str, float | None]:
    return {
        "exact": int(trajectories.exact_match(predicted, reference)),
        "in_order": int(trajectories.in_order_match(predicted, reference)),
        "any_order_multiset": int(trajectories.any_order_match(predicted, reference)),
        "any_order_set": int(trajectories.any_order_match_of_sets(predicted, reference)),
        "precision_membership": trajectories.precision_by_membership(predicted, reference),
        "recall_membership": trajectories.recall_by_membership(predicted, reference),
        "precision_multiset": trajectories.precision(predicted, reference),
        "recall_multiset": trajectories.recall(predicted, reference),
    }


@needs_golden
def test_the_metrics_are_those_of_vertex_with_their_edge_cases() -> None:
    # Golden case G10: Google's five rows and ten edge cases.
    case = golden("G10")
    rows = [*zip(case["inputs"]["google_rows"], case["expected"]["google_rows"], strict=True)]
    rows += [(one, case["expected"]["own"][one["case"]]) for one in case["inputs"]["own"]]
    for one, expected in rows:
        found = of_vertex(texts(one["predicted"]), texts(one["reference"]))
        assert found == {name: value for name, value in expected.items() if name != "single_tool_use"}, one


@needs_golden
def test_the_modes_are_those_of_agentevals() -> None:
    # Golden case G09: agentevals 0.0.9, executed: 13 cases in 16 modes.
    case = golden("G09")
    for one in case["inputs"]:
        sides: list[list[list[Call]]] = [
            [[(name, arguments) for name, arguments in message] for message in one[side]]
            for side in ("predicted", "reference")
        ]
        found = {
            f"{mode}/{compare}": matches(sides[0], sides[1], mode, compare) for mode in MODES for compare in ARGUMENTS
        }
        assert found == case["expected"][one["case"]], one["case"]


def names(calls: Sequence[str]) -> list[str]:
    return [one.partition("#")[0] for one in calls]


def predicted(metric: Callable[[dict[str, Any]], bool]) -> dict[str, float]:
    """Return a metric on the trials of golden case G27 against their verified reward."""
    table = {"tp": 0, "fp": 0, "fn": 0, "tn": 0}
    for one in golden("G27")["inputs"]["trials"]:
        table[("tp" if one["ok"] else "fp") if metric(one) else ("fn" if one["ok"] else "tn")] += 1
    true = table["tp"]
    return {
        **table,
        "accuracy": (true + table["tn"]) / sum(table.values()),
        "precision": true / (true + table["fp"]),
        "recall": true / (true + table["fn"]),
    }


@needs_golden
def test_against_the_verified_reward_of_tau_bench_they_predict_as_published() -> None:
    # Golden case G27; the effective effects, whose calls have answers, are in test_effect_rules.
    case = golden("G27")
    expected, told = case["expected"], case["inputs"]["trials"]
    tools = set(case["inputs"]["write_tools"])

    def writes(calls: Sequence[str]) -> list[str]:
        return [one for one in calls if one.partition("#")[0] in tools]

    metrics: dict[str, Callable[[dict[str, Any]], bool]] = {
        "exact_match_all_calls": lambda one: trajectories.exact_match(one["pred"], one["ref"]),
        "exact_match_names_only": lambda one: trajectories.exact_match(names(one["pred"]), names(one["ref"])),
        "in_order_match_all_calls": lambda one: trajectories.in_order_match(one["pred"], one["ref"]),
        "any_order_match_all_calls": lambda one: trajectories.any_order_match(one["pred"], one["ref"]),
        "in_order_match_writes_only": lambda one: trajectories.in_order_match(writes(one["pred"]), writes(one["ref"])),
        "effect_multiset_equal": lambda one: sorted(writes(one["pred"])) == sorted(writes(one["ref"])),
    }
    for name, metric in metrics.items():
        published = expected["metrics_as_predictors_of_verified_success"][name]
        assert predicted(metric) == pytest.approx(published, rel=1e-9), name
    kinds: Counter[str] = Counter()
    for one in told:
        made, wanted = Counter(writes(one["pred"])), Counter(writes(one["ref"]))
        kind = ("extra" if made - wanted else "") + ("+missing" if wanted - made else "") or "equal"
        kinds[f"{kind}|{'ok' if one['ok'] else 'fail'}"] += 1
    assert kinds == expected["effect_ledger"]
    precisions = [p for one in told if (p := trajectories.precision(one["pred"], one["ref"])) is not None]
    recalls = [r for one in told if (r := trajectories.recall(one["pred"], one["ref"])) is not None]
    assert (len(precisions), len(recalls)) == (expected["n_precision"], expected["n_recall"])
    assert len(told) - len(recalls) == expected["undefined_recall_trials"]
    assert fmean(precisions) == pytest.approx(expected["mean_multiset_precision"], rel=1e-9)
    assert fmean(recalls) == pytest.approx(expected["mean_multiset_recall"], rel=1e-9)


calls = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([{}, {"x": 1}, {"x": 1, "y": 2}])), max_size=4)


@given(calls, calls, st.sampled_from(["subset", "superset", "unordered"]), st.sampled_from(ARGUMENTS))
def test_the_order_of_neither_side_ever_matters(
    predicted: list[Call], reference: list[Call], mode: Mode, arguments: ArgumentMode
) -> None:
    first = matches([predicted], [reference], mode, arguments)
    assert all(matches([predicted], [list(other)], mode, arguments) is first for other in permutations(reference))
    assert all(matches([list(other)], [reference], mode, arguments) is first for other in permutations(predicted))


def test_a_call_that_only_one_can_take_is_left_to_it() -> None:
    # Greedy matching gives the fuller call to the reference that asks for less, and has none left for the other.
    made: list[Call] = [("book", {"id": 1, "note": "x"}), ("book", {"id": 1})]
    asked: list[Call] = [("book", {"id": 1}), ("book", {"id": 1, "note": "x"})]
    assert matches([made], [asked], "superset", "superset")


def test_a_single_tool_is_used_or_not() -> None:
    assert trajectories.single_tool_use([("a", {})], "a")
    assert not trajectories.single_tool_use([], "a")


TASK = suite({"id": "task-1", "reference_trajectory": [{"tool": "find", "arguments": {"q": 1}}, {"tool": "pay"}]}).task(
    "task-1"
)


def said(*made: ToolCall, calls_whole: bool = True) -> dict[str, Result]:
    one = trial(calls=made, calls_whole=calls_whole)
    results = [rule.evaluate(one, TASK) for rule in RULES if rule.name.startswith("trajectory_")]
    return {result.evaluator: result for result in results if result is not None}


def test_a_trial_is_held_against_its_tasks_reference_and_decides_nothing() -> None:
    found = said(call("find", {"q": 1.0}), call("look", {}), call("pay", {}))
    assert {name: result.score for name, result in found.items()} == {
        "trajectory_exact_match": 0.0,
        "trajectory_in_order_match": 1.0,
        "trajectory_any_order_match": 1.0,
        "trajectory_precision": pytest.approx(2 / 3),
        "trajectory_recall": 1.0,
    }
    assert {result.label for result in found.values()} == {"diagnostic"}
    assert not any(rule.hard for rule in RULES if rule.name.startswith("trajectory_"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_a_task_may_ask_for_a_mode_of_agentevals(mode: Mode, arguments: ArgumentMode) -> None:
    wanted: list[Call] = [("find", {"q": 1}), ("pay", {})]
    reference = [{"tool": tool, "arguments": given} for tool, given in wanted]
    how = {"mode": mode, "arguments": arguments}
    task = suite({"id": "t", "reference_trajectory": reference, "reference_match": how}).tasks[0]
    rule = next(rule for rule in RULES if rule.name == "trajectory_mode_match")
    more: list[Call] = [("find", {"q": 1, "n": 2}), *wanted]
    less: list[Call] = [("find", {}), ("pay", {})]
    for made in (wanted, wanted[::-1], more, less):
        found = rule.evaluate(trial(calls=[call(tool, given) for tool, given in made]), task)
        assert found is not None
        assert (found.state == "pass") is matches([[one] for one in made], [[one] for one in wanted], mode, arguments)


def test_a_mode_without_a_reference_is_refused() -> None:
    with pytest.raises(SuiteError, match="no reference_trajectory"):
        suite({"id": "t", "reference_match": {"mode": "strict"}})


def test_nothing_of_nothing_is_unavailable_and_no_zero() -> None:
    found = said()["trajectory_precision"]
    assert (found.state, found.reason) == ("unavailable", "undefined")


@pytest.mark.parametrize(
    "found",
    [said(call("find", captured=False)), said(call("find", {"q": 1}), calls_whole=False)],
    ids=["blank", "unseen"],
)
def test_calls_that_nobody_recorded_are_not_compared(found: dict[str, Result]) -> None:
    assert {result.reason for result in found.values()} == {"not_captured"}
