import contextlib
import io
import json
import re
import resource
import subprocess
import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from rich.console import Console

from spanproof_collector.model.filters import Filter
from spanproof_collector.store import open_store
from spanproof_evaluators.demo.run import DemoFolderError, run_demo
from spanproof_evaluators.demo.world import World
from spanproof_evaluators.model.suites import read_suite
from spanproof_evaluators.reports.html import report_html
from spanproof_evaluators.reports.machine import report_json
from spanproof_evaluators.reports.terminal import print_report
from spanproof_evaluators.runner import assess, report
from spanproof_evaluators.runner.collector_process import CollectorProcess, CollectorProcessError
from tests.evaluators.browser import SIZES, look, offline_page, painted
from tests.evaluators.crowded import crowded_report
from tests.evaluators.demo.conftest import Reported


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A run of the command."""

    folder: Path
    done: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The demo, run once as a user runs it."""
    folder = tmp_path_factory.mktemp("demo") / ".spanproof-demo"
    done = subprocess.run(
        [sys.executable, "-m", "spanproof_evaluators", "demo", "--json", "--folder", str(folder)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Ran(folder=folder, done=done)


def test_the_command_ends_well_and_says_what_to_try_next(ran: Ran) -> None:
    assert ran.done.returncode == 0, ran.done.stderr
    assert f"--store chdb://{ran.folder}/store" in ran.done.stderr
    assert (ran.folder / "report.html").read_text(encoding="utf-8").startswith("<!")


def timeless(variants: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers without the times that a run took."""
    for variant in variants.values():
        variant["telemetry"] = {name: one for name, one in variant["telemetry"].items() if one["unit"] != "second"}
    return variants


def test_two_runs_of_the_demo_give_the_same_numbers(
    ran: Ran, requests: list[ExportTraceServiceRequest], reported: Reported
) -> None:
    again = json.loads(json.dumps(report_json(reported(requests))))
    assert timeless(json.loads(ran.done.stdout)["variants"]) == timeless(again["variants"])


def test_the_report_is_made_from_the_store_alone(ran: Ran) -> None:
    suite = read_suite(ran.folder / "suite.json")
    with open_store(f"chdb://{ran.folder}/store") as store:
        assert store.embedded_path is not None  # the collector has let go of it
        made = report(list(assess(store, Filter(suites=(suite.id,)), suite)), suite, described="suite demo-shop")
    assert json.loads(json.dumps(report_json(made))) == json.loads(ran.done.stdout)


BREAKS = {
    ".wide { overflow: visible !important }": "the page is",
    "td small { margin-top: -1.2rem !important }": "text over text",
    ".soft { color: #999 !important }": "a contrast of",
    "svg .interval { stroke: #ddd !important }": "a mark with a contrast of",
    "svg { margin-left: -3rem }": "a picture outside of its cell",
    "svg { width: 1rem }": "a picture that is too small",
    "h2 { visibility: hidden }": "a heading that nobody sees",
    "small { font-size: 9px !important }": "text that is too small",
}
"""What a change of the styles may break, and how that is told."""


def test_the_report_opens_offline_in_a_browser_and_holds_its_layout(ran: Ran, tmp_path: Path) -> None:
    crowded = tmp_path / "crowded.html"
    crowded.write_text(report_html(crowded_report()), encoding="utf-8")
    pages = [(ran.folder / "report.html").as_uri(), crowded.as_uri()]
    with offline_page() as (page, asked):
        for address in pages:
            page.goto(address)
            for size, scheme in product(SIZES, ("light", "dark")):
                assert look(page, size, scheme) == [], (address, size, scheme)
                if address == pages[0]:
                    shown = painted(page)
                    assert shown["ground"] == page.evaluate("getComputedStyle(document.body).backgroundColor")
                    assert (shown["width"], shown["lost"]) == (SIZES[size][0], 0)
                    assert shown["share"] < 0.99
                    assert shown["pictures"] > 10
        assert asked == pages
        for style, fault in BREAKS.items():  # that the facts can fail
            added = page.add_style_tag(content=style)
            found = look(page, "phone", "light")
            assert any(one.startswith(fault) for one in found), (style, found)
            added.evaluate("style => style.remove()")
        page.goto(pages[0])
        row = page.locator(".trials a").first
        row.click()  # without a script: what a link leads to is shown, its trial's page open
        assert page.evaluate("document.querySelector(':target').closest('details').open")
        assert page.locator("details:has(:target) summary strong").inner_text() == row.inner_text()
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        assert [look(page, size, "light") for size in SIZES] == [[], []]


def test_the_worlds_show_what_the_report_says(ran: Ran) -> None:
    twice = World(ran.folder / "worlds" / "fast.refund-lamp.0")
    assert [row["order_id"] for row in twice.rows("refunds")] == ["ORD-1001", "ORD-1001"]
    assert World(ran.folder / "worlds" / "fast.return-label.0").mails() == {}
    assert len(World(ran.folder / "worlds" / "careful.return-label.0").mails()) == 1


def test_a_folder_that_the_demo_did_not_make_is_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("precious", encoding="utf-8")
    with pytest.raises(DemoFolderError, match="was not made by the demo"):
        run_demo(tmp_path, on_step=print)
    assert mine.read_text(encoding="utf-8") == "precious"


def test_a_collector_that_does_not_come_up_is_an_error_with_its_words(tmp_path: Path) -> None:
    in_the_way = tmp_path / "store"
    in_the_way.write_text("", encoding="utf-8")
    with pytest.raises(CollectorProcessError, match=r"(?s)ended with 2 before it was ready.*cannot be used"):
        CollectorProcess(in_the_way, log=tmp_path / "log").__enter__()


def test_a_process_with_many_open_files_still_hears_its_collector(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = 1200 if hard == resource.RLIM_INFINITY else min(1200, hard)
    if enough < 1200:
        pytest.skip("this machine lets no process hold 1200 files")
    in_the_way = tmp_path / "store"
    in_the_way.write_text("", encoding="utf-8")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, enough), hard))
    with contextlib.ExitStack() as held:
        held.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        while held.enter_context(in_the_way.open("rb")).fileno() < 1050:  # select() knows those below 1024
            pass
        with pytest.raises(CollectorProcessError, match="ended with 2 before it was ready"):
            CollectorProcess(in_the_way, log=tmp_path / "log").__enter__()


def test_the_readme_shows_what_the_demo_prints(requests: list[ExportTraceServiceRequest], reported: Reported) -> None:
    console = Console(file=io.StringIO(), width=80, color_system=None, markup=False, highlight=False)
    print_report(console, reported(requests))
    assert isinstance(console.file, io.StringIO)
    readme = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    (excerpt,) = re.findall(r"```text\n(.*?)```", readme, re.DOTALL)
    for part in excerpt.split("...\n"):
        assert _without_span_ids(part) in _without_span_ids(console.file.getvalue())


def _without_span_ids(text: str) -> str:
    return re.sub(r"[0-9a-f]{16}", "SPAN", text)
