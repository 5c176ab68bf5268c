"""Evaluating the evaluators: a sound check passes what it must and nothing else, and each planted weakness is found."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from spanproof_evaluators.errors import TrustCardError
from spanproof_evaluators.harness.example.making import write_example
from spanproof_evaluators.harness.trust import try_suite
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.suites import Suite, read_suite
from spanproof_evaluators.model.trust_cards import TaskTrust, TrustCard, folder_of, path_of, read_card, save_card
from spanproof_evaluators.reports.trust import card_line
from spanproof_evaluators.runner.python_suites import OpenSuite, open_suite
from spanproof_evaluators.runner.suite_checks.trust import of_card

SHOP: dict[str, Plain] = {"sqlite": "shop.db", "folder": "office"}
REFUND = "INSERT INTO refunds VALUES ('A-1', 25)"
TASKS: list[dict[str, Plain]] = [
    {
        "id": "sound",
        "start": SHOP,
        "reference": {"sql": REFUND, "files": {"out/a.txt": "A-1 refunded: 25"}, "answer": "Refunded A-1: 25."},
        "checks": [
            {"kind": "rows", "table": "refunds", "where": {"order_id": "A-1"}, "values": {"amount": 25}, "exactly": 1},
            {"kind": "rows", "table": "refunds", "exactly": 1},
            {"kind": "files", "glob": "out/*.txt", "exactly": 1, "contains": ["A-1 refunded: 25"]},
            {"kind": "answer", "contains": ["A-1: 25."]},
        ],
    },
    {
        "id": "vacuous",
        "start": SHOP,
        "checks": [{"kind": "rows", "table": "orders", "where": {"id": "A-1"}, "exactly": 1}],
    },
    {
        "id": "dumped",
        "start": SHOP,
        "reference": {"answer": "It is delivered."},
        "checks": [{"kind": "answer", "contains": ["delivered"]}],
    },
    {
        "id": "weak",
        "start": SHOP,
        "reference": {"sql": REFUND},
        "checks": [{"kind": "rows", "table": "refunds", "where": {"order_id": "A-1"}, "at_least": 1}],
    },
    {
        "id": "wrong",
        "start": SHOP,
        "reference": {"run": "mkdir -p out && echo B-2 > out/a.txt"},
        "checks": [{"kind": "files", "glob": "out/*.txt", "contains": ["A-1"]}],
    },
    {
        "id": "hidden",
        "start": SHOP,
        "hidden": {"files": {"tests/check.py": "import sys; sys.exit('42' not in open('number.txt').read())"}},
        "reference": {"files": {"number.txt": "42"}},
        "checks": [{"kind": "command", "destination": "world", "run": "python3 tests/check.py"}],
    },
    {  # what it runs loads a hook out of the world, as test runners do
        "id": "open",
        "start": SHOP,
        "checks": [{"kind": "command", "destination": "world", "run": "python3 -c 'import conftest'"}],
    },
    {
        "id": "changing",
        "start": SHOP,
        "changes": [{"after": {"tool_calls": 1}, "sql": "UPDATE orders SET state = 'cancelled'"}],
        "reference": {"answer": "It is cancelled."},
        "checks": [
            {"kind": "answer", "contains": ["It is cancelled"]},
            {"kind": "rows", "table": "orders", "where": {"state": "cancelled"}, "exactly": 1},
        ],
    },
    {"id": "unjudged", "start": SHOP},
]


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> TrustCard:
    base = tmp_path_factory.mktemp("suite")
    (base / "office" / "tests").mkdir(parents=True)
    (base / "office" / "tests" / "test_it.py").write_text("def test_it():\n    assert False\n", encoding="utf-8")
    with closing(sqlite3.connect(base / "shop.db")) as made:
        made.executescript(
            "CREATE TABLE orders (id TEXT, state TEXT); INSERT INTO orders VALUES ('A-1', 'delivered');"
            "CREATE TABLE refunds (order_id TEXT, amount INTEGER);"
        )
    suite = Suite.model_validate_json(json.dumps({"id": "shop", "tasks": TASKS}))
    suite.set_origin(base)
    return try_suite(OpenSuite(suite=suite), mutants=50, jobs=2)


def about(card: TrustCard, task: str) -> TaskTrust:
    found = card.task(task)
    assert found is not None
    return found


def test_a_sound_task_fails_all_it_must_and_passes_its_reference(card: TrustCard) -> None:
    found = about(card, "sound")
    assert (found.null, found.dump, found.reference, found.impossible) == ("failed", "failed", "verified", "failed")
    assert (found.killed, found.survivors) == (found.mutants, ())
    assert found.mutants >= 8  # of the row, of the file and of the answer: dropped, doubled, altered
    assert (found.tampering, found.problems) == ("harmless", ())


@pytest.mark.parametrize(
    ("task", "problem"),
    [
        ("vacuous", "vacuous: an agent that does nothing passes"),
        ("dumped", "an agent that prints all it can see passes"),
        ("wrong", "the reference solution fails"),
        ("open", "tampering passes"),
    ],
)
def test_each_weakness_is_found_and_is_grave(card: TrustCard, task: str, problem: str) -> None:
    found = about(card, task)
    assert found.problems == (problem,)
    assert found.grave


def test_altered_end_states_that_pass_are_named(card: TrustCard) -> None:
    found = about(card, "weak")
    assert set(found.survivors) == {"a row of refunds is there twice", "amount of a row of refunds is another"}
    assert found.killed == found.mutants - 2 > 0
    assert not found.grave  # its verdicts say less than one thinks, and are not wrong


def test_who_touches_hidden_tests_is_seen(card: TrustCard) -> None:
    found = about(card, "hidden")
    assert (found.null, found.reference, found.tampering) == ("failed", "verified", "seen")
    assert "tests/check.py" in found.tampered
    assert (found.impossible, found.untried["impossible"][:20]) == (None, "its checks are code,")


def test_the_reference_works_in_the_world_as_it_is_after_its_changes(card: TrustCard) -> None:
    assert about(card, "changing").reference == "verified"


def test_what_was_not_tried_is_said_and_is_no_pass(card: TrustCard) -> None:
    found = about(card, "unjudged")
    assert (found.null, found.untried["all"]) == (None, "the task has no check")
    said = {one.id: (one.level, set(one.tasks)) for one in of_card(card)}
    assert said["not_tried"] == ("warning", {"unjudged"})
    assert said["no_reference"] == ("warning", {"vacuous", "open", "unjudged"})
    assert said["vacuous"] == ("failure", {"vacuous"})
    assert said["dump_passes"] == ("failure", {"dumped"})
    assert said["reference_fails"] == ("failure", {"wrong"})
    assert said["tampering_passes"] == ("failure", {"open"})
    assert said["mutants_survive"] == ("warning", {"weak"})


def test_the_examples_references_solve_it_and_its_vacuous_task_is_the_planted_one(tmp_path: Path) -> None:
    example = write_example(tmp_path / "example", seed=7)
    parts = [example.tasks[name] for name in ("document", "repair", "refund", "raised")]  # one of each kind of world
    found = try_suite(open_suite(example.suite), tasks=parts, mutants=0, jobs=2)
    assert {one.task: one.reference for one in found.tasks} == dict.fromkeys(parts, "verified")
    assert found.vacuous == (example.tasks["document"],)
    assert [one.task for one in found.tasks if one.tampering == "seen"] == [example.tasks["repair"]]
    solved = [task.reference for task in read_suite(example.suite).tasks]
    assert len(solved) == len(example.tasks)
    assert None not in solved


def test_a_card_lies_beside_its_store_and_tells_when_it_is_of_another_version(card: TrustCard, tmp_path: Path) -> None:
    folder = folder_of(f"chdb://{tmp_path}/store")
    assert folder == tmp_path / "store-trust"
    assert read_card(folder, "shop") is None
    save_card(folder, card)
    assert read_card(folder, "shop") == card
    assert card.isolation in ("namespace", "process")
    assert "1 vacuous (vacuous)" in card_line(card, card.suite_hash)
    assert "of another version" in card_line(card, "0" * 64)
    path_of(folder, "shop").write_text("{}", encoding="utf-8")
    with pytest.raises(TrustCardError):
        read_card(folder, "shop")
