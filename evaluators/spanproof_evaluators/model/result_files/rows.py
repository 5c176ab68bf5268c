"""One row an attempt: {fall, forsok, lyckades, steg, tokens, sek, status}; and the five figures made of them.

``status`` other than ``klar`` is an attempt that was stopped. Figures alone are stated, not recounted.
"""

from collections.abc import Sequence
from typing import Final

from spanproof_evaluators.model.result_files._format import (
    BUDGET,
    AttemptRow,
    Item,
    ResultFile,
    ResultFormat,
    count,
    number,
    text,
    truth,
)

DONE: Final = "klar"


def _rows(items: Sequence[Item]) -> ResultFile:
    found = []
    for item in items:
        status = text(item, "status")
        attempt = count(item, "forsok")
        found.append(
            AttemptRow(
                task=text(item, "fall"),
                attempt=0 if attempt is None else attempt,
                passed=truth(item, "lyckades"),
                reason="" if status == DONE else BUDGET if "budget" in status else status,
                steps=count(item, "steg"),
                tokens=count(item, "tokens"),
                seconds=number(item, "sek"),
                aborted=status != DONE,
            )
        )
    return ResultFile(format="agent_fall_rows", attempts=tuple(found))


ROWS: Final = ResultFormat(
    name="agent_fall_rows",
    required=frozenset({"fall", "forsok", "lyckades", "steg", "tokens", "sek", "status"}),
    optional=frozenset(),
    read=_rows,
)

FIGURES: Final = ("losningsgrad", "pass_at_1", "kostnad_per_lyckad", "medelsteg_lyckade", "avbrutna")


def _figures(items: Sequence[Item]) -> ResultFile:
    if len(items) != 1:
        raise ValueError("several summaries in one file: keep one")
    stated = {key: value for key in FIGURES if (value := number(items[0], key)) is not None}
    return ResultFile(format="agent_fall_report", stated=stated)


REPORT: Final = ResultFormat(name="agent_fall_report", required=frozenset(FIGURES), optional=frozenset(), read=_figures)
