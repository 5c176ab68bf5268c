"""Judges over stored trials, all the way: spans into a store, real requests to a server, verdicts beside the rest."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from spanproof_collector.model.filters import JUDGE_PROJECT, Filter
from spanproof_collector.store import open_store
from spanproof_collector.store.holding import take_lock
from spanproof_collector.trials import read_trials
from spanproof_evaluators.__main__ import main
from spanproof_instrumentation import semconv
from tests.evaluators.judges.model_server import Answer, Seen, says, serving
from tests.evaluators.shop import SUITE, attempt
from tests.factories import span, traces
from tests.storing import put

TASK: dict[str, Any] = json.loads(json.dumps(SUITE))["tasks"][0]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with three trials, one of them without the proof that it claims, and their suite."""
    for variable in ("SPANPROOF_SETTLE", "SPANPROOF_IDLE"):
        monkeypatch.setenv(variable, "0")
    monkeypatch.setenv("SPANPROOF_JUDGE_JOURNAL", str(tmp_path / "journal.jsonl"))
    monkeypatch.setenv("SPANPROOF_STORE", f"chdb://{tmp_path}/store")
    with open_store(f"chdb://{tmp_path}/store") as store:
        put(
            store,
            attempt("good", answer="Order ORD-1 was refunded."),
            attempt("same", answer="Order ORD-1 was refunded.", at=10),
            attempt("liar", refunds=[], answer="Refunded, and a voucher came along.", at=20),
        )
    task = TASK | {"prompt": "Refund order ORD-1.", "source": "Orders may be refunded within 30 days."}
    (tmp_path / "suite.json").write_text(json.dumps(SUITE | {"tasks": [task]}))
    return tmp_path


def test_verdicts_are_paid_once_stand_beside_the_rest_and_decide_nothing(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str) -> tuple[int, dict[str, Any]]:
        code = main([*arguments, "--suite", str(place / "suite.json"), "--json"])
        return code, json.loads(capsys.readouterr().out or "{}")

    looking = threading.Lock()

    def judge(number: int, seen: Seen) -> Answer:
        with looking:
            lock = take_lock(place / "store")
            assert lock is not None  # nobody holds the store while judges are asked
            lock.release()
        # the one judge is lenient, the other finds what was made up
        strict = seen.body["model"].startswith("mistral") and "voucher" in seen.user
        return says(seen, fabricated="yes" if strict else "no")

    panel = ("judge", "run", "--rubric", "grounded", "--model", "openai:qwen-judge", "--model", "openai:mistral-judge")
    found = place / "disagreements.jsonl"
    with serving(judge) as server:
        here = ("--base-url", f"openai:mistral-judge={server.url}/v1", "--base-url", f"{server.url}/v1")
        asking = (*panel, *here, "--disagreements", str(found))
        code, first = run(*asking)
        paid = len(server.seen)
        again = run(*asking)[1]
        assert len(server.seen) == paid
    assert code == 0
    assert paid == 4  # two trials gave one answer, so there are two inputs for two judges
    assert first["verdicts"] == {"pass": 5, "fail": 1, "unavailable": 0}
    assert first["spent"] == {"tokens": 480, "usd": None}
    assert (again["asked"], again["kept"], again["verdicts"]) == (0, 4, first["verdicts"])
    assert first["panel"]["disagreements"] == 1
    (line,) = map(json.loads, found.read_text().splitlines())
    assert (line["trial_ids"], line["criteria"], line["label"]) == (["liar"], ["fabricated"], "disagreement")
    # what was seen: task, source, answer; nothing of calls, receipts, claims or other words
    for seen in server.seen:
        assert "Refund order ORD-1." in seen.user
        for other in ("issue_refund", "receipt", "witness", "success", "call-"):
            assert other not in seen.text

    # a replay without any network says the same
    offline = run("judge", "run", "--rubric", "grounded", "--cassette", str(place / "journal.jsonl"))[1]
    assert (offline["verdicts"], offline["spent"]["tokens"]) == (first["verdicts"], 0)

    told = run("evaluate")[1]
    by_trial: dict[str, dict[str, Any]] = {}
    for result in told["results"]:
        by_trial.setdefault(result["trial_id"], {})[result["evaluator"]] = result
    liar = by_trial["liar"]
    assert liar["judge:grounded:openai:qwen-judge"]["state"] == "pass"
    assert liar["judge:grounded:openai:qwen-judge"]["label"] == "disagreement"
    assert liar["judge:grounded:openai:mistral-judge"]["state"] == "fail"
    assert "fabricated: yes" in liar["judge:grounded:openai:mistral-judge"]["explanation"]
    assert (liar["panel:grounded"]["state"], liar["panel:grounded"]["reason"]) == ("unavailable", "disagreement")
    assert by_trial["good"]["panel:grounded"]["state"] == "pass"
    # the world says that nothing was refunded: a judge that passes changes nothing of that
    assert liar["outcome"]["state"] == "failed"
    measures = told["variants"]["careful"]["measures"]
    assert (measures["solve_rate"]["numerator"], measures["solve_rate"]["denominator"]) == (2, 3)
    assert (measures["false_success_rate"]["numerator"], measures["false_success_rate"]["denominator"]) == (1, 3)

    # the suite says something else now: what was judged is no word on it
    task = TASK | {"prompt": "Refund order ORD-2.", "source": "Other rules."}
    (place / "suite.json").write_text(json.dumps(SUITE | {"tasks": [task]}))
    stale = [one for one in run("report")[1]["results"] if one["kind"] == "judge"]
    assert {(one["state"], one["reason"]) for one in stale} == {("unavailable", "suite_changed")}

    with open_store(f"chdb://{place}/store") as store:
        assert {trial.trial_id for trial in read_trials(store)} == {"good", "same", "liar"}
        calls = list(read_trials(store, Filter(projects=(JUDGE_PROJECT,))))
    assert sorted(model for one in calls for model in one.models) == ["served-model"] * 4
    assert [(one.usage.input_tokens, one.usage.output_tokens) for one in calls] == [(100, 20)] * 4


