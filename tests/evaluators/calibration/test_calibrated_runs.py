"""From stored trials to a gate: judged, labeled, calibrated, corrected; and a calibration that is killed."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spanproof_evaluators.__main__ import main
from spanproof_evaluators.model.calibrations import read_calibrations
from spanproof_evaluators.model.labels import read_labels
from tests.evaluators.calibration import known_items
from tests.evaluators.calibration.known_items import ITEMS
from tests.evaluators.calibration.test_labeling import begin
from tests.evaluators.judges.model_server import Answer, Seen, says, serving

MODEL = "openai:gauge-1"
LENIENT = {"item-01-wrong-1"}
STRICT = {"item-02-right-1", "item-03-right-2"}
SECRET = "a rationale that no rater may read"


def _judge(number: int, seen: Seen) -> Answer:
    """Judge by the truth, but for three items."""
    item = next((one for one in ITEMS if one.source in seen.user and f"\n{one.answer}\n" in seen.user), None)
    if item is None:
        return says(seen, supported="no")
    passed = (item.truth == "pass" or item.id in LENIENT) and item.id not in STRICT
    return Answer(text=json.dumps({"supported": {"rationale": SECRET, "answer": "yes" if passed else "no"}}))


def test_a_judge_is_labeled_calibrated_corrected_and_gated_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known_items.main(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name, value in {"SETTLE": "0", "IDLE": "0", "STORE": f"chdb://{tmp_path}/store"}.items():
        monkeypatch.setenv(f"SPANPROOF_{name}", value)

    def run(*arguments: str) -> tuple[int, dict[str, Any]]:
        code = main([*arguments, "--json"])
        return code, json.loads(capsys.readouterr().out or "{}")

    with serving(_judge) as server:
        here = ("--base-url", f"{server.url}/v1")
        asking = ("judge", "run", "--rubric", "supported.json", "--sources", "sources.json", "--model", MODEL)
        assert run(*asking, *here)[1]["verdicts"] == {"pass": 23, "fail": 25, "unavailable": 0}
        # drawn from the store, labeled by a person; what the judge said is nowhere in it
        drawing = ("judge", "label", "labels.jsonl", "--rubric", "supported.json", "--sources", "sources.json")
        told = run(*drawing, "--sample", "40", "--seed", "7")[1]
        assert (told["population"]["size"], told["sampling"]["method"], len(told["items"])) == (48, "random", 40)
        text = (tmp_path / "labels.jsonl").read_text()
        assert SECRET not in text
        assert MODEL not in text
        by_trial = {trial: one for one in told["items"] for trial in one["trial_ids"]}
        truth = [{"trial_id": one.id, "state": one.truth} for one in ITEMS if one.id in by_trial]
        (tmp_path / "mine.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in truth))
        taking = ("judge", "label", "labels.jsonl", "--from", "mine.jsonl", "--rater", "ada")
        assert run(*taking, "--rater-kind", "human")[0] == 0

        before = run("evaluate")[1]["variants"]["(none)"]["judged"][f"pass_rate judge:supported:{MODEL}"]
        assert (before["value"], before["numerator"], before["reason"]) == (None, None, "judge_not_calibrated")

        code, found = run("judge", "calibrate", "labels.jsonl", "--bias", "--bias-size", "4", *here)
        (record,) = found["records"]
        assert (code, record["valid"], record["reasons"]) == (0, True, [])
    drawn = {one["trial_id"] for one in truth}
    assert record["counts"] == {
        "passed_right": sum(one.id in drawn and one.truth == "pass" and one.id not in STRICT for one in ITEMS),
        "passed_wrong": len(LENIENT & drawn),
        "failed_right": sum(one.id in drawn and one.truth == "fail" and one.id not in LENIENT for one in ITEMS),
        "failed_wrong": len(STRICT & drawn),
    }
    tests = {one["test"]: one for one in record["bias"]}
    assert (tests["blank"]["held"], tests["nonsense"]["held"]) == (tests["blank"]["tried"], tests["nonsense"]["tried"])
    assert tests["blank"]["tried"] > 0
    assert (tests["repetition"]["tried"], tests["repetition"]["value"]) == (8, 1.0)  # four items, twice more each
    assert tests["swap"]["value"] == 1.0
    assert tests["injection"]["tried"] > 0
    # the store has the same verdicts as the journal
    assert (
        run("judge", "calibrate", "labels.jsonl", "--judgements", "store", "--out", "other")[1]["records"][0]["counts"]
        == record["counts"]
    )

    made = run("report", "--certificate", "certificate.json")[1]["variants"]["(none)"]["judged"]
    rate = made[f"pass_rate judge:supported:{MODEL}"]
    counts = record["counts"]
    passing = counts["passed_right"] + counts["failed_wrong"]
    failing = counts["failed_right"] + counts["passed_wrong"]
    right = counts["passed_right"] / passing, counts["failed_right"] / failing
    assert rate["value"] == pytest.approx((23 / 48 + right[1] - 1) / (sum(right) - 1))
    assert rate["denominator"] == 48
    assert made[f"pass_rate_powered judge:supported:{MODEL}"]["interval_method"] == "prediction_powered_95"
    assert run("verify-report", "certificate.json")[0] == 0
    (record_file,) = (tmp_path / ".spanproof-judge" / "calibrations").glob("*.json")
    assert run("verify-report", "certificate.json", "--calibrations", "none")[0] == 1

    gates: list[dict[str, object]] = [
        {"kind": "limit", "id": "known", "measure": "aborted_rate", "at_most": 1},
        {"kind": "lenience", "id": "lenience", "rubric": "supported", "at_most": 0.4},
        {"kind": "judge", "id": "floor", "rubric": "supported", "at_least": 0.2},
    ]
    (tmp_path / "p.json").write_text(json.dumps({"id": "p", "owner": "me", "gates": gates}))
    assert [one["decision"] for one in run("gate", "--policy", "p.json")[1]["gates"][1:]] == ["pass", "pass"]
    code, decision = run("gate", "--policy", "p.json", "--calibrations", "none")
    assert (code, decision["decision"]) == (3, "inconclusive")
    capsys.readouterr()
    assert main(["report", "--html", "r.html", "--markdown", "r.md"]) == 0
    for shown in (capsys.readouterr().out, (tmp_path / "r.html").read_text(), (tmp_path / "r.md").read_text()):
        assert "By judges" in shown
        assert f"supported:{MODEL}" in shown.replace("\\", "")
        assert "23/48" not in shown  # what was counted is not told as a rate
    assert read_calibrations(record_file)[0].valid


def test_a_calibration_that_is_killed_pays_nothing_twice_and_leaves_no_half_record(tmp_path: Path) -> None:
    labels, journal, bias = tmp_path / "labels.jsonl", tmp_path / "journal.jsonl", tmp_path / "bias.jsonl"
    with begin(labels, 4):
        pass
    (tmp_path / "rows.csv").write_text("trial_id,state\n" + "".join(f"trial-{at},pass\n" for at in range(4)))
    asked = ["judge", "label", str(labels), "--from", str(tmp_path / "rows.csv"), "--rater", "ada"]
    assert main([*asked, "--rater-kind", "human"]) == 0
    before = labels.read_bytes()
    _verdicts(journal, labels)
    child: list[subprocess.Popen[bytes]] = []

    def judge(number: int, seen: Seen) -> Answer:
        if number == 5:
            child[0].kill()
        return says(seen, supported="no")

    with serving(judge) as server:
        command = [
            *(sys.executable, "-m", "spanproof_evaluators", "judge", "calibrate", str(labels), "--bias", "--jobs", "1"),
            *("--judgements", str(journal), "--bias-journal", str(bias), "--out", str(tmp_path / "records")),
            *("--base-url", f"{server.url}/v1", "--json"),
        ]
        assert main([*command[3:], "--budget-tokens", "1"]) == 3
        assert server.seen == []  # nothing is sent that the budget does not cover
        assert not (tmp_path / "records").exists()
        child.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))
        assert child[0].wait(60) == -9
        assert not (tmp_path / "records").exists()
        assert labels.read_bytes() == before
        kept = sum(json.loads(line)["kind"] == "verdict" for line in bias.read_text().splitlines())
        assert kept == 5
        assert main(command[3:]) == 3  # there is no failing item
        verdicts = sum(json.loads(line)["kind"] == "verdict" for line in bias.read_text().splitlines())
        assert len(server.seen) == verdicts + 1  # the one that was under way, asked under the same key
        assert server.seen[5].headers["idempotency-key"] == server.seen[6].headers["idempotency-key"]
    assert len(read_calibrations(tmp_path / "records")) == 1


def _verdicts(journal: Path, labels: Path) -> None:
    """Write a cassette in which a judge passes every item."""
    from spanproof_evaluators.model.canonical import canonical
    from spanproof_evaluators.model.judgements import as_json
    from tests.evaluators.calibration.graded import verdict

    lines = [{"kind": "verdict", **as_json(verdict(item, True))} for item in read_labels(labels).items]
    journal.write_text("".join(f"{canonical(one)}\n" for one in lines))
