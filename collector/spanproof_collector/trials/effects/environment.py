"""What an environment showed of each call: somebody replayed the recorded calls and noted which of them changed it."""

from collections.abc import Mapping, Sequence

from spanproof_collector.model.trials import RecordedChanges
from spanproof_collector.model.values import Json
from spanproof_collector.trials.effects.facts import Facts


def seen_to_change(calls: Sequence[Facts], changes: Sequence[RecordedChanges]) -> Mapping[int, tuple[bool, str]]:
    """Return, by place of the call, whether it was seen to change something, and the span that holds the record.

    The record is a list of ``{call, tool, changed}``. It counts only where it leaves no doubt which call is which: its
    tools, at their places, are those of the calls, or of the calls that may have run. Else nothing is taken from it.
    """
    found: dict[int, tuple[bool, str]] = {}
    for record in changes:
        told = record.calls if isinstance(record.calls, list) else []
        rows = [row for row in told if isinstance(row, dict)]
        if not rows or len(rows) != len(told):
            continue
        places = _places(rows, calls)
        for row, place in zip(rows, places, strict=False):
            changed = row.get("changed")
            if isinstance(changed, bool):
                found[place] = changed, record.span_id
    return found


def _places(rows: Sequence[Mapping[str, Json]], calls: Sequence[Facts]) -> list[int]:
    """Return the place of each row's call; empty where that cannot be told."""
    every = list(range(len(calls)))
    ran = [i for i in every if calls[i].ran.executed != "no"]
    fitting: list[list[int]] = []
    for order in (every, ran):
        numbers = [row.get("call", at) for at, row in enumerate(rows)]
        places = [
            order[number]
            for row, number in zip(rows, numbers, strict=True)
            if isinstance(number, int)
            and not isinstance(number, bool)
            and 0 <= number < len(order)
            and row.get("tool", row.get("name")) == calls[order[number]].call.name
        ]
        if len(places) == len(rows) == len(set(places)) and places not in fitting:
            fitting.append(places)
    return fitting[0] if len(fitting) == 1 else []
