"""Missing evidence is no pass, of no kind of check."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spanproof_evaluators.model.checks import BUILT_IN, CheckKind, CheckSpec, _any, kinds
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.verifiers import Check, EndState, Place, checked, declared
from tests.evaluators.verifiers.asking import ask, said

ONE_OF_EACH: dict[str, dict[str, object]] = {
    "rows": {"table": "orders", "at_most": 5},
    "files": {"glob": "**", "at_most": 5},
    "unchanged": {"tables": ["orders"], "files": ["**"]},
    "answer": {"not_contains": ["never"]},
    "python": {"function": "yes.py:yes", "uses": ["work"]},
    "command": {"destination": "work", "run": ["true"]},
    "sql": {"destination": "shop", "query": "select 1", "exactly": 1},
    "http": {"destination": "api", "status": [404], "attempts": 1, "timeout": 1},
    "git": {"destination": "repo", "base": "main", "max_changed_files": 99},
}
"""One of each kind, as lenient as it can be: with all evidence there, an untouched world passes nearly all of them."""


def spec(kind: str) -> CheckSpec:
    return BUILT_IN[kind].model_validate({"kind": kind, **ONE_OF_EACH[kind]})


def test_there_is_one_of_each_kind() -> None:
    assert ONE_OF_EACH.keys() == BUILT_IN.keys()


@pytest.mark.parametrize("kind", BUILT_IN)
def test_nothing_recorded_and_nothing_named_is_a_gap_for_every_kind(kind: str, tmp_path: Path) -> None:
    (tmp_path / "yes.py").write_text("def yes(before, after): return True\n")
    nothing = EndState(answer_recorded=False)
    for before in (None, nothing):
        for found in checked(spec(kind), before, nothing, tmp_path):
            assert found.passed is None
            assert found.reason


@pytest.mark.parametrize("kind", ["python", "command", "sql", "http", "git"])
@pytest.mark.parametrize("problem", ["placeholder_unsafe", None])
def test_a_place_that_is_unknown_or_of_another_kind_is_a_gap(kind: str, problem: str | None, tmp_path: Path) -> None:
    (tmp_path / "yes.py").write_text("def yes(before, after): return True\n")
    (name,) = spec(kind).destinations
    other = "http" if kind != "http" else "sql"
    place = Place(kind=other, location="http://127.0.0.1:9/", problem=problem)  # type: ignore[arg-type]  # one of them
    (found,) = checked(spec(kind), None, EndState(places={name: place}), tmp_path)
    if kind == "python" and problem is None:
        assert found.passed is True  # it is given any place, and judges itself
    else:
        assert said(found) == (None, problem or "wrong_kind_of_destination")


TABLES = st.none() | st.dictionaries(
    st.sampled_from(["orders", "items"]),
    st.lists(st.fixed_dictionaries({"id": st.integers(0, 2)}), max_size=3).map(tuple),
    max_size=2,
)
FILES = st.none() | st.dictionaries(st.sampled_from(["a", "b/c", "d.json"]), st.text(max_size=5), max_size=3)
STATES = st.builds(
    EndState, tables=TABLES, files=FILES, answer=st.none() | st.text(max_size=9), answer_recorded=st.booleans()
)
SPECS = st.sampled_from(
    [
        {"kind": "rows", "table": "orders", "exactly": 1},
        {"kind": "rows", "table": "orders", "at_most": 0},
        {"kind": "rows", "table": "items", "where": {"id": 1}, "values": {"id": 1}},
        {"kind": "files", "glob": "**", "contains": ["x"]},
        {"kind": "files", "glob": "a", "exactly": 0},
        {"kind": "files", "changed_within": ["b/**"]},
        {"kind": "unchanged", "tables": ["orders"], "files": ["**"]},
        {"kind": "answer", "contains": ["1"]},
        {"kind": "answer", "not_contains": ["2"], "number": {"value": 1}},
        {"kind": "answer", "quote": {"source": "a", "min_length": 1}},
    ]
)
LOSSES: dict[str, Callable[[EndState], EndState]] = {
    "tables": lambda state: replace(state, tables=None),
    "files": lambda state: replace(state, files=None),
    "answer": lambda state: replace(state, answer=None, answer_recorded=False),
}


@given(st.lists(SPECS, min_size=1, max_size=3), st.none() | STATES, STATES, st.sampled_from([*LOSSES, "before"]))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
def test_losing_evidence_never_turns_anything_into_a_pass(
    specs: list[dict[str, object]], before: EndState | None, after: EndState, lost: str
) -> None:
    verifier = declared(Task.model_validate({"id": "t", "checks": specs}).checks)
    full = verifier(before, after)
    less = verifier(None, after) if lost == "before" else verifier(before, LOSSES[lost](after))
    assert full.state == "verified" or less.state != "verified"
    for one, other in zip(full.checks, less.checks, strict=True):
        assert one.passed is True or other.passed is not True


class ColorCheck(CheckSpec):
    """A kind that another package brings."""

    kind: str
    color: str


def test_a_kind_of_another_package_is_read_run_and_held_to_the_same_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(spec: CheckSpec, before: EndState | None, after: EndState) -> list[Check]:
        color = getattr(spec, "color", "")
        if color == "broken":
            raise OSError("the secret is tok-12345")
        return [Check(name="color", passed=after.answer == color)] if color != "none" else []

    brought = {"color": CheckKind(spec=ColorCheck, check=check)}
    monkeypatch.setattr(_any, "kinds", lambda: brought)
    monkeypatch.setattr("spanproof_evaluators.verifiers.kinds", lambda: brought)

    def found(color: str) -> Check:
        (one,) = Task.model_validate({"id": "t", "checks": [{"kind": "color", "color": color}]}).checks
        assert isinstance(one, ColorCheck)
        return ask(one, EndState(answer="red"))

    assert found("red").passed is True
    assert found("blue").passed is False
    assert said(found("broken")) == (None, "check_could_not_run")
    assert "12345" not in repr(found("broken"))
    assert said(found("none")) == (None, "check_could_not_run")
    with pytest.raises(ValueError, match=r"color\.colour: Extra inputs"):
        Task.model_validate({"id": "t", "checks": [{"kind": "color", "color": "red", "colour": 1}]})


def test_kinds_are_found_by_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "brought_kind.py").write_text(
        "from spanproof_evaluators.verifiers import Check, CheckKind, CheckSpec\n"
        "class Spec(CheckSpec):\n    pass\n"
        "kind = CheckKind(spec=Spec, check=lambda spec, before, after: [Check(name='x', passed=True)])\n"
    )
    info = tmp_path / "brought-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brought\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[spanproof.verifiers]\nbrought = brought_kind:kind\nrows = brought_kind:kind\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    kinds.cache_clear()
    try:
        (one,) = Task.model_validate({"id": "t", "checks": [{"kind": "brought"}]}).checks
        assert ask(one, EndState()).passed is True
        assert set(kinds()) == {"brought"}
    finally:
        kinds.cache_clear()


def test_no_kind_writes_where_it_looks(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    os.utime(tmp_path / "a", ns=(1, 1))
    state = EndState(places={"work": Place(kind="folder", location=str(tmp_path))})
    checked(spec("command"), None, state, tmp_path)
    assert [(path.name, path.stat().st_mtime_ns) for path in tmp_path.iterdir()] == [("a", 1)]
