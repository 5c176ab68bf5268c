"""Two small models as judges, as they were recorded: their calibrations come out of the cassettes without a network."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from spanproof_evaluators.__main__ import main
from spanproof_evaluators.model.calibrations import Calibration, read_calibrations
from spanproof_evaluators.model.judge_inputs import JudgeInput, asked
from spanproof_evaluators.runner.labeling import Candidate, LabelBook, draw
from tests.evaluators.calibration.known_items import ITEMS, RUBRIC, labels

RECORDED = Path(__file__).parent / "recorded"
JUDGES = {"smollm2": "openai:smollm2-135m-instruct@Q4_1", "qwen": "openai:qwen2.5-coder-1.5b-instruct@Q4_K_M"}


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    """Return the file of labels that the known items come to."""
    found = [
        Candidate(
            given=JudgeInput(task=one.task, criteria=asked(RUBRIC), source=one.source, answer=one.answer),
            trial_ids=(one.id,),
        )
        for one in ITEMS
    ]
    path, rows = tmp_path / "labels.jsonl", tmp_path / "truth.jsonl"
    with LabelBook.begin(
        path, draw(found, RUBRIC, size=None, seed=1, by=None, described="", suite=None, at=time.time_ns())
    ):
        pass
    rows.write_text("".join(f"{json.dumps(one)}\n" for one in labels()))
    arguments = ("--from", str(rows), "--rater", "how the item was made", "--rater-kind", "construction")
    assert main(["judge", "label", str(path), *arguments]) == 0
    return path


def _calibrated(sheet: Path, name: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    cassettes = (
        "--judgements",
        str(RECORDED / f"{name}.jsonl"),
        "--bias-cassette",
        str(RECORDED / f"{name}-bias.jsonl"),
    )
    size = {"smollm2": "6", "qwen": "3"}[name]
    out = ("--out", str(sheet.parent / "records"), "--bias-size", size, "--json")
    assert main(["judge", "calibrate", str(sheet), *cassettes, *out]) == 3
    (record,) = json.loads(capsys.readouterr().out)["records"]
    found: dict[str, Any] = record
    return found


@pytest.mark.parametrize("name", JUDGES)
def test_a_recorded_judge_comes_to_the_record_that_was_committed(
    name: str, sheet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (kept,) = read_calibrations(RECORDED / f"{name}-record.json")
    found = _calibrated(sheet, name, capsys)
    made = Calibration.model_validate_json(
        json.dumps({key: value for key, value in found.items() if key not in ("file", "hash")})
    )
    assert made.evaluator == f"judge:supported:{JUDGES[name]}"
    later = {"created_at": kept.created_at, "expires_at": kept.expires_at}
    assert made.model_copy(update=later) == kept
    assert len(kept.items) >= 40


def test_the_model_that_guesses_is_rejected_by_its_calibration(sheet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guessing = _calibrated(sheet, "smollm2", capsys)
    assert "not_above_chance" in guessing["reasons"]
    assert guessing["agreement"]["kappa_interval"][0] < 0
    # what nobody graded opens no gate, however good the judge
    for name in JUDGES:
        assert "no_human_labels" in _calibrated(sheet, name, capsys)["reasons"]


def test_a_cassette_whose_verdict_was_changed_is_refused(
    sheet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [json.loads(line) for line in (RECORDED / "qwen.jsonl").read_text().splitlines()]
    changed = next(one for one in lines if one["state"] == "fail")
    changed["state"], changed["reason"] = "pass", None
    (tmp_path / "changed.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    assert main(["judge", "calibrate", str(sheet), "--judgements", str(tmp_path / "changed.jsonl")]) == 2
    assert "not what its answers come to" in capsys.readouterr().err
