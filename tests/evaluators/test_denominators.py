"""Every public number in every format of a report stands beside its denominator."""

import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console

from spanproof_collector.model.readings import Usage
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.reports import Report
from spanproof_evaluators.reports.files import report_junit, report_markdown, report_sarif
from spanproof_evaluators.reports.html import report_html
from spanproof_evaluators.reports.machine import line, report_json
from spanproof_evaluators.reports.sections import TOGETHER, every, shown
from spanproof_evaluators.reports.terminal import print_report
from spanproof_evaluators.runner import observed, report
from tests.evaluators.factories import assessed, call, progress, quality, suite, trial
from tests.evaluators.test_reliability import runs

COUNTED = re.compile(
    r"\d+/\d+( tasks?)? \([\d.]+\)|[\d.]+ \(\d+/\d+( graded| tasks?)?\)|[\d.]+ \(mean of \d+ tasks?\)"
    r"|[\d,.]+ \([\d,.]+ / [\d,]+ [a-z ]+\)|\$[\d.]+ \(\$[\d.]+ / \d+\)|unavailable"
)
"""A ratio with its counts, a mean with how many it is of, an amount with its total, money over outcomes, or none."""

UNPRINTED = {
    *("evidence_stated", "outcome_coverage", "effect_coverage"),
    *("benign_utility", "utility_under_attack", "attack_success_rate", "useful_and_safe"),
    *("correct_refusal", "over_refusal"),
}
"""What gates ask for, of which the tables print ``evidence_coverage``; and what no task of these trials asks."""


@pytest.fixture(scope="module", params=["few", "many"])
def made(request: pytest.FixtureRequest) -> Report:
    """Return a report on two variants with every kind of number: of few tasks, and of more than thirty."""
    count = 3 if request.param == "few" else 40
    calls = [call(state="verified", observed="r"), call("b", state="unknown"), call("c", state="refused")]
    shop = suite(*({"id": f"t{at}", "category": "refund" if at % 2 else "lookup"} for at in range(count)))
    used = Usage(input_tokens=1200, output_tokens=34)
    found: list[Assessment] = []
    for at in range(count):
        one = trial(f"a{at}", task_id=f"t{at}", variant="a", calls=calls, windows=progress(1, 2), scores=[quality(0.5)])
        found.append(assessed(replace(one, usage=used), "failed" if at == 0 else "verified"))
        found.append(assessed(replace(one, trial_id=f"b{at}"), "verified"))
    found += [assessed(trial("open", task_id="t0", variant="a", usd=None), "unavailable")]
    found += runs(**{f"t{at}": "sf" for at in range(count)})
    found = [replace(one, task=shop.task(one.trial.task_id)) for one in found]
    return report(found, None, described="", baseline=("old", [observed(one) for one in found]))


