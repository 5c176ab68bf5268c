"""Consistency of courses over repeated trials, and the two ways of telling how alike two of them are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanproof_evaluators.runner.measuring import measure
from spanproof_evaluators.stats.similarity import edit_distance, edit_similarity, multiset_jaccard
from tests.evaluators.factories import assessed, call, trial

words = st.lists(st.sampled_from("abc"), max_size=9)


def by_table(one: list[str], other: list[str]) -> int:
    """Return the edit distance by the definition, cell by cell."""
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, start=1):
        before, row = row, [i]
        for j, right in enumerate(other, start=1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right)))
    return row[-1]


@given(words, words)
def test_the_edit_distance_is_that_of_its_definition(one: list[str], other: list[str]) -> None:
    assert edit_distance(one, other) == by_table(one, other) == edit_distance(other, one)


def test_a_call_made_twice_is_not_one_made_once() -> None:
    assert multiset_jaccard("ab", "aab") == pytest.approx(2 / 3)
    assert multiset_jaccard("ab", "cd") == 0.0
    assert multiset_jaccard("", "") == edit_similarity("", "") == 1.0
    assert edit_similarity("abcd", "abd") == 0.75


def test_trials_of_a_task_are_held_against_each_other_and_tasks_count_once() -> None:
    find, look, pay = call("find", {"q": 1}), call("look", {"q": 1}), call("pay", {"q": 1})
    other = call("find", {"q": 2})
    found = measure(
        [
            assessed(trial("a1", task_id="a", calls=[find, pay])),
            assessed(trial("a2", task_id="a", calls=[find, pay])),
            assessed(trial("a3", task_id="a", calls=[other, look, pay])),  # 1 of 4 calls; 2 of 3 names in their place
            assessed(trial("b1", task_id="b", calls=[pay])),
            assessed(trial("b2", task_id="b", calls=[pay])),
            assessed(trial("c1", task_id="c", calls=[pay])),
            assessed(trial("d1", task_id="d", calls=[pay], calls_whole=False)),
            assessed(trial("e1", task_id=None, calls=[pay])),
        ]
    )
    calls, order = found["trajectory_consistency"], found["tool_order_consistency"]
    assert calls.value == pytest.approx(((1 + 1 / 4 + 1 / 4) / 3 + 1) / 2)
    assert order.value == pytest.approx(((1 + 2 / 3 + 2 / 3) / 3 + 1) / 2)
    assert (calls.denominator, calls.n_units, calls.unavailable) == (2, 5, 1)
    assert calls.excluded == {"no_task": 1, "single_trial": 1}


def test_a_trial_whose_arguments_nobody_recorded_still_tells_the_order_of_its_tools() -> None:
    found = measure([assessed(trial(f"{at}", calls=[call("find", captured=at == 0)])) for at in range(2)])
    assert found["trajectory_consistency"].value is None
    assert found["trajectory_consistency"].unavailable == 1
    assert found["tool_order_consistency"].value == 1.0


def test_of_very_many_trials_each_is_held_against_as_many_others() -> None:
    # Half of 40 trials go one way, half the other, in turn: of the ten after each, five are alike.
    trials = [assessed(trial(f"{at}", calls=[call("ab"[at % 2])])) for at in range(40)]
    assert measure(trials)["tool_order_consistency"].value == 0.5
