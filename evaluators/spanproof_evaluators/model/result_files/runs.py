"""One line a task: {"task": "add-pagination", "runs": [true, true, false, true, true]}."""

from collections.abc import Sequence
from typing import Final

from spanproof_evaluators.model.result_files._format import AttemptRow, Item, ResultFile, ResultFormat, text


def _runs(items: Sequence[Item]) -> ResultFile:
    found = []
    for item in items:
        runs = item.get("runs")
        if not isinstance(runs, list) or not runs or not all(one is None or isinstance(one, bool) for one in runs):
            raise ValueError("runs is no list of true and false (null: no verdict)")
        for attempt, passed in enumerate(runs):
            known = passed if isinstance(passed, bool) else None
            found.append(
                AttemptRow(
                    task=text(item, "task"), attempt=attempt, passed=known, reason="" if known is not None else "null"
                )
            )
    return ResultFile(format="runs", attempts=tuple(found))


RUNS: Final = ResultFormat(name="runs", required=frozenset({"task", "runs"}), optional=frozenset(), read=_runs)