def test_a_judge_of_the_agents_family_is_refused_or_flagged_in_every_report(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inference: dict[str, object] = {
        semconv.TRIAL_ID: "good",
        semconv.TASK_ID: "refund",
        semconv.OPERATION: "chat",
        semconv.REQUEST_MODEL: "qwen3:8b",
    }
    with open_store(f"chdb://{place}/store") as store:
        put(store, traces(span("chat qwen3", inference, trace="good", key="good-chat", parent="good-agent", at=2)))
    suite = ("--suite", str(place / "suite.json"))
    asking = ("judge", "run", *suite, "--rubric", "grounded", "--trial", "good", "--model", "openai:qwen-judge")
    with serving() as server:
        here = ("--base-url", f"{server.url}/v1")
        assert main([*asking, *here]) == 2
        assert "--allow-same-family qwen" in capsys.readouterr().err
        assert server.seen == []
        assert main([*asking, *here, "--allow-same-family", "gpt"]) == 2
        assert main([*asking, *here, "--allow-same-family", "qwen"]) == 0
        assert len(server.seen) == 1
    assert "same_family_allowed" in capsys.readouterr().out
    main(["evaluate", *suite, "--json"])
    files = {name: place / f"report.{name}" for name in ("html", "markdown", "junit", "sarif", "csv")}
    told = [part for name, path in files.items() for part in (f"--{name}", str(path))]
    capsys.readouterr()
    main(["report", *suite, *told])
    reports = {"terminal": capsys.readouterr().out, **{name: path.read_text() for name, path in files.items()}}
    main(["report", *suite, "--json"])
    reports["json"] = capsys.readouterr().out
    main(["show", "good"])
    reports["show"] = capsys.readouterr().out
    said = {name: " ".join(text.split()).replace("&#39;", "'") for name, text in reports.items()}
    words = ("own model family", "same_family")
    assert [name for name, text in said.items() if not any(one in text for one in words)] == []
