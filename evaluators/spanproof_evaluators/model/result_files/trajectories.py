"""What a trajectory evaluator says: {krokow, bledow, powtorzen, narzedzia, uwagi, czysta}, and the events it reads.

``evaluate`` is that evaluator (R096): steps are calls of tools, repeats are calls with a tool and arguments that were
there before, errors are results with a code. It flags, and decides nothing (R097).
"""

import json
from collections.abc import Sequence
from typing import Final

from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.result_files._format import (
    Item,
    ResultFile,
    ResultFormat,
    TrajectoryRow,
    count,
    text,
    texts,
    truth,
)

CALL: Final = "narzedzie.wywolanie"
RESULT: Final = "narzedzie.wynik"


def evaluate(events: Sequence[Item], expected: Item) -> TrajectoryRow:
    """Return what is to be said of a trajectory.

    Args:
        events: calls ``{typ: narzedzie.wywolanie, narzedzie, argumenty}`` and results ``{typ: narzedzie.wynik, kod}``.
        expected: ``{max_krokow, wymagane_narzedzia, zakazane_narzedzia}``; what is not said is not asked.

    Raises:
        ValueError: a call names no tool.
    """
    calls = [event for event in events if event.get("typ") == CALL]
    used = [text(call, "narzedzie") for call in calls]
    errors = sum(1 for event in events if event.get("typ") == RESULT and event.get("kod"))
    signatures = {f"{call['narzedzie']}:{json.dumps(call.get('argumenty'), sort_keys=True)}" for call in calls}
    repeats = len(calls) - len(signatures)
    findings = []
    most = count(expected, "max_krokow")
    if most is not None and len(calls) > most:
        findings.append(f"too many steps: {len(calls)} > {most}")
    if repeats:
        findings.append(f"{repeats} repeated calls (going in circles)")
    for name in _named(expected, "zakazane_narzedzia"):
        if name in used:
            findings.append(f"forbidden {name} was used")
    for name in _named(expected, "wymagane_narzedzia"):
        if name not in used:
            findings.append(f"required {name} was not used")
    return TrajectoryRow(
        steps=len(calls),
        errors=errors,
        repeats=repeats,
        tools=tuple(used),
        findings=tuple(findings),
        clean=not findings,
    )


def as_written(row: TrajectoryRow) -> dict[str, Plain]:
    """Return it by the keys that such a file has."""
    return {
        "krokow": row.steps,
        "bledow": row.errors,
        "powtorzen": row.repeats,
        "narzedzia": list(row.tools),
        "uwagi": list(row.findings),
        "czysta": row.clean,
    }


def _named(expected: Item, key: str) -> tuple[str, ...]:
    return texts(expected, key) if key in expected else ()


def _outputs(items: Sequence[Item]) -> ResultFile:
    rows, doubts = [], []
    for place, item in enumerate(items, start=1):
        counts = [count(item, key) or 0 for key in ("krokow", "bledow", "powtorzen")]
        row = TrajectoryRow(
            steps=counts[0],
            errors=counts[1],
            repeats=counts[2],
            tools=texts(item, "narzedzia"),
            findings=texts(item, "uwagi"),
            clean=truth(item, "czysta"),
        )
        if row.clean is bool(row.findings):
            doubts.append(
                f"trajectory {place} is said to be {'' if row.clean else 'not '}clean, and its findings differ"
            )
        if row.steps != len(row.tools):
            doubts.append(f"trajectory {place} is said to have {row.steps} steps, and names {len(row.tools)} tools")
        rows.append(row)
    return ResultFile(format="trajectories", trajectories=tuple(rows), doubts=tuple(doubts))


TRAJECTORIES: Final = ResultFormat(
    name="trajectories",
    required=frozenset({"krokow", "bledow", "powtorzen", "narzedzia", "uwagi", "czysta"}),
    optional=frozenset(),
    read=_outputs,
)


def _events(items: Sequence[Item]) -> ResultFile:
    return ResultFile(format="trajectory_events", trajectories=(evaluate(items, {}),))


EVENTS: Final = ResultFormat(
    name="trajectory_events",
    required=frozenset({"typ"}),
    optional=frozenset({"narzedzie", "argumenty", "kod", "wynik", "czas"}),
    read=_events,
)
