"""Recorded sessions of tau-bench, from files over the store to the printed table of pass^k."""

import io
import json
import re
import shutil
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import pytest
from rich.console import Console

from spanproof_collector.importers import import_paths
from spanproof_collector.model.filters import Filter
from spanproof_collector.store import Store
from spanproof_evaluators.reports.files import report_markdown
from spanproof_evaluators.reports.machine import line, report_json
from spanproof_evaluators.reports.terminal import print_report
from spanproof_evaluators.runner import assess, evaluate, report
from spanproof_evaluators.runner.measuring.in_sql import measures_in_sql
from spanproof_evaluators.runner.recorded_changes import RecordedChanges
from spanproof_evaluators.stats.reliability import pass_at_k, pass_hat_k
from tests.shared import SESSIONS, needs_sessions

DEV = SESSIONS / "dev"
PUBLISHED = {1: 0.424, 2: 0.263, 3: 0.205, 4: 0.182}
"""Issue 7, of the tau-bench sessions in ``dev``: step limits unsolved, vacuous tasks in."""


def truths() -> tuple[dict[str, list[bool]], dict[str, list[bool]]]:
    """Return by task what the recordings' own reward says: of all tasks, and of those that ask for a change."""
    solved: defaultdict[str, list[bool]] = defaultdict(list)
    with (DEV / "manifest.jsonl").open(encoding="utf-8") as lines:
        told = [one for text in lines if (one := json.loads(text))["source"] == "tau-bench"]
    ids = {one["id"]: one["task_id"] for one in told}
    for one in told:
        solved[one["task_id"]].append(one["ground_truth_success"] and one["termination"] != "max_steps")
    asked: set[str] = set()
    with (DEV / "endstate.jsonl").open(encoding="utf-8") as lines:
        for text in lines:
            one = json.loads(text)
            if one["id"] in ids and one["gold_changes"]:
                asked.add(ids[one["id"]])
    for path in (DEV / "sessions" / "tau-bench").iterdir():
        session = json.loads(path.read_text(encoding="utf-8"))
        if session["info"]["task"]["outputs"]:
            asked.add(str(session["task_id"]))
    return dict(solved), {task: trials for task, trials in solved.items() if task in asked}


@needs_sessions
def test_the_table_of_tau_bench_comes_out_of_the_report(store: Store, tmp_path: Path) -> None:
    shutil.copyfile(DEV / "endstate.jsonl", tmp_path / "endstate.jsonl")
    shutil.copytree(DEV / "sessions" / "tau-bench", tmp_path / "runs", copy_function=shutil.copyfile)
    import_paths(store, [tmp_path])
    list(evaluate(store, Filter(), None, sources=(RecordedChanges(),)))
    made = report(list(assess(store, Filter(), None)), None, described="")
    (variant,) = made.variants
    every, changing = truths()
    assert (variant.trials, variant.tasks) == (132, len(every)) == (sum(map(len, every.values())), 33)
    console = Console(file=io.StringIO(), width=200, color_system=None, markup=False, highlight=False)
    print_report(console, made)
    assert isinstance(console.file, io.StringIO)
    printed = console.file.getvalue()
    table = printed[printed.index("\nOver repeated trials") :]
    in_json = json.loads(line(report_json(made)))["variants"]["(none)"]["measures"]
    for k, published in PUBLISHED.items():
        expected = fmean(pass_hat_k(len(trials), sum(trials), k) or 0.0 for trials in every.values())
        assert round(expected, 3) == published
        assert variant.measures[f"pass_hat_{k}"].value == pytest.approx(expected, rel=1e-9)
        assert variant.measures[f"pass_at_{k}"].value == pytest.approx(
            fmean(pass_at_k(len(trials), sum(trials), k) or 0.0 for trials in every.values()), rel=1e-9
        )
        rest = fmean(pass_hat_k(len(trials), sum(trials), k) or 0.0 for trials in changing.values())
        without = variant.measures[f"pass_hat_{k}_without_vacuous"]
        assert without.value == pytest.approx(rest, rel=1e-9)
        assert without.denominator == len(changing)
        assert re.search(rf"^pass\^{k}, all of {k} +{published:.3f} \((mean of )?\d*/?33 tasks\)", table, re.MULTILINE)
        assert re.search(rf"^pass\^{k} without +{rest:.3f} \(", table, re.MULTILINE)
        assert round(in_json[f"pass_hat_{k}"]["value"], 3) == published
    aborted = variant.measures["aborted_rate"]
    assert (aborted.numerator, aborted.denominator, aborted.parts) == (5, 132, {"budget_exhausted": 5})
    for one in measures_in_sql(store):
        counted = variant.measures[one.name]
        assert (one.numerator, one.denominator, one.unavailable) == (
            counted.numerator,
            counted.denominator,
            counted.unavailable,
        ), one.name
    markdown = report_markdown(made).replace("\\", "")
    assert all(f"| {published:.3f} (" in markdown for published in PUBLISHED.values())
