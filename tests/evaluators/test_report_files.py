"""Reports for other tools: JUnit XML, Markdown, SARIF, CSV and Parquet, each read by a reader of its own."""

import csv
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest
from markdown_it import MarkdownIt

from spanproof_collector.store import open_store
from spanproof_evaluators.__main__ import main
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.reports import Report
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.verifications import Check, Verification
from spanproof_evaluators.reports.files import report_csv, report_junit, report_markdown, report_parquet, report_sarif
from spanproof_evaluators.reports.sections import every, shown
from spanproof_evaluators.runner import report
from tests.evaluators.crowded import crowded_report
from tests.evaluators.factories import assessed, call, progress, trial
from tests.evaluators.shop import SUITE, attempt
from tests.storing import put

EVIL = "a|b <script>alert(1)</script> `x` [l](http://e) @all\n# head\x1b[31m\ufffe \U000e0041"


def failed(name: str, seen: str = "0 rows") -> Assessment:
    """Return a false success with a check that says why."""
    checks = Verification.of([Check(name="one refund", passed=False, seen=seen)])
    outcome = Outcome.of(Verification(state="failed"), checks, verifier="shop/refund", version="1")
    broken = Result(evaluator="forbidden_tools", state="fail", explanation="drop_table", span_ids=("00000000000000bb",))
    one = assessed(trial(name, variant="fast"), "failed")
    return replace(one, outcome=outcome, results=(broken,), solved=False, solved_reason="outcome failed: one refund")


def made(*extra: Assessment) -> Report:
    good = assessed(
        trial("good", variant="careful", calls=[call(state="verified", observed="row")], windows=progress(1, 1))
    )
    blind = assessed(trial("blind", variant="careful"), "unavailable")
    return report([good, blind, failed("liar"), *extra], None, described="")


def test_junit_counts_gates_and_trials_and_nothing_unavailable_is_green() -> None:
    root = ElementTree.fromstring(report_junit(made()))
    suites = {suite.get("name"): suite for suite in root.iter("testsuite")}
    careful = {case.get("name"): case for case in suites["careful"].iter("testcase")}
    assert len(careful["good"]) == 0
    skipped = careful["blind"].find("skipped")
    assert skipped is not None
    assert "UNPROVEN" in str(skipped.get("message"))
    failure = suites["fast"].find("testcase[@name='liar']/failure")
    assert failure is not None
    assert failure.text == "one refund: 0 rows"
    gate = suites["careful"].find("testcase[@classname='careful.gates'][@name='false_success']/error")
    assert gate is not None
    assert gate.get("type") == "inconclusive"
    for suite in suites.values():
        for kind, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert int(suite.get(attribute) or -1) == len(suite.findall(f"testcase/{kind}"))


def test_a_release_that_is_not_passed_has_a_red_case_in_junit() -> None:
    found = made()
    root = ElementTree.fromstring(report_junit(found))
    for variant, suite in zip(found.variants, root.iter("testsuite"), strict=True):
        red = suite.findall("testcase/failure") + suite.findall("testcase/error")
        assert bool(red) is (variant.decision.decision != "pass")


class Tables(HTMLParser):
    """Reads tables and tags of rendered Markdown."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.rows: list[list[str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a row or a cell."""
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        """End a table: what follows is in no cell."""
        if tag == "table":
            self.rows.append([])

    def handle_data(self, data: str) -> None:
        """Add to the cell."""
        if self.rows and self.rows[-1] and data.strip():
            self.rows[-1][-1] += data


def rendered(text: str) -> Tables:
    """Return the tables that a renderer of forges' Markdown makes of it."""
    return Tables(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))


def test_markdown_renders_as_tables_with_every_cell() -> None:
    found = rendered(report_markdown(made()))
    assert ["Variant", "Decision", "Why"] in found.rows
    signals = next(row for row in found.rows if row and row[0] == "False success rate")
    assert signals[1].startswith("0/2 (0.000)1 unavailable")
    assert signals[2].startswith("1/1 (1.000)")
    assert next(row for row in found.rows if row and row[0] == "liar")[2] == "FALSE SUCCESS"


def test_markdown_says_why_each_trial_needs_a_look() -> None:
    unknown = assessed(trial("lost", calls=[call("refund", state="unknown"), call("refund", state="verified")]))
    rude = replace(
        assessed(trial("rude")), results=(Result(evaluator="unsafe_retry", state="fail", explanation="tried again"),)
    )
    blind = assessed(trial("blind"), "unavailable", reason="end_state_not_recorded")
    found = rendered(report_markdown(report([unknown, rude, blind, failed("liar")], None, described="")))
    why = {row[0]: row[3] for row in found.rows if len(row) == 4}
    assert why["lost"] == "refund: unknown"
    assert why["rude"] == "unsafe_retry: tried again"
    assert why["blind"] == "no verdict, nobody recorded the end state"
    assert why["liar"] == "outcome failed: one refund"


