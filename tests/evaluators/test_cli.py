"""The command line, as a script and as a person use it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from spanproof_collector.store import open_store
from spanproof_evaluators.__main__ import main
from spanproof_evaluators.cli.group import COMMANDS, cli
from spanproof_evaluators.model.trust_cards import folder_of, path_of
from spanproof_instrumentation import semconv
from tests.evaluators.shop import SUITE, attempt
from tests.factories import span, traces
from tests.storing import put

TRIAL_KEYS = {
    *("trial_id", "session_id", "trace_ids", "source", "path", "dialects", "task_id", "attempt", "variant", "suite"),
    *("agent", "started_at", "ended_at", "status", "status_reason", "solved", "joined_by", "steps", "tool_calls"),
    *("final_answer", "claim", "outcome", "false_success", "usage", "cost", "completeness"),
}
"""The keys that the machine-readable interface promises."""

MEASURE_KEYS = {
    *("value", "k", "unit", "numerator", "denominator", "excluded", "unavailable", "bounds", "interval"),
    *("interval_method", "n_units", "n_clusters", "evidence_ids", "reason"),
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a filled store and a suite file. What came is settled at once."""
    monkeypatch.setenv("SPANPROOF_SETTLE", "0")
    monkeypatch.setenv("SPANPROOF_IDLE", "0")
    with open_store(f"chdb://{tmp_path}/store") as store:
        put(
            store,
            attempt("plain", at=0),
            attempt("timeout", variant="fast", result=None, receipt=None, claim="none", at=10),
            attempt("blind", variant="fast", refunds=None, at=20),
            attempt("liar", variant="fast", refunds=[], score=0.9, usd="0.30", at=30),
            attempt("newest", at=40),
        )
    (tmp_path / "suite.json").write_text(json.dumps(SUITE))
    return tmp_path


