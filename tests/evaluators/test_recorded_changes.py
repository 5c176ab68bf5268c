"""The outcome by recorded changes: what changed against what was meant to, and nothing else that stands beside it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanproof_collector.importers import import_paths
from spanproof_collector.model.filters import Filter
from spanproof_collector.model.trials import RecordedChanges as Told
from spanproof_collector.model.trials import Spoken, Trial
from spanproof_collector.model.values import Json
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.runner import evaluate
from spanproof_evaluators.runner.recorded_changes import RecordedChanges
from tests.conftest import SharedStore
from tests.evaluators.factories import trial
from tests.shared import SESSIONS, needs_sessions

PAID: dict[str, Json] = {
    "path": "/orders/W1",
    "before": {"state": "open"},
    "after": {"state": "paid", "sum": 12, "parts": [1, 2]},
}
NOTED: dict[str, Json] = {"path": "/notes", "before": ["a"], "after": ["a", "b"]}


def told(actual: Json, gold: Json, *, task: Json = None, said: tuple[str, ...] = (), asking: str = "") -> Outcome:
    words = [Spoken(text=text, span_id="1", with_calls=False) for text in said]
    words += [Spoken(text=asking, span_id="2", with_calls=True)] if asking else []
    changes = Told(actual=actual, gold=gold, calls=None, by="somebody", span_id="1", time=1)
    one = replace(trial("t"), recorded_changes=(changes,), task_definition=task, spoken=tuple(words))
    found = RecordedChanges().outcome(one)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("actual", "gold", "state", "effect"),
    [
        ([PAID, NOTED], [NOTED, PAID], "verified", "caused"),
        ([], [], "verified", "vacuous"),
        ([PAID], [], "failed", "damaged"),
        ([], [PAID], "failed", "unchanged"),
        ([PAID], [PAID, NOTED], "failed", "unchanged"),
        ([PAID, NOTED], [PAID], "failed", "unchanged"),
        ([PAID], [PAID | {"after": {"state": "paid", "sum": 12, "parts": [2, 1]}}], "failed", "unchanged"),
        ([PAID], [PAID | {"after": {"state": "paid", "sum": 12.0, "parts": [1, 2]}}], "failed", "unchanged"),
        ([PAID], [PAID | {"after": {"parts": [1, 2], "sum": 12, "state": "paid"}}], "verified", "caused"),
    ],
)
def test_changes_are_compared_as_a_set_by_path_and_values(actual: Json, gold: Json, state: str, effect: str) -> None:
    found = told(actual, gold)
    assert (found.state, found.effect_of_trial, found.verifier) == (state, effect, "recorded_changes")


@pytest.mark.parametrize(
    ("actual", "gold", "reason"),
    [
        ([PAID], None, "gold_changes_unknown"),
        ([PAID], "none", "recorded_changes_unreadable"),
        ({"a": 1}, [], "recorded_changes_unreadable"),
        ([PAID, PAID], [PAID], "recorded_changes_unreadable"),
        ([{"before": 1}], [], "recorded_changes_unreadable"),
    ],
)
def test_without_meant_changes_there_is_no_verdict(actual: Json, gold: Json, reason: str) -> None:
    assert (told(actual, gold).state, told(actual, gold).reason) == ("unavailable", reason)


def test_without_any_recorded_changes_there_is_no_word() -> None:
    assert RecordedChanges().outcome(trial("t")) is None


def test_words_that_the_task_asks_for_must_have_been_said_to_the_user() -> None:
    task: Json = {"outputs": ["1628", "Gold"]}
    assert told([], [], task=task, said=("It is $1,628.", "You are GOLD.")).effect_of_trial == "caused"
    assert told([PAID], [PAID], task=task, said=("It is 1628.",)).state == "failed"
    # in the recordings of this kind a message that asks for tools was never shown to the user
    assert told([], [], task=task, said=("You are gold.",), asking="1628").state == "failed"
    told_beside: Json = {"evaluation_criteria": {"communicate_info": ["1628"]}}
    assert told([], [], task=told_beside, said=("Hello.",), asking="1628").state == "verified"


def test_a_word_that_is_not_among_half_of_what_was_said_may_have_been_said() -> None:
    changes = Told(actual=[], gold=[], calls=[], by=None, span_id="s" * 16, time=1)
    half = replace(
        trial("t", content="partial"),
        recorded_changes=(changes,),
        task_definition={"outputs": ["1628"]},
        spoken=(Spoken(text="It is done.", span_id="1", with_calls=False),),
    )
    found = RecordedChanges().outcome(half)
    assert found is not None
    assert (found.state, found.reason) == ("unavailable", "not_captured")


@pytest.mark.parametrize(
    ("basis", "actual", "state", "reason"),
    [
        (["DB"], [PAID], "verified", "1 check passed"),
        (["DB", "ENV_ASSERTION"], [PAID], "unavailable", "needs_replay: ENV_ASSERTION"),
        (["DB", "ENV_ASSERTION"], [], "failed", "state: missing: /orders/W1"),
        (["ENV_ASSERTION"], [], "unavailable", "needs_replay: ENV_ASSERTION"),
    ],
)
def test_criteria_that_changes_cannot_show_leave_the_verdict_open(
    basis: list[Json], actual: Json, state: str, reason: str
) -> None:
    found = told(actual, [PAID], task={"evaluation_criteria": {"reward_basis": basis}})
    assert (found.state, found.reason) == (state, reason)


LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=3))
VALUES = st.recursive(
    LEAVES, lambda of: st.lists(of, max_size=3) | st.dictionaries(st.text(max_size=2), of, max_size=3)
)
CHANGES = st.lists(
    st.fixed_dictionaries({"path": st.text(max_size=3), "before": VALUES, "after": VALUES}),
    min_size=1,
    max_size=4,
    unique_by=lambda one: str(one["path"]),
)


@settings(max_examples=60, deadline=None)
@given(changes=CHANGES, data=st.data())
def test_any_changes_are_as_meant_by_themselves_and_one_flipped_leaf_flips_the_verdict(
    changes: list[Any], data: st.DataObject
) -> None:
    assert told(changes, changes[::-1]).state == "verified"
    places = leaves(changes)
    if places:
        *way, last = data.draw(st.sampled_from(places))
        flipped = json.loads(json.dumps(changes))
        at = flipped
        for step in way:
            at = at[step]
        at[last] = [at[last], "flipped"]
        assert told(flipped, changes).state == "failed"


def leaves(value: object, path: tuple[int | str, ...] = ()) -> list[tuple[int | str, ...]]:
    """Return the places of values that hold no others, those of paths left out."""
    inside = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    if not inside:
        return [path] if path else []
    return [place for key, item in inside if key != "path" or len(path) != 1 for place in leaves(item, (*path, key))]


# --- recordings of others, read in place ---------------------------------------------------------------------------


KEPT = ("id", "actual_changes", "gold_changes", "calls")
"""What counts of a line of recorded changes."""


def lines_of(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SESSIONS / "dev" / name).read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def tau_bench(tmp_path: Path) -> Path:
    """Return a folder with the sessions of tau-bench, and beside them of what was recorded the fields that count."""
    files = sorted((SESSIONS / "dev" / "sessions" / "tau-bench").iterdir())
    for file in files:
        (tmp_path / file.name).symlink_to(file)
    names = {file.stem for file in files}
    lines = [{key: line[key] for key in KEPT if key in line} for line in lines_of("endstate.jsonl")]
    text = "".join(json.dumps(line) + "\n" for line in lines if line["id"] in names)
    (tmp_path / "endstate.jsonl").write_text(text, encoding="utf-8")
    return tmp_path


@needs_sessions
def test_the_verdict_on_every_finished_session_is_the_published_one(shared_store: SharedStore, tau_bench: Path) -> None:
    published = {line["id"]: line for line in lines_of("manifest.jsonl") if line["source"] == "tau-bench"}
    with shared_store.lent() as store:
        import_paths(store, [tau_bench])
        found = {stem(one.trial): one for one in evaluate(store, Filter(), None, sources=(RecordedChanges(),))}
    assert found.keys() == published.keys()
    finished = {name: one for name, one in found.items() if published[name]["termination"] != "max_steps"}
    assert (len(finished), len(found)) == (127, 132)
    states = {True: "verified", False: "failed"}
    assert {name: one.outcome.state for name, one in finished.items()} == {
        name: states[published[name]["ground_truth_success"]] for name in finished
    }
    limited = [one for name, one in found.items() if name not in finished]
    assert {(one.trial.status, one.trial.status_reason, one.solved, one.aborted) for one in limited} == {
        ("aborted", "budget_exhausted", False, True)
    }


def stem(trial: Trial) -> str:
    return Path(str(trial.path)).stem
