"""Predicates of one's own: what they say counts, what becomes of them does not."""

import sys
from pathlib import Path

import pytest

from spanproof_evaluators.verifiers import Check, EndState, Place, PythonCheck, RowsCheck, checked, declared, judge
from tests.evaluators.verifiers.asking import said

PREDICATES = """
import os, sys, time
from dataclasses import dataclass

def yes(before, after): return True
def no(before, after): return False
def holds(before, after, order):
    assert any(row["id"] == order for row in after.tables["orders"]), f"no order {order}"
    return True
def bare_assertion(before, after): assert after.tables is None
def raises(before, after): raise KeyError("column")
def leaves(before, after): sys.exit(0)
def crashes(before, after): os._exit(0)
def killed(before, after): os.kill(os.getpid(), 9)
def sleeps(before, after): time.sleep(600)
def floods(before, after):
    while True: print("x" * 1000)
def prints(before, after): print("noise"); print("noise", file=sys.stderr); return True
def nothing(before, after): return None
def text(before, after): return "True"
def one(before, after): return 1
def empty(before, after): return []
def result(before, after): return {"passed": True, "score": 0.75, "details": "three of four"}
@dataclass
class EvalResult:
    passed: bool
    score: float
    details: str
def dataclass_result(before, after): return EvalResult(False, 0.25, "one of four")
def wrong_score(before, after): return {"passed": True, "score": 7}
def nan_score(before, after): return {"passed": True, "score": float("nan")}
def truthy(before, after): return {"passed": "yes"}
def several(before, after):
    return [{"name": "a", "passed": True, "seen": "1"}, {"name": "b", "passed": None, "reason": "no_disk"}]
def world(before, after):
    return before is None and after.answer == "hi" and after.places["shop"].location == "sqlite:///x?key=tok-12345"
def unasked(before, after): return after.places == {}
def environment(before, after): return "SECRET_TOKEN" not in os.environ and os.environ.get("GIVEN") == "tok-12345"
def tells(before, after): raise RuntimeError("the key is " + os.environ["GIVEN"])
def stdin(before, after): return sys.stdin.read() == ""
class Group:
    @staticmethod
    def yes(before, after): return True
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("predicates")
    (folder / "mine.py").write_text(PREDICATES)
    (folder / "broken.py").write_text("assert False, 'at import'\n")
    return folder


AFTER = EndState(
    tables={"orders": ({"id": "A"},)},
    answer="hi",
    places={"shop": Place(kind="sql", location="sqlite:///x?key=${SECRET_TOKEN}")},
)


def asked(base: Path, function: str, after: EndState = AFTER, /, **fields: object) -> list[Check]:
    spec = PythonCheck.model_validate({"kind": "python", "function": function, **fields})
    return checked(spec, None, after, base)


@pytest.mark.parametrize(
    ("function", "fields", "expected"),
    [
        ("mine.py:yes", {}, (True, None)),
        ("mine:yes", {}, (True, None)),
        ("mine.py:Group.yes", {}, (True, None)),
        ("mine.py:no", {}, (False, None)),
        ("mine.py:holds", {"arguments": {"order": "A"}}, (True, None)),
        ("mine.py:holds", {"arguments": {"order": "B"}}, (False, None)),
        ("mine.py:bare_assertion", {}, (False, None)),
        ("mine.py:prints", {}, (True, None)),
        ("mine.py:result", {}, (True, None)),
        ("mine.py:dataclass_result", {}, (False, None)),
        ("mine.py:unasked", {}, (True, None)),
        ("mine.py:stdin", {}, (True, None)),
        ("mine.py:holds", {}, (None, "python_raised")),
        ("mine.py:raises", {}, (None, "python_raised")),
        ("mine.py:leaves", {}, (None, "python_raised")),
        ("mine.py:crashes", {}, (None, "python_crashed")),
        ("mine.py:killed", {}, (None, "python_crashed")),
        ("mine.py:sleeps", {"timeout": 1.5}, (None, "timeout")),
        ("mine.py:floods", {"max_output": 100_000}, (None, "output_limit")),
        ("mine.py:nothing", {}, (None, "unexpected_result")),
        ("mine.py:text", {}, (None, "unexpected_result")),
        ("mine.py:one", {}, (None, "unexpected_result")),
        ("mine.py:empty", {}, (None, "unexpected_result")),
        ("mine.py:wrong_score", {}, (None, "unexpected_result")),
        ("mine.py:nan_score", {}, (None, "unexpected_result")),
        ("mine.py:truthy", {}, (None, "unexpected_result")),
        ("mine.py:missing", {}, (None, "python_not_loaded")),
        ("none.py:yes", {}, (None, "python_not_loaded")),
        ("broken.py:yes", {}, (None, "python_not_loaded")),
        ("mine.py:yes", {"uses": ["none"]}, (None, "destination_not_given")),
    ],
)
def test_only_what_the_function_says_is_a_verdict(
    base: Path, function: str, fields: dict[str, object], expected: tuple[bool | None, str | None]
) -> None:
    (found,) = asked(base, function, **fields)
    assert said(found) == expected


def test_a_function_is_not_asked_about_nothing(base: Path) -> None:
    spec = PythonCheck(kind="python", function="mine.py:yes")
    nothing = EndState(missing="end_state_not_recorded")
    (found,) = checked(spec, None, nothing, base)
    assert said(found) == (None, "end_state_not_recorded")
    (found,) = checked(spec, None, EndState(answer="hi"), base)
    assert said(found) == (True, None)


def test_what_looks_at_the_world_by_itself_says_nothing_of_the_world_before(base: Path) -> None:
    spec = PythonCheck(kind="python", function="mine.py:holds", arguments={"order": "A"})
    verifier = declared([spec, RowsCheck(kind="rows", table="orders")], base=base)
    found = judge(verifier, EndState(missing="digest_mismatch"), AFTER, name="v")
    assert (found.state, found.pre_state, found.effect_of_trial) == ("verified", "unavailable", None)


def test_a_result_has_its_score_and_its_details(base: Path) -> None:
    (found,) = asked(base, "mine.py:result")
    assert (found.score, found.seen) == (0.75, "three of four")


def test_an_assertion_says_what_was_wrong(base: Path) -> None:
    (found,) = asked(base, "mine.py:holds", arguments={"order": "B"})
    assert found.seen == "no order B"


def test_a_list_of_checks_is_taken_check_by_check(base: Path) -> None:
    found = asked(base, "mine.py:several")
    assert [(one.name, one.passed, one.reason) for one in found] == [("a", True, None), ("b", None, "no_disk")]


def test_it_is_given_the_destinations_that_it_uses_and_their_secrets(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "tok-12345")
    (found,) = asked(base, "mine.py:world", uses=["shop"])
    assert said(found) == (True, None)
    (found,) = asked(base, "mine.py:environment", env={"GIVEN": "${SECRET_TOKEN}"})
    assert said(found) == (True, None)


def test_its_errors_do_not_tell_secrets(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "tok-12345")
    (found,) = asked(base, "mine.py:tells", env={"GIVEN": "${SECRET_TOKEN}"})
    assert found.reason == "python_raised"
    assert "the key is ${SECRET_TOKEN}" in found.seen
    assert "12345" not in repr(found)


def test_its_definition_changes_with_its_code(base: Path) -> None:
    (before,) = asked(base, "mine.py:yes")
    (again,) = asked(base, "mine:yes", EndState())
    (base / "mine.py").write_text(PREDICATES + "\n# another day\n")
    (after,) = asked(base, "mine.py:yes")
    assert len({before.definition, again.definition, after.definition}) == 3


def test_what_it_loads_is_not_loaded_here(base: Path) -> None:
    asked(base, "mine:yes")
    assert not {"mine", "spanproof_verifier"} & sys.modules.keys()
