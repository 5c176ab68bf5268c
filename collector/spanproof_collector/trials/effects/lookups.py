"""Reconciling reads: a later read that looks up what a write was to change, and what it shows of it.

A read looks a write up where one of these holds, and nothing else does:

- the catalogue says so: its arguments are those of the write that the entry matches;
- both carry one idempotency key;
- both name one destination and one resource, as their spans declare or the catalogue tells.

What it shows settles the write only where the answer leaves no doubt (``answers``). Where something else may have
changed the thing between the two, the read is about that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, Literal

from spanproof_collector.model.readings import Absent, Recorded
from spanproof_collector.model.tool_catalogue import FromResult, Lookup, argument
from spanproof_collector.model.values import Json
from spanproof_collector.trials.effects.answers import (
    holds_arguments,
    holds_values,
    opened,
    same,
    says_absent,
    shows_fields,
    shows_something,
)
from spanproof_collector.trials.effects.facts import Facts
from spanproof_collector.trials.effects.identity import scalars


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What later reads say of one call."""

    by: tuple[str, ...] = ()
    """The spans of all reads that looked it up and were answered."""

    state: Literal["verified", "failed"] | None = None
    span_id: str | None = None
    """The read that settled it."""


NOT_LOOKED: Final = Looked()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Match:
    """How a read looks a write up, and by which values."""

    lookup: Lookup | None
    values: tuple[Json, ...]
    key: bool = False


def looked_up(calls: Sequence[Facts]) -> list[Looked]:
    """Return what later reads say of each call, in the order of the calls."""
    if not any(map(_can_be_looked_up, calls)):
        return [NOT_LOOKED] * len(calls)
    reads = sorted((one for one in calls if one.effect_class == "read"), key=lambda one: (one.begun, one.call.asked_at))
    answered = [one for one in reads if one.ran.executed == "yes" or says_absent(_said(one))]
    if not answered:
        return [NOT_LOOKED] * len(calls)
    changing = [one for one in calls if one.may_change]
    return [_of(one, answered, changing) if _can_be_looked_up(one) else NOT_LOOKED for one in calls]


def _can_be_looked_up(one: Facts) -> bool:
    if not one.may_change or one.effect_class not in ("write", "destructive"):
        return False
    names = one.names
    placed = names.destination is not None and names.resource is not None
    return placed or names.idempotency_key is not None or (one.entry is not None and bool(one.entry.lookups))


def _of(write: Facts, reads: Sequence[Facts], changing: Sequence[Facts]) -> Looked:
    by: list[str] = []
    state: Literal["verified", "failed"] | None = None
    span_id: str | None = None
    for read in reads:
        matched = _matched(write, read)
        if matched is None or read.span_id is None or not read.after(write):
            continue
        by.append(read.span_id)
        between = [one for one in changing if one is not write and one.begun >= write.begun and not one.after(read)]
        attempts = [one for one in between if _again(write, one, matched)]
        if any(_touches(one, write, matched) for one in between if one not in attempts):
            continue
        shown = _shown(write, read, matched)
        # one thing seen proves one of several attempts at most: the latest. That it is not there tells of all.
        if shown is None or (shown and not matched.key and any(one.after(write) for one in attempts)):
            continue
        state, span_id = ("verified" if shown else "failed"), read.span_id
    return Looked(by=tuple(by), state=state, span_id=span_id)


def _matched(write: Facts, read: Facts) -> _Match | None:
    """Return how the read looks the write up; ``None`` where it does not, or where that is not plain."""
    for lookup in write.entry.lookups if write.entry is not None else ():
        if fnmatchcase(read.call.name, lookup.tool):
            pairs = [
                (argument(read.call.arguments, theirs), _given(write, ours)) for theirs, ours in lookup.match.items()
            ]
            if all(not isinstance(theirs, Absent) and same(theirs, ours) for theirs, ours in pairs):
                return _Match(lookup=lookup, values=tuple(theirs for theirs, _ in pairs))  # type: ignore[misc]
    if write.names.elsewhere(read.names):
        return None
    key = write.names.idempotency_key
    if key is not None and key in (read.names.idempotency_key, *_keys(read.call.arguments)):
        return _Match(lookup=None, values=(key,), key=True)
    both = [(write.names.destination, read.names.destination), (write.names.resource, read.names.resource)]
    if all(ours is not None and ours == theirs for ours, theirs in both):
        return _Match(lookup=None, values=())
    return None


def _given(write: Facts, path: str | FromResult) -> Recorded:
    """Return what a write was given as an argument, or what its result holds."""
    if isinstance(path, FromResult):
        return argument(opened(write.answer), path.result)
    return argument(write.call.arguments, path)


def _keys(arguments: Recorded) -> list[str]:
    """Return the texts among arguments whose name says that they are a key."""
    if not isinstance(arguments, dict):
        return []
    return [value for name, value in arguments.items() if isinstance(value, str) and value and "key" in name.lower()]


def _again(write: Facts, other: Facts, matched: _Match) -> bool:
    """Return whether another call is an attempt at the same change."""
    if other.call.name != write.call.name:
        return False
    if matched.key:
        return other.names.idempotency_key == write.names.idempotency_key
    if matched.lookup is not None:
        paths = matched.lookup.match.values()
        return all(same(_given(write, path), _given(other, path)) for path in paths)
    return other.names.resource == write.names.resource and other.names.destination == write.names.destination


def _touches(other: Facts, write: Facts, matched: _Match) -> bool:
    """Return whether another change may have been one of the same thing."""
    if other.names.elsewhere(write.names):
        return False
    if other.effect_class != "write" or isinstance(other.call.arguments, Absent):
        return True
    if other.names.resource is not None and other.names.resource == write.names.resource:
        return True
    given = list(scalars(other.call.arguments))
    return any(same(value, one) for value in matched.values for one in given)


def _shown(write: Facts, read: Facts, matched: _Match) -> bool | None:
    """Return whether the read shows that the change took place; ``None`` where it shows neither."""
    answer = opened(read.answer)
    absent = says_absent(_said(read))
    lookup = matched.lookup
    if write.effect_class == "destructive":
        # What is gone was there before only by somebody's word: the catalogue's.
        if lookup is None:
            return None
        if absent:
            return True
        return shows_fields(answer, lookup.shows, write.call.arguments) if lookup.shows else _still(answer)
    if absent:
        return False
    if read.ran.executed != "yes":
        return None
    if lookup is not None and lookup.shows:
        return shows_fields(answer, lookup.shows, write.call.arguments)
    if lookup is not None:
        return True if shows_something(answer) else holds_values(_listed(answer), matched.values)
    if matched.key:
        return holds_values(answer, matched.values)
    return holds_arguments(answer, _unasked(write, read))


def _still(answer: Recorded) -> bool | None:
    """Return False where the answer shows that the thing is still there."""
    return False if shows_something(answer) else None


def _said(read: Facts) -> Recorded:
    """Return the answer; of a read that failed, its error."""
    answer = opened(read.answer)
    return (read.ran.error or Absent()) if isinstance(answer, Absent) and read.ran.executed != "no" else answer


def _listed(answer: Recorded) -> Recorded:
    return answer if isinstance(answer, list) else Absent()


def _unasked(write: Facts, read: Facts) -> dict[str, Json]:
    """Return the texts and numbers that the write was given and the read was not: what only the change can have put."""
    given = write.call.arguments if isinstance(write.call.arguments, dict) else {}
    asked = read.call.arguments if isinstance(read.call.arguments, dict) else {}
    return {
        name: value
        for name, value in given.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool) and name not in asked
    }
