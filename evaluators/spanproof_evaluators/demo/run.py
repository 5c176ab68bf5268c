"""The demo from end to end: a collector, agents in a small world, verdicts, and a report from the store alone."""

import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spanproof_collector.model.filters import Filter
from spanproof_collector.store import open_store
from spanproof_evaluators.demo import trials
from spanproof_evaluators.demo.witness import Witness
from spanproof_evaluators.errors import EvaluatorError
from spanproof_evaluators.model.reports import Report
from spanproof_evaluators.model.suites import Suite, parse_suite
from spanproof_evaluators.reports.html import report_html
from spanproof_evaluators.runner import assess, evaluate, report
from spanproof_evaluators.runner.collector_process import CollectorProcess

FOLDER: Final = ".spanproof-demo"
_MARKER: Final = "made-by-spanproof-demo"
_AT_A_TIME: Final = 2  # agent processes; their start is what the demo's time goes to


class DemoFolderError(EvaluatorError):
    """The demo's folder holds something that the demo did not make."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} was not made by the demo, so it is left alone. Move it away, or run the demo in another folder"
        )
        self.folder = folder


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """What a run of the demo left behind."""

    folder: Path
    store: str
    """The address of its store."""

    suite: Path
    html: Path
    report: Report
    seconds: float
    next_commands: tuple[str, ...]
    """What to try next, as it is typed in the folder that the demo was run in."""

    @property
    def verdict(self) -> str:
        """The decision on each variant, in a sentence."""
        told = [
            f"{variant.name}: {variant.decision.decision.upper()}"
            + (f" at gate {variant.decision.decided_by}" if variant.decision.decided_by else "")
            for variant in self.report.variants
        ]
        return f"{', '.join(told)}."


def run_demo(folder: Path, *, on_step: Callable[[str], None]) -> DemoResult:
    """Make the folder anew, run the demo in it and return what it left behind.

    Args:
        folder: where everything goes; made again each time.
        on_step: told what happens, a line at a time.

    Raises:
        DemoFolderError: the folder is there and is not the demo's own.
        CollectorProcessError: the collector did not come up, or did not end well.
        AgentProcessError: an agent process failed.
    """
    started = time.monotonic()
    _make(folder)
    suite_path = folder / "suite.json"
    suite_path.write_text(trials.suite_text(), encoding="utf-8")
    suite = parse_suite(trials.suite_text(), name=str(suite_path))
    html = folder / "report.html"
    with CollectorProcess(folder / "store", log=folder / "collector.log") as collector:
        on_step(f"collector   ready after {collector.ready_after:.1f} s, OTLP over gRPC at {collector.endpoint}")
        every = trials.plays(folder / "worlds")
        variants = sorted({play.variant for play in every})
        on_step(
            f"agents      {' and '.join(variants)}, {len(suite.tasks)} tasks each: {len(every)} trials, "
            "every one in its own shop"
        )
        _play(every, collector.endpoint)
        on_step(f"played      after {time.monotonic() - started:.1f} s; each shop is recorded before and after")
        made = judge(collector.address, suite)
        html.write_text(report_html(made), encoding="utf-8")
        on_step("judged      by what the store holds: claims, receipts, end states")
    on_step(f"collector   stopped; everything lies in {folder}\n")
    spanproof = shlex.quote(_command())
    store = f"--store {shlex.quote(f'chdb://{folder}/store')}"
    return DemoResult(
        folder=folder,
        store=collector.address,
        suite=suite_path,
        html=html,
        report=made,
        seconds=time.monotonic() - started,
        next_commands=(
            f"{spanproof} trials {store}",
            f"{spanproof} show fast.refund-lamp.0 {store}",
            f"{spanproof} report -v {store} --suite {shlex.quote(str(suite_path))}",
        ),
    )


def judge(address: str, suite: Suite) -> Report:
    """Evaluate every trial of the suite that the store holds, and report from what is stored then."""
    wanted = Filter(suites=(suite.id,))
    with open_store(address) as store:
        for _ in evaluate(store, wanted, suite):
            pass
        return report(list(assess(store, wanted, suite)), suite, described=f"suite {suite.id}")


def _command() -> str:
    """Return how this command line is called from here."""
    called = Path(sys.argv[0])
    found = shutil.which(called.name)
    if called.name != "spanproof" or (found is not None and Path(found).resolve() == called.resolve()):
        return "spanproof"
    return min(os.path.relpath(called), str(called.absolute()), key=len)


def _play(every: tuple[trials.Play, ...], endpoint: str) -> None:
    with Witness(endpoint) as witness, ThreadPoolExecutor(_AT_A_TIME) as pool:
        for _ in pool.map(lambda play: trials.run(play, endpoint, witness), every):
            pass


def _make(folder: Path) -> None:
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        if not (folder / _MARKER).is_file():
            raise DemoFolderError(folder)
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _MARKER).touch()
