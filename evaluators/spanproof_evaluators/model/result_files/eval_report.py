"""A report by name: {timestamp, total, passed, avg_score, results: {name: {passed, score, details}}}.

An entry that says ``Error: …`` tells of a check or an agent that broke: it has no verdict (R023). One that says that a
budget was exceeded failed, and was stopped. The totals are recounted.
"""

from collections.abc import Sequence
from typing import Final

from spanproof_evaluators.model.result_files._format import (
    BUDGET,
    INFRASTRUCTURE,
    AttemptRow,
    Item,
    ResultFile,
    ResultFormat,
    count,
    number,
    text,
    truth,
)

_ENTRY: Final = frozenset({"passed", "score", "details"})


def _report(items: Sequence[Item]) -> ResultFile:
    found: list[AttemptRow] = []
    stated: dict[str, float] = {}
    doubts: list[str] = []
    for attempt, item in enumerate(items):
        results = item.get("results")
        if not isinstance(results, dict):
            raise ValueError("results is no object of results by name")
        rows = [_entry(name, one, attempt) for name, one in results.items()]
        found += rows
        stated |= {key: value for key in ("total", "passed", "avg_score") if (value := number(item, key)) is not None}
        doubts += _recounted(item, rows)
    return ResultFile(format="eval_report", attempts=tuple(found), stated=stated, doubts=tuple(doubts))


def _entry(name: str, one: object, attempt: int) -> AttemptRow:
    if not isinstance(one, dict) or one.keys() - _ENTRY or "passed" not in one:
        raise ValueError(f"results.{name} is no result with passed, score and details")
    details = text(one, "details") if "details" in one else ""
    passed, score = truth(one, "passed"), number(one, "score")
    if score is not None and not 0 <= score <= 1:
        raise ValueError(f"results.{name}.score is {score:g}, and not between 0 and 1")
    broken = not passed and details.startswith("Error:")
    over = not passed and "budget exceeded" in details.lower()
    return AttemptRow(
        task=name,
        attempt=attempt,
        passed=None if broken else passed,
        reason=INFRASTRUCTURE if broken else BUDGET if over else "",
        score=None if broken else score,
        aborted=None if broken else over,
        details=details,
    )


def _recounted(item: Item, rows: Sequence[AttemptRow]) -> list[str]:
    """Return where the totals are not what the rows say. The seed counts what broke as 0.0: so does this recount."""
    found = []
    passed = sum(row.passed is True for row in rows)
    mean = round(sum(row.score or 0.0 for row in rows) / len(rows), 3) if rows else None
    for key, counted in (("total", len(rows)), ("passed", passed)):
        if (said := count(item, key)) is not None and said != counted:
            found.append(f"{key} is said to be {said}; the results are {counted}")
    said_mean = number(item, "avg_score")
    if mean is not None and said_mean is not None and abs(said_mean - mean) > 0.0005 + 1e-9:
        found.append(f"avg_score is said to be {said_mean:g}; the results give {mean:g}")
    found += [
        f"{row.task} passed with a score of {row.score:g}: a part of what was asked is not there"
        for row in rows
        if row.passed and row.score is not None and row.score < 1
    ]
    return found


EVAL_REPORT: Final = ResultFormat(
    name="eval_report",
    required=frozenset({"total", "passed", "results"}),
    optional=frozenset({"timestamp", "avg_score"}),
    read=_report,
)
EVAL_RESULT: Final = ResultFormat(
    name="eval_result",
    required=frozenset({"passed", "score", "details"}),
    optional=frozenset(),
    read=lambda items: ResultFile(
        format="eval_result",
        attempts=tuple(_entry(f"result {place}", dict(one), 0) for place, one in enumerate(items, start=1)),
    ),
)
