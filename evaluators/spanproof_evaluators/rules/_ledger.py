"""Expected effects against effective writes, as multisets (evaluators.md B19)."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spanproof_collector.model.trials import ToolCall, Trial
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.expected_effects import (
    Expected,
    ExpectedEffect,
    differing,
    identity,
    narrowed,
)
from spanproof_evaluators.rules._rule import UNSEEN
from spanproof_evaluators.stats.matching import cheapest_pairs

_LOST: Final = re.compile(
    r"time[ds]?[ _-]?out|cancel|connection|reset by|unavailable|gateway|interrupt|abort|redact|deadline", re.IGNORECASE
)
"""What an error says of a call that may have taken place all the same."""

_MOST_PAIRED: Final = 100
"""Of more calls of one tool than so many on a side no pairs are sought."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongArguments:
    """An expected effect and the call that was made in its stead."""

    expected: ExpectedEffect
    call: ToolCall
    differing: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Both multisets held against each other. ``missing`` and ``extra`` hold those of ``wrong_arguments`` too."""

    equal: tuple[tuple[ExpectedEffect, ToolCall], ...]
    missing: tuple[ExpectedEffect, ...]
    extra: tuple[ToolCall, ...]
    """In the order of the calls."""

    wrong_arguments: tuple[WrongArguments, ...]

    @property
    def balanced(self) -> bool:
        """True when every expected effect took place, and no other."""
        return not self.missing and not self.extra


def ledger_of(expected: Sequence[ExpectedEffect], effective: Sequence[ToolCall]) -> Ledger:
    """Return what is equal, missing, extra, and which extra call stands for which missing effect.

    Of equal calls the earlier ones are the expected ones. Pairs are of one tool, at the least number of arguments that
    differ in all.
    """
    wanted: dict[str, list[ExpectedEffect]] = defaultdict(list)
    made: dict[str, list[int]] = defaultdict(list)
    for one in expected:
        wanted[one.tool].append(one)
    for at, call in enumerate(effective):
        made[call.name].append(at)
    equal: list[tuple[ExpectedEffect, int]] = []
    missing: list[ExpectedEffect] = []
    pairs: list[tuple[ExpectedEffect, int, tuple[str, ...]]] = []
    for tool, effects in wanted.items():
        places = made.get(tool, [])
        held, rest, left = _equal(effects, places, effective)
        equal += held
        missing += rest
        pairs += _nearest(rest, left, effective)
    taken = {at for _, at in equal}
    return Ledger(
        equal=tuple((one, effective[at]) for one, at in sorted(equal, key=lambda pair: pair[1])),
        missing=tuple(missing),
        extra=tuple(call for at, call in enumerate(effective) if at not in taken),
        wrong_arguments=tuple(
            WrongArguments(expected=one, call=effective[at], differing=names)
            for one, at, names in sorted(pairs, key=lambda pair: pair[1])
        ),
    )


def _equal(
    effects: Sequence[ExpectedEffect], places: Sequence[int], calls: Sequence[ToolCall]
) -> tuple[list[tuple[ExpectedEffect, int]], list[ExpectedEffect], list[int]]:
    """Return the pairs that are equal, and what is left of both sides. All calls are of one tool."""
    held: list[tuple[ExpectedEffect, int]] = []
    if any(one.compare is not None for one in effects):
        # what only some arguments decide may fit several calls: as many as can be are paired, early calls first
        step = 1.0 / (len(places) * len(places) + 1)
        costs = [
            [order * step * 0.5 if _fits(one, calls[at]) else 1.0 for order, at in enumerate(places)] for one in effects
        ]
        chosen = [(row, column) for row, column in cheapest_pairs(costs) if _fits(effects[row], calls[places[column]])]
        held = [(effects[row], places[column]) for row, column in chosen]
        rows, columns = {row for row, _ in chosen}, {column for _, column in chosen}
        return (
            held,
            [one for row, one in enumerate(effects) if row not in rows],
            [at for column, at in enumerate(places) if column not in columns],
        )
    open_: dict[str, list[int]] = defaultdict(list)
    for at in reversed(places):
        open_[identity(calls[at].name, calls[at].arguments)].append(at)
    rest: list[ExpectedEffect] = []
    for one in effects:
        alike = open_.get(identity(one.tool, one.arguments))
        if alike:
            held.append((one, alike.pop()))
        else:
            rest.append(one)
    taken = {at for _, at in held}
    return held, rest, [at for at in places if at not in taken]


def _fits(one: ExpectedEffect, call: ToolCall) -> bool:
    return not _differing(one, call)


def _differing(one: ExpectedEffect, call: ToolCall) -> tuple[str, ...]:
    return differing(narrowed(one.arguments, one.compare), narrowed(call.arguments, one.compare))


def _nearest(
    missing: Sequence[ExpectedEffect], left: Sequence[int], calls: Sequence[ToolCall]
) -> list[tuple[ExpectedEffect, int, tuple[str, ...]]]:
    if not missing or not left or max(len(missing), len(left)) > _MOST_PAIRED:
        return []
    found = [[_differing(one, calls[at]) for at in left] for one in missing]
    pairs = cheapest_pairs([[float(len(names)) for names in row] for row in found])
    return [(missing[row], left[column], found[row][column]) for row, column in pairs]


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    """The calls of a trial that took place and changed something, and why more of them may have."""

    effective: tuple[ToolCall, ...]
    gap: tuple[str, str] | None
    """Reason and explanation, where what took place is not known for sure."""

    unclassified: tuple[ToolCall, ...] = ()


def effective_writes(trial: Trial) -> Writes:
    """Return the effective writes: calls of writing tools whose answer is no error, or that were seen to take place."""
    effective: list[ToolCall] = []
    unclear: list[ToolCall] = []
    unclassified: list[ToolCall] = []
    for call in trial.tool_calls:
        effect = call.effect
        if effect.effect_class == "unclassified" and call.executed != "no" and effect.state != "none":
            unclassified.append(call)
        elif effect.effect_class in ("write", "destructive"):
            happened = took_place(call)
            if happened is None:
                unclear.append(call)
            elif happened:
                effective.append(call)
    blank = [call for call in effective if call.arguments_source is None]
    gap: tuple[str, str] | None = None
    if unclassified:
        gap = "unclassified", f"nobody says whether these change anything: {_named(unclassified)}"
    elif blank:
        gap = "not_captured", f"the arguments are not recorded: {_named(blank)}"
    elif unclear:
        gap = "unknown_effect", f"nobody knows whether these took place: {_named(unclear)}"
    elif not trial.completeness.calls_whole:
        gap = "not_captured", UNSEEN
    return Writes(effective=tuple(effective), gap=gap, unclassified=tuple(unclassified))


def took_place(call: ToolCall) -> bool | None:
    """Return whether a write took place; ``None`` where nobody knows. An error in the answer is a no (B19)."""
    match call.effect.state:
        case "verified" | "reported":
            return True
        case "failed" | "refused" | "none":
            return False
    if call.effect.reason not in ("error", "error_text", "exit_code") or not call.error:
        return None
    return None if _LOST.search(call.error) and call.effect.reason != "exit_code" else False


def _named(calls: Sequence[ToolCall]) -> str:
    return ", ".join(sorted({call.name or "a tool without a name" for call in calls}))


def details_of(expected: Expected, ledger: Ledger) -> dict[str, Plain]:
    """Return the ledger as JSON."""
    return {
        "expected_by": expected.by,
        "equal": [_call(call) for _, call in ledger.equal],
        "missing": [_effect(one) for one in ledger.missing],
        "extra": [_call(call) for call in ledger.extra],
        "wrong_arguments": [
            {"expected": _effect(pair.expected), "call": _call(pair.call), "differing": list(pair.differing)}
            for pair in ledger.wrong_arguments
        ],
    }


def _effect(one: ExpectedEffect) -> dict[str, Plain]:
    return {"tool": one.tool, "arguments": one.arguments}


def _call(call: ToolCall) -> dict[str, Plain]:
    return {"tool": call.name, "arguments": call.arguments, "span_id": call.span_ids[0] if call.span_ids else None}
