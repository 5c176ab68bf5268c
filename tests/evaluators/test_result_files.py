"""Files of results that people have: recounted, and never made to say more than their rows do."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from spanproof_evaluators.cli.group import cli
from spanproof_evaluators.errors import ResultFileError
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.result_files import ResultFile, read_results
from spanproof_evaluators.model.result_files._format import ScoreSummary
from spanproof_evaluators.model.result_files.journals import journal_table
from spanproof_evaluators.model.result_files.trajectories import as_written, evaluate
from spanproof_evaluators.runner.in_process import try_cases, try_eval_cases
from spanproof_evaluators.runner.result_files import as_rows_report, extrapolated, measures_of, point_gate
from tests.shared import GOLDEN, needs_golden

ROW: dict[str, Plain] = {
    "fall": "a",
    "forsok": 0,
    "lyckades": True,
    "steg": 4,
    "tokens": 100,
    "sek": 1.5,
    "status": "klar",
}


def written(folder: Path, text: str, name: str = "results.jsonl") -> ResultFile:
    (folder / name).write_text(text, encoding="utf-8")
    return read_results(folder / name)


def lines(*items: Mapping[str, Plain]) -> str:
    return "\n".join(json.dumps(one) for one in items)


def test_rows_give_the_five_figures_over_all_rows(tmp_path: Path) -> None:
    found = written(
        tmp_path,
        lines(
            ROW,
            {**ROW, "forsok": 1, "lyckades": False, "tokens": 300},
            {**ROW, "fall": "b", "lyckades": False, "tokens": 200, "status": "avbruten"},
            {**ROW, "fall": "b", "forsok": 1, "steg": 6, "tokens": 400},
        ),
    )
    assert as_rows_report(found) == {
        "losningsgrad": 0.5,
        "pass_at_1": 0.5,  # of the first attempts: a yes, b no
        "kostnad_per_lyckad": 500.0,  # 1000 tokens of all rows over two that were solved
        "medelsteg_lyckade": 5.0,
        "avbrutna": 0.25,
    }


def test_where_nothing_was_solved_there_is_no_cost_of_a_success(tmp_path: Path) -> None:
    told = measures_of(written(tmp_path, lines({**ROW, "lyckades": False})))
    cost, steps = told["tokens_per_verified_outcome"], told["steps_when_solved"]
    assert (cost.value, cost.numerator, cost.reason) == (None, 100, "no verified outcome")
    assert (steps.value, steps.reason) == (None, "no verified outcome")


def test_runs_are_estimated_without_bias_and_the_plug_in_is_named_so(tmp_path: Path) -> None:
    found = written(tmp_path, '{"task": "add-pages", "runs": [true, true, false, true, true]}')
    told = measures_of(found)
    assert told["pass_hat_3"].value == pytest.approx(0.4)  # C(4,3)/C(5,3); 0.8^3 is 0.512
    assert told["pass_at_3"].value == 1.0
    assert told["pass_hat_5"].value == 0.0
    assert extrapolated(found, 3)["pass_hat_3_plug_in"] == pytest.approx(0.512)


def test_a_report_by_name_is_recounted_and_what_broke_has_no_verdict(tmp_path: Path) -> None:
    results: dict[str, Plain] = {
        "good": {"passed": True, "score": 1.0, "details": "File created"},
        "part": {"passed": True, "score": 0.75, "details": "PASS: function exists; PASS: docstring present"},
        "over": {"passed": False, "score": 0.0, "details": "Token budget exceeded"},
        "broken": {"passed": False, "score": 0.0, "details": "Error: connection refused"},
    }
    report: dict[str, Plain] = {"timestamp": "2026-01-01T00:00:00", "total": 4, "passed": 3, "avg_score": 0.438}
    found = written(tmp_path, json.dumps({**report, "results": results}), "report.json")
    told = measures_of(found)
    assert (told["solve_rate"].numerator, told["solve_rate"].denominator) == (2, 3)
    assert told["solve_rate"].excluded == {"infrastructure": 1}
    assert (told["aborted_rate"].numerator, told["aborted_rate"].denominator) == (1, 3)
    assert told["mean_score"].value == pytest.approx(1.75 / 3)
    assert found.doubts == (
        "passed is said to be 3; the results are 2",
        "part passed with a score of 0.75: a part of what was asked is not there",
    )


@pytest.mark.parametrize(
    ("text", "key", "why"),
    [
        (lines({**ROW, "token": 1}), "0.token", "Did you mean 'tokens'?"),
        (lines({key: value for key, value in ROW.items() if key != "status"}), "0.status", "missing"),
        (lines({**ROW, "lyckades": 1}), "", "neither true nor false"),
        (lines({"task": "a", "runs": [1]}), "", "no list of true and false"),
        (lines({"what": 1}), "", "no known file of results"),
        (lines({"ogolem": 840, "kategorie": {}, "sr_krokow": 4.2}), "", "no percentage"),
        ("| Task | Result | Layer |\n|---|---|---|\n| a | b |", "", "line 3 has 2 cells"),
        ("", "", "holds nothing"),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_key(text: str, key: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(ResultFileError) as found:
        written(tmp_path, text)
    assert found.value.key == key
    assert why in found.value.why


@needs_golden
def test_the_trajectory_evaluator_says_what_the_founding_one_does(tmp_path: Path) -> None:
    case = json.loads((GOLDEN / "G21_seed_trajectory_evaluator.json").read_text(encoding="utf-8"))
    events: list[dict[str, Plain]] = []
    for one in case["inputs"]["events"]:
        events.append({"typ": "narzedzie.wywolanie", "narzedzie": one["tool"], "argumenty": one["arguments"]})
        events.append({"typ": "narzedzie.wynik", "kod": one["error_code"]})
    spec = case["inputs"]["expected_spec"]
    asked = {
        "max_krokow": spec["max_steps"],
        "wymagane_narzedzia": spec["required"],
        "zakazane_narzedzia": spec["forbidden"],
    }
    said = evaluate(events, asked)
    expected = case["expected"]
    assert (said.steps, said.errors, said.repeats, list(said.tools)) == (
        expected["steps"],
        expected["errors"],
        expected["repeats"],
        expected["tools"],
    )
    assert (list(said.findings), said.clean) == (expected["findings"], expected["clean"])
    again = written(tmp_path, lines(as_written(said)))
    assert again.trajectories == (said,)
    told = measures_of(again)
    assert (told["clean_trajectories"].numerator, told["trials_with_repeats"].numerator) == (0, 1)


def test_arguments_in_another_order_are_the_same_call() -> None:
    calls: list[dict[str, Plain]] = [
        {"typ": "narzedzie.wywolanie", "narzedzie": "n", "argumenty": {"x": 1, "y": 2}},
        {"typ": "narzedzie.wywolanie", "narzedzie": "n", "argumenty": {"y": 2, "x": 1}},
    ]
    assert evaluate(calls, {}).repeats == 1


TAGALOG = """
| Gawain                  | Resulta                       | Layer         |
|-------------------------|-------------------------------|---------------|
| pagination /payments    | "tapos na", 2 test ang pula   | beripikasyon  |
| timeout ng webhook      | 30 min sa pip install         | kapaligiran   |
| refunds                 | lumang syntax \\| ORM          | konteksto     |
| bago                    | nawala ang id                 | modelo        |
"""


def test_a_journal_is_read_by_its_layers_and_written_as_a_table(tmp_path: Path) -> None:
    found = written(tmp_path, TAGALOG, "journal.md")
    assert [row.layer for row in found.journal] == ["verification", "environment", "context", "modelo"]
    assert found.journal[2].result == "lumang syntax | ORM"
    assert len(found.doubts) == 1  # the model is none of the five layers
    assert written(tmp_path, journal_table(found.journal), "again.md").journal == found.journal


BASE: dict[str, Plain] = {
    "ogolem": 78.0,
    "kategorie": {"synteza": 69.0, "poprawna_odmowa": 90.0},
    "sr_krokow": 6.8,
}


@pytest.mark.parametrize(
    ("new", "code"),
    [
        (BASE, 0),
        ({**BASE, "ogolem": 76.0}, 0),  # exactly 2 points are not more than 2
        ({**BASE, "ogolem": 75.9}, 1),
        ({**BASE, "kategorie": {"synteza": 63.9, "poprawna_odmowa": 90.0}}, 1),
        ({**BASE, "kategorie": {"synteza": 69.0, "poprawna_odmowa": 89.9}}, 1),
        ({**BASE, "kategorie": {"synteza": 69.0}}, 3),  # without refusals nobody knows
        ({**BASE, "sr_krokow": 8.84}, 0),  # exactly 1.3 times as many
        ({**BASE, "sr_krokow": 8.9}, 1),
    ],
)
def test_the_point_rules_are_strict_and_a_missing_category_passes_nothing(
    new: dict[str, Plain], code: int, tmp_path: Path
) -> None:
    for name, found in (("new.json", new), ("baza.json", BASE)):
        (tmp_path / name).write_text(json.dumps(found), encoding="utf-8")
    arguments = ["suite", "results", str(tmp_path / "new.json"), "--baseline", str(tmp_path / "baza.json"), "--json"]
    result = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert result.return_value == code
    decision = json.loads(result.stdout)["gate"]["decision"]
    assert decision == {0: "pass", 1: "fail", 3: "inconclusive"}[code]


@needs_golden
def test_the_founding_report_passes_its_gate() -> None:
    report = json.loads((GOLDEN / "G20_regression_gate.json").read_text(encoding="utf-8"))["inputs"]["report"]
    new, old = (
        ScoreSummary(
            overall=100 * report[whole][0] / 50,
            categories={name: 100 * found[at] / found[1] for name, found in report["categories"].items()},
            mean_steps=report["avg_steps"][place],
        )
        for whole, at, place in (("overall", 0, 0), ("baseline", 2, 1))
    )
    assert point_gate(new, old) == (True, [])
    assert point_gate(old, new)[0] is False


@dataclass
class Fall:
    """A case."""

    id: str
    uppgift: str
    starttillstand: Callable[[], object]
    verifiera: Callable[[object], object]


class Calendar:
    """An agent that books in every second world."""

    def __init__(self) -> None:
        self.turn = 0

    def kor(self, uppgift: str, varld: object, /) -> dict[str, object]:
        """Book in every second world, and break down in the fourth."""
        assert isinstance(varld, list)
        self.turn += 1
        if self.turn == 4:
            raise ConnectionError("gone")
        if self.turn % 2:
            varld.append(uppgift)
        return {"steg": 2, "tokens": 50, "sek": 0.1, "status": "klar"}


def test_cases_in_a_process_have_a_fresh_world_each_and_a_broken_verifier_judges_nobody() -> None:
    def broken(world: object) -> bool:
        raise OSError("no calendar")

    whole = try_cases(Calendar(), [Fall("boka", "mötet", list, lambda world: world == ["mötet"])], attempts=4)
    assert [(row.passed, row.aborted) for row in whole.attempts] == [
        (True, False),
        (False, False),
        (True, False),
        (False, True),
    ]
    (row,) = try_cases(Calendar(), [Fall("boka", "mötet", list, broken)], attempts=1).attempts
    assert (row.passed, row.reason) == (None, "infrastructure")
    assert measures_of(ResultFile(format="x", attempts=(row,)))["solve_rate"].value is None


def answers(*reasons: str, tokens: int = 10) -> Callable[[object], SimpleNamespace]:
    left = list(reasons)
    usage = SimpleNamespace(input_tokens=tokens, output_tokens=0)
    return lambda messages: SimpleNamespace(stop_reason=left.pop(0), usage=usage)


def case(check: Callable[[str], object], **more: int) -> SimpleNamespace:
    return SimpleNamespace(**{"name": "c", "prompt": "p", "check": check, "max_turns": 2, "max_tokens": 100, **more})


def there(workspace: str) -> SimpleNamespace:
    found = (Path(workspace) / "output.txt").exists()
    return SimpleNamespace(passed=found, score=float(found), details="")


def write(response: object, messages: object, cwd: str) -> None:
    (Path(cwd) / "output.txt").touch()


@pytest.mark.parametrize(
    ("reasons", "tokens", "expected"),
    [
        (("tool_use", "end_turn"), 10, (True, "", False)),
        (("end_turn",), 10, (False, "", False)),
        (("tool_use", "end_turn"), 90, (False, "budget_exhausted", True)),  # more than 100 with the second
        (("tool_use", "tool_use"), 10, (False, "budget_exhausted", True)),  # the file is there, the turns are spent
    ],
)
def test_a_case_of_the_smallest_shape_is_held_to_its_turns_and_tokens(
    reasons: Sequence[str], tokens: int, expected: tuple[bool, str, bool]
) -> None:
    (row,) = try_eval_cases(answers(*reasons, tokens=tokens), [case(there)], write).attempts
    assert (row.passed, row.reason, row.aborted) == expected


def test_an_exception_of_a_check_is_no_failure_of_the_agent() -> None:
    def broken(workspace: str) -> SimpleNamespace:
        raise OSError("no interpreter")

    (row,) = try_eval_cases(answers("end_turn"), [case(broken)], write).attempts
    assert (row.passed, row.reason, row.details) == (None, "infrastructure", "Error: no interpreter")
