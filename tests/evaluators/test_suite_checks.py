"""A suite's own checks: each planted fault is found, warnings are none of the failures, and a sound set passes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from spanproof_evaluators.cli.group import cli
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.suite_findings import SuiteFinding
from spanproof_evaluators.model.suites import Suite
from spanproof_evaluators.runner.python_suites import OpenSuite
from spanproof_evaluators.runner.suite_checks import check_suite

COUNTS = {"wyszukanie_z_cytatem": 15, "synteza": 13, "poprawna_odmowa": 10, "wieloetapowe": 8, "odpornosc": 4}
"""The founding report's fifty questions by category."""

WORDS = ("ada", "bay", "cup", "den", "elm", "fog", "gem", "hut", "ink", "jar")


def tasks() -> list[dict[str, Plain]]:
    """Return a set without a fault: fifty questions, no two alike."""
    found: list[dict[str, Plain]] = []
    for category, number in COUNTS.items():
        for _ in range(number):
            at = len(found)
            prompt = " ".join([WORDS[at // 10], WORDS[at % 10], f"w{at}", f"x{at}", f"y{at}"])
            found.append(
                {
                    "id": f"Z{at}",
                    "category": category,
                    "prompt": prompt,
                    "runs": 3,
                    "origin": {"source": "failure", "outcome": "failed" if at % 2 else "verified"},
                    "checks": [{"kind": "answer", "contains": [f"a{at}"]}],
                }
            )
    return found


def found(given: list[dict[str, Plain]], folder: Path, **more: Plain) -> dict[str, list[SuiteFinding]]:
    suite = Suite.model_validate({"id": "golden", "tasks": given, **more})
    said: dict[str, list[SuiteFinding]] = {}
    for one in check_suite(OpenSuite(suite=suite), baselines=folder, calibrations=folder / "none"):
        said.setdefault(one.id, []).append(one)
    return said


def levels(said: dict[str, list[SuiteFinding]]) -> dict[str, set[str]]:
    return {name: {one.level for one in every} for name, every in said.items()}


def test_a_sound_set_has_no_failure_and_is_told_what_it_cannot_show(tmp_path: Path) -> None:
    said = found(tasks(), tmp_path)
    told = levels(said)
    assert not [name for name, level in told.items() if "failure" in level]
    assert {name for name, level in told.items() if "warning" in level} == {"power", "baseline", "judge_calibration"}
    (power,) = said["power"]
    assert power.facts["power"] == pytest.approx(0.127, abs=0.0005)  # evaluators.md A.6: 12.7 % at 50 tasks


def without(number: int, category: str) -> list[dict[str, Plain]]:
    left = number
    kept = []
    for one in tasks():
        if one["category"] == category and left:
            left -= 1
            continue
        kept.append(one)
    return kept


def changed(**fields: Plain) -> list[dict[str, Plain]]:
    first, *rest = tasks()
    return [{**first, **fields}, *rest]


@pytest.mark.parametrize(
    ("given", "name", "level"),
    [
        (tasks()[:19], "size", "failure"),
        (tasks()[:49], "size", "warning"),
        (without(1, "poprawna_odmowa"), "refusals", "ok"),  # 9 of 49 are 18.4 %
        (without(2, "poprawna_odmowa"), "refusals", "failure"),  # 8 of 48 are 16.7 %
        (without(4, "odpornosc"), "shares", "failure"),
        (without(6, "synteza"), "shares", "warning"),  # 7 of 44 are 15.9 %, and 25 % the target
        (changed(runs=1), "runs", "failure"),
        (changed(runs=5), "runs", "warning"),
        (changed(checks=[]), "no_verifier", "failure"),
        (changed(checks=[{"kind": "answer", "not_contains": ["no"]}]), "passes_idle", "failure"),
        (changed(origin={"source": "generated"}), "unchecked_answers", "failure"),
        (changed(origin={"source": "log", "model": "m-1"}), "unchecked_answers", "failure"),
        (changed(origin={"source": "generated", "model": "m-1", "checked_by": "Ada"}), "unchecked_answers", ""),
        (changed(prompt=tasks()[1]["prompt"]), "duplicates", "warning"),
        (changed(prompt=tasks()[1]["prompt"], checks=tasks()[1]["checks"]), "duplicates", "failure"),
        ([{**one, "origin": {"source": "log", "outcome": "verified"}} for one in tasks()], "survivorship", "warning"),
        ([{**one, "origin": None} for one in tasks()], "origins", "warning"),
        (
            changed(checks=[{"kind": "command", "destination": "world", "run": "pytest"}]),
            "seen_tests",
            "warning",
        ),
        (
            changed(
                checks=[{"kind": "command", "destination": "world", "run": "pytest"}],
                hidden={"files": {"tests/test_x.py": ""}},
            ),
            "seen_tests",
            "",
        ),
        (
            changed(pass_score=0.75, checks=[{"kind": "answer", "contains": ["a"], "weight": 1, "required": False}]),
            "partial_credit",
            "warning",
        ),
    ],
)
def test_each_fault_is_found_and_told_as_what_it_is(
    given: list[dict[str, Plain]], name: str, level: str, tmp_path: Path
) -> None:
    assert levels(found(given, tmp_path)).get(name, {""}) == {level}


def test_declared_shares_are_held_and_cannot_be_more_than_the_whole(tmp_path: Path) -> None:
    two: list[dict[str, Plain]] = [{**one, "category": "a" if at < 30 else "b"} for at, one in enumerate(tasks())]
    assert levels(found(two, tmp_path, shares={"a": 0.6, "b": 0.4})).get("shares") is None
    assert [one.level for one in found(two, tmp_path, shares={"a": 0.7, "b": 0.4})["shares"]] == ["warning", "failure"]


@pytest.mark.parametrize(("kept", "code"), [(50, 0), (19, 1)])
def test_the_command_tells_failures_by_its_exit_code(kept: int, code: int, tmp_path: Path) -> None:
    file = tmp_path / "golden.json"
    file.write_text(json.dumps({"id": "golden", "tasks": tasks()[:kept]}), encoding="utf-8")
    arguments = ["suite", "check", str(file), "--baselines", str(tmp_path), "--json"]
    result = CliRunner().invoke(cli, arguments, standalone_mode=False)
    told = json.loads(result.stdout)
    assert (result.return_value, told["decision"]) == (code, {0: "pass", 1: "fail"}[code])
    assert {one["id"] for one in told["findings"]} >= {"size", "power", "refusals", "runs", "origins", "baseline"}


@pytest.mark.parametrize(
    ("text", "level"),
    [('{"agreement": 0.85, "n": 40}', "warning"), ("", "failure"), ("[]", "failure"), ("{x", "warning")],
)
def test_a_calibration_that_nobody_can_recount_is_a_warning_and_an_empty_one_a_failure(
    text: str, level: str, tmp_path: Path
) -> None:
    file = tmp_path / "kalibracja.json"
    file.write_text(text, encoding="utf-8")
    opened = OpenSuite(suite=Suite.model_validate({"id": "golden", "tasks": tasks()}))
    said = check_suite(opened, baselines=tmp_path, calibrations=file)
    assert [one.level for one in said if one.id == "judge_calibration"] == [level]
