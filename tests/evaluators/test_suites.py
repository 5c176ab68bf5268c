"""Suites: what people write is taken literally or refused."""

import json
from pathlib import Path

import pytest

from spanproof_evaluators.errors import SuiteError
from spanproof_evaluators.model.end_states import EndState, UnreadableEndStateError
from spanproof_evaluators.model.suites import parse_suite, read_suite

TASK: dict[str, object] = {
    "id": "a",
    "limits": {"max_cost_usd": "0.60"},
    "checks": [{"kind": "rows", "table": "t", "where": {"x": 1}, "exactly": 1}],
}
WHOLE: dict[str, object] = {"id": "shop", "tasks": [TASK]}


def refused(document: object) -> SuiteError:
    with pytest.raises(SuiteError) as found:
        parse_suite(json.dumps(document), name="shop.json")
    return found.value


def with_task(**fields: object) -> dict[str, object]:
    return {"id": "shop", "tasks": [{"id": "a", **fields}]}


@pytest.mark.parametrize(
    ("document", "key", "why"),
    [
        ({**WHOLE, "taks": []}, "taks", "unknown key"),
        (with_task(max_repeat=1), "tasks.0.max_repeat", "unknown key"),
        (with_task(limits={"max_step": 1}), "tasks.0.limits.max_step", "unknown key"),
        (with_task(checks=[{"kind": "rows", "table": "t", "exact": 1}]), "tasks.0.checks.0.rows.exact", "unknown key"),
        (with_task(checks=[{"kind": "sqll"}]), "tasks.0.checks.0", "does not match"),
        ({"tasks": []}, "id", "missing"),
        (with_task(limits={"max_steps": "4"}), "tasks.0.limits.max_steps", "valid integer"),
        ({"id": "s", "tasks": [{"id": "a"}, {"id": "a"}]}, "", "two tasks are called 'a'"),
        (with_task(checks=[{"kind": "unchanged"}]), "tasks.0.checks.0.unchanged", "stay unchanged"),
        (with_task(checks=[{"kind": "answer"}]), "tasks.0.checks.0.answer", "what the answer contains"),
        (
            with_task(checks=[{"kind": "files", "glob": "*", "exactly": 1, "at_most": 2}]),
            "tasks.0.checks.0.files",
            "not both",
        ),
    ],
)
def test_a_suite_that_is_wrong_is_refused_by_file_and_key(document: object, key: str, why: str) -> None:
    error = refused(document)
    assert error.key == key
    assert why in error.why
    assert str(error).startswith("shop.json: ")


def test_text_that_is_no_json_is_refused() -> None:
    with pytest.raises(SuiteError, match="no JSON"):
        parse_suite("{", name="shop.json")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="cannot be read"):
        read_suite(tmp_path / "none.json")


@pytest.mark.parametrize(
    "checks",
    [
        [{"kind": "unchanged", "tables": ["orders"]}],
        [{"kind": "unchanged", "tables": ["orders"]}, {"kind": "answer", "not_contains": ["x"]}],
        [{"kind": "unchanged", "tables": ["orders"]}, {"kind": "rows", "table": "t", "at_most": 0}],
        [{"kind": "answer", "contains": ["no"]}],
    ],
)
def test_a_task_that_expects_no_change_needs_a_check_that_an_idle_agent_fails(checks: list[dict[str, object]]) -> None:
    assert "an agent that does nothing passes" in refused(with_task(expects="no_change", checks=checks)).why


def test_layout_and_spelled_out_defaults_do_not_change_the_hash() -> None:
    plain = parse_suite(json.dumps(WHOLE), name="a")
    spelled = {"tasks": [{**TASK, "expects": "change", "forbidden_tools": []}], "id": "shop"}
    assert parse_suite(json.dumps(spelled, indent=4), name="b").hash == plain.hash


def test_a_changed_check_changes_the_hash() -> None:
    text = json.dumps(WHOLE)
    assert parse_suite(text, name="a").hash != parse_suite(text.replace('"x": 1', '"x": 2'), name="a").hash


def test_a_number_in_a_condition_stays_the_number_that_was_written() -> None:
    check = parse_suite(json.dumps(WHOLE).replace('"x": 1', '"x": true'), name="a").tasks[0].checks[0]
    assert check.where["x"] is True  # type: ignore[union-attr]


def test_a_task_that_a_suite_does_not_know_is_none() -> None:
    suite = parse_suite(json.dumps(WHOLE), name="a")
    assert suite.task("a") is suite.tasks[0]
    assert suite.task("b") is None
    assert suite.task(None) is None


@pytest.mark.parametrize("text", ["", "[]", '{"tables": []}', '{"tables": {"t": [1]}}', '{"files": {"a": 1}}'])
def test_a_recorded_text_that_is_no_end_state_is_refused(text: str) -> None:
    with pytest.raises(UnreadableEndStateError):
        EndState.parse(text)


def test_an_end_state_that_lacks_tables_is_not_one_without_rows() -> None:
    assert EndState.parse('{"files": {}}').tables is None
    assert EndState.parse('{"tables": {}}').tables == {}