class Ran:
    """What a command printed and how it ended."""

    def __init__(self, place: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
        self.code = main([*arguments, "--store", f"chdb://{place}/store"])
        self.out, self.err = capsys.readouterr()

    @property
    def lines(self) -> list[dict[str, object]]:
        """JSON lines of standard output."""
        return [json.loads(line) for line in self.out.splitlines()]


def test_trials_come_in_the_order_of_urgency_then_newest_first(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Ran(place, capsys, "evaluate", "--suite", str(place / "suite.json"))
    found = Ran(place, capsys, "trials", "--json")
    assert [one["trial_id"] for one in found.lines] == ["liar", "timeout", "blind", "newest", "plain"]
    assert [one["false_success"] for one in found.lines] == [True, None, None, False, False]
    assert found.code == 0


def test_a_trial_in_json_has_every_promised_key(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (one,) = Ran(place, capsys, "trials", "--json", "--trial", "plain").lines
    assert one.keys() >= TRIAL_KEYS
    assert one["started_at"] == str(int(str(one["started_at"])))
    assert one["cost"] == {"usd": "0.40", "covered": True, "reason": None, "catalogue": None, "source": "bill"}
    calls: list[dict[str, dict[str, object]]] = one["tool_calls"]  # type: ignore[assignment]  # a list in JSON
    assert [call["arguments"] for call in calls] == [{"order": "ORD-1"}]
    assert [call["effect"]["state"] for call in calls] == ["verified"]
    gaps: dict[str, object] = one["completeness"]  # type: ignore[assignment]  # an object in JSON
    assert (gaps["calls_whole"], gaps["unmetered_calls"]) == (True, 0)


def test_evaluate_and_report_have_the_promised_shape(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = str(place / "suite.json")
    (evaluated,) = Ran(place, capsys, "evaluate", "--suite", suite, "--json").lines
    (reported,) = Ran(place, capsys, "report", "--suite", suite, "--json").lines
    assert evaluated.pop("left_for_later") == 0
    assert evaluated.pop("kept") == {}
    assert reported == evaluated
    assert reported.keys() >= {"suite", "filter", "certificate", "variants", "results"}
    variants: dict[str, dict[str, dict[str, dict[str, object]]]] = reported["variants"]  # type: ignore[assignment]
    assert variants.keys() == {"careful", "fast"}
    for variant in variants.values():
        for measure in variant["measures"].values():
            assert measure.keys() >= MEASURE_KEYS
            assert measure["value"] is not None or measure["reason"]
    cost = variants["careful"]["measures"]["cost_per_verified_outcome"]
    assert (cost["value"], cost["numerator"], cost["denominator"]) == ("0.40", "0.80", 2)
    assert reported["gates"]["fast"]["decided_by"] == "false_success"  # type: ignore[index]


def test_a_claim_without_a_verdict_is_marked_unproven(place: Path) -> None:
    result = CliRunner().invoke(cli, ["trials", "--store", f"chdb://{place}/store"], env={"COLUMNS": "200"})
    assert result.output.count("UNPROVEN") == 4


def test_the_report_says_the_inversion_and_shows_the_proof(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = str(place / "suite.json")
    Ran(place, capsys, "evaluate", "--suite", suite)
    html = place / "report.html"
    result = CliRunner().invoke(
        cli, ["report", "--store", f"chdb://{place}/store", "--html", str(html)], env={"COLUMNS": "200"}
    )
    assert result.exit_code == 0
    for text in (result.output, html.read_text()):
        assert "fails gate false_success" in text
        assert "0 of 0 rows match" in text
        assert "liar" in text


def test_show_tells_one_trial_whole(place: Path) -> None:
    runner = CliRunner()
    store = ["--store", f"chdb://{place}/store"]
    runner.invoke(cli, ["evaluate", "--suite", str(place / "suite.json"), *store])
    result = runner.invoke(cli, ["show", "liar", *store], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    for part in ("issue_refund", '{"order": "ORD-1"}', "witness: row 1", "declared", "failed: exactly 1 row(s)"):
        assert part in result.output


def test_show_finds_a_trial_by_the_beginning_of_its_id(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (one,) = Ran(place, capsys, "show", "pla", "--json").lines
    assert one["trial_id"] == "plain"
    assert "results" in one


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "nobody"], "no trial is called 'nobody'"),
        (["report", "--task", "other"], "no trial matches task=other"),
        (["evaluate", "--suite", "missing.json"], "there is no such file"),
        (["trials", "--since", "yesterday"], "is no time"),
        (["trials", "--label", "novalue"], "is no label"),
        (["trials", "--unknown-option"], "No such option"),
    ],
)
def test_what_cannot_run_says_why_and_exits_with_2(
    place: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    ran = Ran(place, capsys, *arguments)
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""


def test_a_suite_with_an_unknown_key_is_refused_by_name(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "suite.json").write_text(json.dumps({**SUITE, "taks": []}))
    ran = Ran(place, capsys, "evaluate", "--suite", str(place / "suite.json"))
    assert ran.code == 2
    assert "suite.json: taks: unknown key" in ran.err


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trials", "--store", f"chdb://{tmp_path}/none"]) == 2
    assert "there is no store" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("option", [["--variant", "fast"], ["--text", "refunded"], ["--since", "2025-10-09T08:53:30Z"]])
def test_a_filter_chooses_trials(place: Path, capsys: pytest.CaptureFixture[str], option: list[str]) -> None:
    every = len(Ran(place, capsys, "trials", "--json").lines)
    assert 0 < len(Ran(place, capsys, "trials", "--json", *option).lines) <= every


def test_the_text_of_a_trace_cannot_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_store(f"chdb://{tmp_path}/store") as store:
        put(store, attempt("evil", answer="\x1b[2J[bold]done[/bold]\u202e", variant="[red]x[/red]"))
    shown = Ran(tmp_path, capsys, "show", "evil").out
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "\\x1b[2J[bold]done[/bold]" in shown
    assert "[red]x[/red]" in shown


def test_the_text_of_a_trace_cannot_become_html(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_store(f"chdb://{tmp_path}/store") as store:
        put(store, attempt("evil", variant="<script>alert(1)</script>"))
    html = tmp_path / "report.html"
    Ran(tmp_path, capsys, "report", "--html", str(html))
    text = html.read_text()
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "http://" not in text
    assert "https://" not in text


def test_failures_are_a_journal_and_a_person_has_the_last_word(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Ran(place, capsys, "evaluate", "--suite", str(place / "suite.json"))
    found = Ran(place, capsys, "journal", "list", "--json")
    assert {one["trial_id"]: one["layer"] for one in found.lines} == {"liar": "verification"}
    assert not any(one["confirmed"] for one in found.lines)
    assert Ran(place, capsys, "journal", "confirm", "lia", "context").code == 0
    told = Ran(place, capsys, "journal", "list", "--json").lines
    assert [(one["trial_id"], one["layer"], one["confirmed"]) for one in told] == [("liar", "context", True)]
    assert Ran(place, capsys, "journal", "confirm", "plain", "context").code == 2  # nothing failed there
    assert "| context" in Ran(place, capsys, "journal", "list", "--markdown").out
    skeleton = Ran(place, capsys, "journal", "to-task", "liar")
    (place / "draft.yaml").write_text(skeleton.out, encoding="utf-8")
    assert Ran(place, capsys, "evaluate", "--suite", str(place / "draft.yaml")).code == 2
    nothing = Ran(place, capsys, "suite", "mine")
    assert (nothing.code, "5 no prompt" in nothing.err) == (2, True)  # these agents recorded no prompt


def test_a_report_shows_the_trust_card_that_lies_beside_its_store(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Ran(place, capsys, "evaluate", "--suite", str(place / "suite.json"))
    card = {"suite": "shop", "suite_hash": "0" * 64, "made_at": "", "isolation": "process"}
    file = path_of(folder_of(f"chdb://{place}/store"), "shop")
    file.parent.mkdir()
    file.write_text(json.dumps({**card, "tasks": [{"task": "refund", "null": "verified"}]}), encoding="utf-8")
    (reported,) = Ran(place, capsys, "report", "--suite", str(place / "suite.json"), "--json").lines
    trust: dict[str, object] = reported["trust_card"]  # type: ignore[assignment]  # an object in JSON
    assert (trust["vacuous"], trust["current"]) == (["refund"], False)
    by_name = Ran(place, capsys, "report", "--suite", "shop", "--markdown", str(place / "report.md"))
    assert "1 vacuous (refund)" in by_name.out
    assert "1 vacuous" in (place / "report.md").read_text(encoding="utf-8")


def test_every_command_explains_its_exit_codes() -> None:
    runner = CliRunner()
    assert "Exit codes: 0 done or passed, 1 a gate failed, 2 could not run" in runner.invoke(cli, ["--help"]).output
    for name in COMMANDS:
        result = runner.invoke(cli, [name, "--help"])
        assert result.exit_code == 0, result.output
        assert "Exit codes:" in result.output, name


def test_help_loads_neither_the_engine_nor_the_model_library() -> None:
    heavy = ("chdb", "clickhouse_connect", "pydantic", "rich", "scipy", "jinja2", "grpc")
    code = (
        "import sys; from spanproof_evaluators.__main__ import main; main(['--help']);"
        f"found = [name for name in {heavy!r} if name in sys.modules]; assert not found, found"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)


def test_import_counts_what_it_stored_and_names_what_it_could_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = tmp_path / "in" / "good.pb"
    good.parent.mkdir()
    good.write_bytes(attempt("one").SerializeToString())
    (tmp_path / "in" / "bad.pb").write_bytes(b"no protobuf at all")
    for _ in range(2):
        ran = Ran(tmp_path, capsys, "import", str(tmp_path / "in"), "--json")
        (told,) = ran.lines
        assert (told["files"], told["trials"], told["spans"], told["formats"]) == (1, 1, 2, {"otlp": 1})
        assert [one["path"] for one in told["rejected"]] == ["bad.pb"]  # type: ignore[attr-defined]
        assert ran.code == 0
    assert [one["trial_id"] for one in Ran(tmp_path, capsys, "trials", "--json").lines] == ["one"]


def test_import_counts_only_the_trials_of_its_own_files(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "one.pb").write_bytes(attempt("one").SerializeToString())
    (told,) = Ran(place, capsys, "import", str(place / "one.pb"), "--json").lines
    assert told["trials"] == 1


def test_reindex_makes_a_lost_projection_again_and_says_of_how_much(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Ran(place, capsys, "trials", "--json").lines
    with open_store(f"chdb://{place}/store") as store:
        store._run("TRUNCATE TABLE steps")
    assert Ran(place, capsys, "trials", "--json").lines == []
    assert Ran(place, capsys, "reindex", "--json").lines == [{"spans": 10, "log_records": 0}]
    assert Ran(place, capsys, "trials", "--json").lines == before
    assert Ran(place, capsys, "reindex").out == "10 spans and 0 log records read again\n"


def test_reindex_of_a_store_that_is_not_there_makes_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert Ran(tmp_path, capsys, "reindex").code == 2
    assert not (tmp_path / "store").exists()


def test_output_that_cannot_hold_a_script_writes_escapes(tmp_path: Path) -> None:
    with open_store(f"chdb://{tmp_path}/store") as store:
        put(store, attempt("one", answer="Готово"))
    done = subprocess.run(
        [sys.executable, "-m", "spanproof_evaluators", "show", "one", "--store", f"chdb://{tmp_path}/store"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert rb"\u0413\u043e" in done.stdout


def test_one_of_a_thing_is_said_in_the_singular(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.pb").write_bytes(attempt("one").SerializeToString())
    assert "1 file (1 otlp): 1 trial, 2 spans" in Ran(tmp_path, capsys, "import", str(tmp_path / "one.pb")).out
    assert "1 trial: " in Ran(tmp_path, capsys, "trials").out
    assert "1 trial evaluated" in Ran(tmp_path, capsys, "evaluate").err
    assert "1 trial of 1 task" in Ran(tmp_path, capsys, "report").out


def test_in_a_pipe_a_trial_is_one_line(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    Ran(place, capsys, "evaluate", "--suite", str(place / "suite.json"))
    lines = Ran(place, capsys, "trials").out.splitlines()
    assert [line.split()[:3] for line in lines if "FALSE SUCCESS" in line] == [["FALSE", "SUCCESS", "liar"]]
    assert len([line for line in lines if "blind" in line and "UNPROVEN" in line]) == 1
    assert len(lines) == 7  # counts, columns, five trials


def test_import_of_nothing_usable_could_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.pb").write_bytes(b"no protobuf at all")
    ran = Ran(tmp_path, capsys, "import", str(tmp_path / "bad.pb"))
    assert ran.code == 2
    assert "nothing was usable" in ran.err
    assert Ran(tmp_path, capsys, "import", str(tmp_path / "none.pb")).code == 2


def test_what_may_still_go_on_is_left_for_later_and_evaluated_when_it_is_settled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_store(f"chdb://{tmp_path}/store") as store:
        put(store, attempt("over"), attempt("open", refunds=None, at=10))
    waiting = Ran(tmp_path, capsys, "evaluate", "--json")
    (told,) = waiting.lines
    assert (waiting.code, told["left_for_later"]) == (0, 1)
    assert {one["trial_id"] for one in told["trials"]} == {"over"}  # type: ignore[attr-defined]  # a list in JSON
    assert "1 trial not settled yet" in waiting.err
    assert [one["trial_id"] for one in Ran(tmp_path, capsys, "trials", "--json", "--unsettled").lines] == ["open"]
    assert [one["trial_id"] for one in Ran(tmp_path, capsys, "trials", "--json", "--settled").lines] == ["over"]
    for more in (["--settle", "0"], ["--include-unsettled"]):
        (told,) = Ran(tmp_path, capsys, "evaluate", "--json", *more).lines
        assert (told["left_for_later"], len(told["trials"])) == (0, 2)  # type: ignore[arg-type]  # a list in JSON


def test_a_trial_says_whether_it_is_settled_and_when_the_last_of_it_came(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_store(f"chdb://{tmp_path}/store") as store:
        put(store, attempt("open", refunds=None))
    (open_,) = Ran(tmp_path, capsys, "trials", "--json").lines
    assert open_["settled"] is False
    assert int(str(open_["last_received_at"])) > 1_700_000_000 * 10**9
    (later,) = Ran(tmp_path, capsys, "trials", "--json", "--settle", "0").lines
    assert later["settled"] is True


def test_a_late_span_takes_the_verdict_back_and_the_next_evaluation_gives_it_again(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = str(place / "suite.json")
    Ran(place, capsys, "evaluate", "--suite", suite)
    with open_store(f"chdb://{place}/store") as store:
        label = {semconv.TRIAL_ID: "plain"}
        put(store, traces(span("late", label, trace="plain", parent="plain-agent", at=2)))
    (stale,) = Ran(place, capsys, "trials", "--json", "--trial", "plain").lines
    assert stale["outcome"]["reason"] == "evidence_changed"  # type: ignore[index]  # an object in JSON
    Ran(place, capsys, "evaluate", "--suite", suite)
    (again,) = Ran(place, capsys, "trials", "--json", "--trial", "plain").lines
    assert again["outcome"]["state"] == "verified"  # type: ignore[index]  # an object in JSON


def test_show_lists_steps_page_by_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_store(f"chdb://{tmp_path}/store") as store:
        session = {"gen_ai.conversation.id": "long"}
        for trace in ("1", "2"):
            root = span("run", session, trace=trace, key=f"root {trace}", at=int(trace) * 100)
            rest = [
                span(f"step {n}", trace=trace, parent=f"root {trace}", at=int(trace) * 100 + n) for n in range(1, 4)
            ]
            put(store, traces(root, *rest))
        put(store, traces(span("other", trace="3")))
    names: list[object] = []
    after: list[str] = []
    sizes: list[int] = []
    for _ in range(9):
        ran = Ran(tmp_path, capsys, "show", "long", "--steps", "--limit", "3", "--json", *after)
        names += [one["name"] for one in ran.lines]
        sizes.append(len(ran.lines))
        if "more: --after " not in ran.err:
            break
        after = ["--after", ran.err.split()[-1]]
    assert names == ["run", "step 1", "step 2", "step 3"] * 2
    assert sizes == [3, 3, 2]
    assert Ran(tmp_path, capsys, "show", "nobody", "--steps").code == 2
    assert Ran(tmp_path, capsys, "show", "long", "--steps", "--after", "x").code == 2


def test_a_server_that_does_not_answer_is_named_in_one_line() -> None:
    address = "clickhouse://a:secret@127.0.0.1:1/x"
    done = subprocess.run(
        [sys.executable, "-m", "spanproof_evaluators", "trials", "--store", address, "--json"],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "does not answer" in done.stderr
    assert (len(done.stderr.strip().splitlines()), "secret" in done.stderr) == (1, False)
