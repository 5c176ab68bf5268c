"""What an environment showed of each call: somebody replayed the recorded calls and noted which of them changed it."""

from collections.abc import Mapping, Sequence

from spanproof_collector.model.trials import RecordedChanges
from spanproof_collector.model.values import Json
from spanproof_collector.trials.effects.facts import Facts
from spanproof_collector.trials.tool_calls import JoinedCall


def seen_to_change(
    calls: Sequence[Facts], changes: Sequence[RecordedChanges], beside: Sequence[JoinedCall]
) -> Mapping[int, tuple[bool, str]]:
    """Return, by place of the call, whether it was seen to change something, and the span that holds the record.

    The record is a list of ``{call, tool, changed}``. It counts only where it leaves no doubt which call is which: its
    tools, at their places, are those of the calls, of the calls that may have run, or of all calls with those beside
    them, which the user made where these are the agent's. Else nothing is taken from it.
    """
    found: dict[int, tuple[bool, str]] = {}
    for record in changes:
        told = record.calls if isinstance(record.calls, list) else []
        rows = [row for row in told if isinstance(row, dict)]
        if not rows or len(rows) != len(told):
            continue
        own = {id(one.call): place for place, one in enumerate(calls)}
        for row, call in zip(rows, _called(rows, calls, beside), strict=False):
            changed = row.get("changed")
            if isinstance(changed, bool) and id(call) in own:
                found[own[id(call)]] = changed, record.span_id
    return found


def _called(
    rows: Sequence[Mapping[str, Json]], calls: Sequence[Facts], beside: Sequence[JoinedCall]
) -> Sequence[JoinedCall]:
    """Return the call of each row; empty where that cannot be told."""
    every = [one.call for one in calls]
    ran = [one.call for one in calls if one.ran.executed != "no"]
    mixed = sorted((*every, *beside), key=lambda call: call.asked_at)
    fitting: list[list[JoinedCall]] = []
    for order in (every, ran, mixed):
        found: list[JoinedCall] = []
        for at, row in enumerate(rows):
            number = row.get("call", at)
            if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(order):
                break
            if row.get("tool", row.get("name")) != order[number].name:
                break
            found.append(order[number])
        distinct = len(set(map(id, found))) == len(rows)
        if len(found) == len(rows) and distinct and list(map(id, found)) not in [list(map(id, f)) for f in fitting]:
            fitting.append(found)
    return fitting[0] if len(fitting) == 1 else ()
