"""Every public number in every format of a report stands beside its denominator."""

import io
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console

from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.reports import Report
from spanproof_evaluators.reports.files import report_junit, report_markdown
from spanproof_evaluators.reports.html import report_html
from spanproof_evaluators.reports.machine import line, report_json
from spanproof_evaluators.reports.terminal import print_report
from spanproof_evaluators.reports.wording import BESIDE, SIGNALS, repeated
from spanproof_evaluators.runner import report
from tests.evaluators.factories import assessed, call, progress, quality, trial
from tests.evaluators.test_reliability import runs

COUNTED = re.compile(
    r"\d+/\d+ \([\d.]+\)|[\d.]+ \(\d+/\d+( graded)?\)|[\d.]+ \(mean of \d+ tasks?\)"
    r"|\$[\d.]+ \(\$[\d.]+ / \d+\)|unavailable"
)
"""A ratio with its counts, a mean with how many it is of, money over outcomes, or that there is none."""


@pytest.fixture(scope="module", params=["few", "many"])
def made(request: pytest.FixtureRequest) -> Report:
    """Return a report on two variants with every kind of number: of few tasks, and of more than thirty."""
    count = 3 if request.param == "few" else 40
    calls = [call(state="verified", observed="r"), call("b", state="unknown"), call("c", state="refused")]
    found: list[Assessment] = []
    for at in range(count):
        one = trial(f"a{at}", task_id=f"t{at}", variant="a", calls=calls, windows=progress(1, 2), scores=[quality(0.5)])
        found.append(assessed(one, "failed" if at == 0 else "verified"))
    found += [assessed(trial("open", task_id="t0", variant="a", usd=None), "unavailable")]
    found += runs(**{f"t{at}": "sf" for at in range(count)})
    return report(found, None, described="")


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


def named(made: Report) -> dict[str, str]:
    return {**SIGNALS, **BESIDE, **repeated(made.variants)}


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
    for name, called in named(made).items():
        assert len(rows[called]) == len(made.variants), name
        assert all(COUNTED.search(cell) for cell in rows[called]), (name, rows[called])


def test_markdown_shows_the_counts_of_each(made: Report) -> None:
    lines = [one for one in report_markdown(made).replace("\\", "").splitlines() if one.startswith("| ")]
    rows = {
        cells[1].strip(): cells[2:-1] for one in lines if len(cells := one.split("|")) == 2 + 1 + len(made.variants)
    }
    shown = [called for called in named(made).values() if called in rows]
    assert len(shown) >= 8
    for called in shown:
        assert all(COUNTED.search(cell) for cell in rows[called]), (called, rows[called])


def test_the_terminal_shows_the_counts_of_each(made: Report) -> None:
    console = Console(file=io.StringIO(), width=200, color_system=None, markup=False, highlight=False)
    print_report(console, made)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue().splitlines()
    for name, called in named(made).items():
        words = called.split()[0]
        at = next(number for number, text in enumerate(shown) if text.startswith(words) and COUNTED.search(text))
        for text in shown[at : at + len(made.variants)]:
            assert COUNTED.search(text), (name, text)


def test_gates_say_of_how_many_in_junit(made: Report) -> None:
    root = ElementTree.fromstring(report_junit(made))
    for case in root.iter("testcase"):
        for said in (*case.findall("failure"), *case.findall("error")):
            if str(case.get("classname")).endswith(".gates"):
                text = str(said.get("message"))
                assert re.search(r"\d+ of \d+|no |unavailable|nothing|none of|several", text), text