def test_every_row_of_every_table_has_as_many_cells_as_its_header() -> None:
    """A name with a pipe, a line break, a backslash or another script is one cell."""
    found = crowded_report()
    names = ["a\\|b", "|", "\\", "two\nlines", "`|`", *(one.trial.trial_id for one in found.assessments[:9])]
    evil = [assessed(trial(name, variant=name, task_id=name), "failed") for name in names]
    told = report([*found.assessments, *evil], None, described="")
    text = report_markdown(told)
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    tables = [token.map for token in tokens if token.type == "table_open"]
    lines = text.splitlines()
    assert len(tables) == 2 + sum(bool(shown(part, told, whole=False)[0]) for part in every(told))
    for place in tables:
        assert place is not None
        cells = [len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in lines[place[0] : place[1]]]
        assert len(set(cells)) == 1
        assert lines[place[1]] == ""  # the table ends where it is meant to
    row = next(row for row in rendered(text).rows if row and row[0] == "Measure")
    assert {"a\\|b", "|", "\\", "two lines", "`|`"} <= set(row)


def test_text_from_a_trace_is_no_markup_in_markdown() -> None:
    found = rendered(report_markdown(made(failed(EVIL))))
    assert found.tags <= {"h2", "h3", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "br", "sub", "code"}
    assert len({len(row) for row in found.rows if row and "a|b" in row[0]}) == 1
    assert "@" not in report_markdown(made(failed(EVIL))).replace("\\@", "")


def test_sarif_has_what_was_found_with_its_spans_and_nothing_else() -> None:
    found = json.loads(report_sarif(made()))
    (run,) = found["runs"]
    results = {result["ruleId"]: result for result in run["results"]}
    assert set(results) == {"outcome", "forbidden_tools"}
    (location,) = results["forbidden_tools"]["locations"]
    assert location["logicalLocations"] == [{"fullyQualifiedName": f"{'t' * 32}/00000000000000bb", "kind": "span"}]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])


def test_sarif_names_an_imported_file_as_a_uri() -> None:
    one = failed("x")
    moved = replace(one, trial=replace(one.trial, path="runs/day 1/a#b.json"))
    (run,) = json.loads(report_sarif(report([moved], None, described="")))["runs"]
    place = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "runs/day%201/a%23b.json"}


def rows(found: Report) -> dict[str, dict[str, str]]:
    return {row["trial_id"]: row for row in csv.DictReader(io.StringIO(report_csv(found)))}


def test_numbers_can_be_counted_again_from_the_rows() -> None:
    found = made()
    careful = [row for row in rows(found).values() if row["variant"] == "careful"]
    (variant,) = (one for one in found.variants if one.name == "careful")
    declared = [row for row in careful if row["claim"] == "success"]
    measure = variant.measures["false_success_rate"]
    assert measure.denominator == len(declared)
    assert measure.unavailable == sum(row["outcome"] == "unavailable" for row in declared)
    assert variant.measures["effect_integrity"].numerator == sum(int(row["effects_verified"]) for row in careful)


def test_what_is_open_is_empty_in_csv_and_null_in_parquet() -> None:
    found = made()
    assert (rows(found)["blind"]["solved"], rows(found)["good"]["solved"]) == ("", "true")
    table = pq.read_table(io.BytesIO(report_parquet(found))).to_pylist()
    by_name = {row["trial_id"]: row for row in table}
    assert (by_name["blind"]["solved"], by_name["good"]["solved"], by_name["liar"]["solved"]) == (None, True, False)
    assert by_name["liar"]["result.forbidden_tools"] == "fail"
    assert by_name["good"]["result.forbidden_tools"] is None


def test_what_no_dialect_understands_has_no_counts_rather_than_none_at_all() -> None:
    (row,) = rows(report([assessed(trial("x", understood=False))], None, described="")).values()
    assert (row["tool_calls"], row["effects_unknown"], row["steps"]) == ("", "", "")


def test_a_trial_without_times_has_no_duration_in_junit() -> None:
    one = replace(trial("x", variant="v"), timed=False)
    root = ElementTree.fromstring(report_junit(report([assessed(one)], None, described="")))
    case = root.find(".//testcase[@name='x']")
    assert case is not None
    assert case.get("time") is None


@pytest.mark.parametrize("name", ["=1+1", "@x", "-2", "+3"])
def test_no_cell_of_csv_is_a_formula(name: str) -> None:
    assert f"'{name}" in rows(made(failed(name)))


def test_any_text_can_be_written_in_every_format() -> None:
    found = made(failed(EVIL + "\ud800", seen=EVIL + "\ud800"))
    ElementTree.fromstring(report_junit(found))
    json.loads(report_sarif(found))
    assert report_markdown(found).encode("utf-8", "replace")
    assert pq.read_table(io.BytesIO(report_parquet(found))).num_rows == 4
    assert len(rows(found)) == 4


def test_the_command_writes_each_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "suite.json").write_text(json.dumps(SUITE))
    with open_store(f"chdb://{tmp_path}/store") as store:
        put(store, attempt("one"))
    asked = ["--store", f"chdb://{tmp_path}/store", "--suite", str(tmp_path / "suite.json")]
    assert main(["evaluate", *asked, "--include-unsettled"]) == 0
    names = ["html", "markdown", "junit", "sarif", "csv", "parquet"]
    assert main(["report", *asked, *(part for name in names for part in (f"--{name}", str(tmp_path / name)))]) == 0
    assert all((tmp_path / name).stat().st_size > 200 for name in names)
    capsys.readouterr()
    assert main(["report", *asked, "--csv", str(tmp_path / "no" / "such.csv")]) == 2
    assert "cannot be written" in capsys.readouterr().err
