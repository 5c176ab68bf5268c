"""Calls that a trial could have done without: at least so many, and at most so many."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from spanproof_collector.model.trials import ToolCall, Trial
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules.trajectories._calls import Calls, calls_of, first_spans
from spanproof_evaluators.rules.trajectories._saying import Gap, nothing_to_see, said, unavailable
from spanproof_evaluators.rules.trajectories.repeats_since_write import repeats_since_write

_SHORTEST: Final = 2
_LONGEST: Final = 200
"""Of arguments: a shorter one is shown by chance, a longer one is written by the agent and not copied."""

_WORD: Final = re.compile(r"[^\s\"'`,;()\[\]{}<>=|]+")
_EDGES: Final = ".:!?*#"


@dataclass(frozen=True)
class Redundancy:
    """Bound the share of calls that were redundant (evaluators.md B28). Score: the lower bound. Never a verdict.

    Lower bound: ``repeats_since_write``. Upper bound, a heuristic: these, and calls that changed nothing (or of which
    that is not known) and whose answer was not the first to show a value that a later call has among its arguments. A
    value is a text of 2 to 200 characters or a number, found whole in the answer. What only the final answer uses
    counts as redundant here: that is why it is an upper bound.
    """

    name: str = "redundancy"
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Count both; the flag is raised where the lower bound is above none."""
        empty, found = nothing_to_see(self.name, trial)
        if empty:
            return found
        calls = calls_of(trial)
        if not trial.completeness.calls_whole:
            return unavailable(self.name, "not_captured", "calls may be missing, so no share of them can be told")
        if any(text is None for text in calls.signatures):
            return unavailable(self.name, "not_captured", "arguments are not recorded, so no share can be told")
        sure, perhaps = repeats_since_write(calls)
        counted = {id(call) for call in (*_spared(calls), *sure)}
        spared = [call for call in calls.all if id(call) in counted]
        told: dict[str, Plain] = {
            "calls": len(calls.all),
            "at_least": len(sure),
            "at_most": len(spared),
            "at_most_span_ids": [*first_spans(spared)],
        }
        gap: Gap | None = None
        if not sure and perhaps:
            gap = "unknown_effect", "whether something changed between equal calls, or their answers, is not recorded"
        return said(
            self.name,
            trial,
            flagged=bool(sure),
            score=len(sure) / len(calls.all),
            told=f"at least {len(sure)} and at most {len(spared)} of {len(calls.all)} calls were redundant",
            spans=first_spans(sure),
            gap=gap,
            details=told,
        )


def _spared(calls: Calls) -> list[ToolCall]:
    """Return the calls that the upper bound counts beside repeats."""
    last_asked = {value: at for at, call in enumerate(calls.all) for value in _values(call.arguments)}
    by_word: defaultdict[str, list[str]] = defaultdict(list)
    for value in last_asked:
        by_word[max(_WORD.findall(value), key=len, default="")].append(value)
    shown: set[str] = set()
    found: list[ToolCall] = []
    for at, call in enumerate(calls.all):
        first: set[str] = set()
        if call.result_source is not None and len(shown) < len(last_asked):
            first = {value for value in _seen_in(call.result, by_word) if last_asked[value] > at} - shown
        shown |= first
        if calls.changed[at] is not True and not first:
            found.append(call)
    return found


def _seen_in(result: Plain, by_word: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield the values that stand whole in an answer; ``by_word`` has them by their longest word."""
    leaves = [*_leaves(result)]
    text = "\n".join(leaves)
    words = set(_WORD.findall(text))
    words |= {word.strip(_EDGES) for word in words if word[0] in _EDGES or word[-1] in _EDGES}
    whole = {*words, *leaves}
    for word in words & by_word.keys():
        yield from (value for value in by_word[word] if value in whole or (value != word and value in text))
    yield from (value for value in by_word.get("", ()) if value in whole)


def _values(arguments: Plain) -> Iterator[str]:
    return (text for text in _leaves(arguments) if _SHORTEST <= len(text) <= _LONGEST)


def _leaves(value: Plain) -> Iterator[str]:
    """Yield the texts and numbers in a value; nothing here recurses, however deep somebody nested it."""
    rest: list[Plain] = [value]
    while rest:
        match rest.pop():
            case str() as text:
                yield text
            case bool() | None:
                pass
            case int() | float() as number:
                yield repr(number).removesuffix(".0")
            case list() as items:
                rest.extend(items)
            case dict() as members:
                rest.extend(members.values())