def measures(value: Any) -> Iterator[dict[str, Any]]:
    """Yield whatever in a JSON value has a value and a unit."""
    if isinstance(value, dict):
        if "value" in value and "unit" in value:
            yield value
        for inner in value.values():
            yield from measures(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from measures(inner)


def test_json_has_a_denominator_or_a_reason_for_each(made: Report) -> None:
    found = list(measures(json.loads(line(report_json(made)))))
    assert len(found) > 40
    for one in found:
        assert one["reason"] if one["value"] is None else one["denominator"] and one["numerator"] is not None


def named(made: Report, *, whole: bool) -> dict[str, str]:
    """Return how each number is called that a report prints; all of them, or those that a short one has."""
    return {name: called for part in every(made) for name, called in shown(part, made, whole=whole)[0].items()}


def test_every_number_of_a_variant_has_its_place_in_a_section(made: Report) -> None:
    for variant in made.variants:
        unprinted = variant.numbers.keys() - named(made, whole=True).keys()
        assert {name for name in unprinted if not name.startswith("pass_")} <= UNPRINTED


class Cells(HTMLParser):
    """Reads the cells of rows by their header."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: dict[str, list[str]] = {}
        self._row: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a row or a cell."""
        if tag == "tr":
            self._row = []
        if tag in ("th", "td"):
            self._row.append("")

    def handle_endtag(self, tag: str) -> None:
        """End a row."""
        if tag == "tr" and self._row:
            self.rows.setdefault(self._row[0].strip(), self._row[1:])

    def handle_data(self, data: str) -> None:
        """Add to a cell."""
        if self._row:
            self._row[-1] += data


def test_html_shows_the_counts_of_each(made: Report) -> None:
    rows = Cells(report_html(made)).rows
    for name, called in named(made, whole=True).items():
        assert len(rows[called]) == len(made.variants), name
        assert all(COUNTED.search(cell) for cell in rows[called]), (name, rows[called])


def test_markdown_shows_the_counts_of_each(made: Report) -> None:
    lines = [one for one in report_markdown(made).replace("\\", "").splitlines() if one.startswith("| ")]
    rows = {
        cells[1].strip(): cells[2:-1] for one in lines if len(cells := one.split("|")) == 2 + 1 + len(made.variants)
    }
    for called in named(made, whole=False).values():
        assert all(COUNTED.search(cell) for cell in rows[called]), (called, rows[called])


def test_the_terminal_shows_the_counts_of_each(made: Report) -> None:
    console = Console(file=io.StringIO(), width=200, color_system=None, markup=False, highlight=False)
    print_report(console, made, verbose=True)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    for part in every(made):
        begin = next(number for number, text in enumerate(lines) if text.startswith(part.title))
        for name, called in part.measures.items():
            label = called[:18].rsplit(" ", 1)[0] if len(called) > 18 else called
            at = next(number for number, text in enumerate(lines[begin:], begin) if text.startswith(label))
            told = lines[at : at + 2 * len(made.variants)]
            assert sum(bool(COUNTED.search(text)) for text in told) >= len(made.variants), (name, told)


def test_junit_and_sarif_hold_the_counts_of_each(made: Report) -> None:
    root = ElementTree.fromstring(report_junit(made))
    run = json.loads(report_sarif(made))["runs"][0]
    for at, variant in enumerate(made.variants):
        suites = root.findall("testsuite")
        told = {str(one.get("name")): str(one.get("value")) for one in suites[at].iter("property")}
        for part in every(made):
            for name in part.measures:
                assert COUNTED.search(told[f"{part.title}/{name}"]), name
                number = run["properties"]["measures"][variant.name][part.title][name]
                assert number["denominator"] or number["reason"], name


@pytest.mark.parametrize("wanted", ["terminal", "html", "markdown", "junit", "sarif"])
def test_solved_its_cost_and_aborted_stand_together_with_and_without_vacuous_tasks(made: Report, wanted: str) -> None:
    console = Console(file=io.StringIO(), width=200, color_system=None, markup=False, highlight=False)
    print_report(console, made)
    assert isinstance(console.file, io.StringIO)
    texts = {
        "terminal": console.file.getvalue(),
        "html": report_html(made),
        "markdown": report_markdown(made).replace("\\", ""),
        "junit": report_junit(made).decode(),
        "sarif": report_sarif(made),
    }
    text = texts[wanted]
    begin = text.index("Solved, at which cost, and aborted")
    words = list(TOGETHER) if wanted in ("junit", "sarif") else [called.split(",")[0] for called in TOGETHER.values()]
    place = begin
    for word in words:
        if wanted == "terminal":
            word = word[:18].rsplit(" ", 1)[0] if len(word) > 18 else word
        place = text.index(word, place + 1)
    assert text[begin + 1 : place].count("FALSE SUCCESS") == 0


def test_the_baseline_stands_in_brackets_with_its_counts(made: Report) -> None:
    rows = Cells(report_html(made)).rows
    for called in ("lookup", "refund", "Overall", "Tool calls"):
        for cell in rows[called]:
            brackets = re.search(r"\[old: (.*)\]", cell)
            assert brackets, (called, cell)
            assert COUNTED.fullmatch(brackets.group(1)), brackets.group(1)


def test_a_short_report_names_what_nobody_recorded_and_keeps_what_was_counted() -> None:
    calls = [call() for _ in range(60)]
    made = report([assessed(trial(calls=calls))], None, described="")
    (failures,) = [part for part in every(made) if part.title == "Failures, recovery, reach"]
    told, lacking = shown(failures, made, whole=False)
    assert "mtbf_steps" in told  # none of 60 failed: that bounds how rare it is
    assert "Files changed by a failed trial" in lacking
    text = report_markdown(made).replace("\\", "")
    assert "none of 60 steps failed: at least 20.0, one-sided 95 %" in text
    assert "Files changed by a failed trial" in text.split("unavailable: ")[-2]


def test_gates_say_of_how_many_in_junit(made: Report) -> None:
    root = ElementTree.fromstring(report_junit(made))
    for case in root.iter("testcase"):
        for said in (*case.findall("failure"), *case.findall("error")):
            if str(case.get("classname")).endswith(".gates"):
                text = str(said.get("message"))
                assert re.search(r"\d+ of \d+|no |unavailable|nothing|none of|several", text), text
