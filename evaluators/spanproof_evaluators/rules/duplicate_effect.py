"""Effects that took place more often than expected."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spanproof_collector.model.trials import ToolCall, Trial
from spanproof_evaluators.model.canonical import canonical
from spanproof_evaluators.model.expected_effects import identity, without_key
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules._rule import UNSEEN

_WORD: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_ADDS_UP: Final = frozenset(
    [
        *("pay", "charge", "refund", "issue", "transfer", "send", "mail", "email"),
        *("buy", "purchase", "order", "book", "reserve", "withdraw", "deposit", "donate"),
    ]
)
"""Verbs of money, messages and bookings."""


@dataclass(frozen=True)
class DuplicateEffect:
    """Fail when one intended change is seen more often than expected (evaluators.md B20): refunded twice, mailed twice.

    One change is one destination, resource and operation; where a call declares no resource, one tool with equal
    arguments, numbers by value and the idempotency key left out. It is expected once, or as often as the task's
    ``expected_effects`` name it. Two calls with one key and one thing seen at the destination are no duplicate. Where
    a receipt is missing, how often it took place is unknown, and the rule says so; but for what adds up by its nature
    (pay, send, book): two calls without a key that both answered are two. Two calls of one tool of which one has
    nothing recorded to compare it by stay open too. The score counts what was too many.
    """

    name: str = "duplicate_effect"
    hard: bool = True

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Count, for each intended change, how often it is proven to have taken place and how often it may have."""
        if not trial.understood:
            return Result.unavailable(self.name, reason="not_captured", explanation="no dialect recognizes any span")
        groups, blank = _by_change(trial.tool_calls)
        wanted = _wanted(task)
        surplus = 0
        doubled: list[str] = []
        open_: list[str] = []
        proof: list[str] = []
        unsure: list[str] = []
        for what, calls in groups.items():
            proven, possible = _effective(calls)
            spans = [span for call in calls for span in call.span_ids[:1]]
            expected = max(1, *(wanted[identity(call.name, call.arguments)] for call in calls))
            if proven > expected:
                surplus += proven - expected
                doubled.append(f"{what} took place {proven} times" + (f", not {expected}" if expected > 1 else ""))
                proof.extend(spans)
            elif (told := _by_word(calls)) > expected:
                surplus += told - expected
                doubled.append(f"{what} took place {told} times by its tool's own word")
                proof.extend(spans)
            elif possible > expected:
                open_.append(f"{what}: {len(calls)} calls, {proven} proven by a receipt")
                unsure.extend(spans)
        if doubled:
            return Result(
                evaluator=self.name,
                state="fail",
                score=float(surplus),
                explanation="; ".join(doubled),
                span_ids=tuple(proof),
            )
        if open_:
            return Result.unavailable(
                self.name, reason="receipt_missing", explanation="; ".join(open_), span_ids=tuple(unsure)
            )
        alike = _incomparable(groups, blank)
        if alike:
            return Result.unavailable(
                self.name,
                reason="not_captured",
                explanation="; ".join(
                    f"{name}: {len(calls)} calls, and not of all is recorded what they change"
                    for name, calls in alike.items()
                ),
                span_ids=tuple(span for calls in alike.values() for call in calls for span in call.span_ids[:1]),
            )
        if not trial.completeness.calls_whole:
            return Result.unavailable(self.name, reason="not_captured", explanation=f"none seen, but {UNSEEN}")
        if not groups and not blank:
            return None
        return Result(evaluator=self.name, state="pass", score=0.0, explanation="no change took place twice")


def _by_change(calls: Iterable[ToolCall]) -> tuple[dict[str, list[ToolCall]], list[ToolCall]]:
    """Return the writes by the change they intend, and those of which that is not recorded."""
    groups: dict[str, list[ToolCall]] = {}
    shown: dict[str, str] = {}
    blank: list[ToolCall] = []
    for call in calls:
        effect = call.effect
        if effect.state in ("none", "refused") or effect.effect_class not in ("write", "destructive"):
            continue
        what = change_of(call)
        if what is None:
            blank.append(call)
            continue
        told = what
        if effect.resource is None and call.arguments_source is not None:
            told = f"{call.name} {canonical(without_key(call.arguments, effect.idempotency_key))}"
        groups.setdefault(shown.setdefault(what, told), []).append(call)
    return groups, blank


def change_of(call: ToolCall) -> str | None:
    """Return what tells one intended change from another; ``None`` where that is not recorded."""
    effect, key = call.effect, call.effect.idempotency_key
    if effect.resource is not None:
        parts = (effect.operation or call.name, effect.resource, effect.destination)
        return " ".join(part for part in parts if part)
    if call.arguments_source is not None:
        return identity(call.name, without_key(call.arguments, key))
    return None if key is None else f"{call.name} (key {key})"


def _wanted(task: Task | None) -> Counter[str]:
    """Return how often the task names each effect."""
    named = (task.expected_effects if task is not None else None) or ()
    return Counter(identity(one.tool, one.arguments) for one in named)


def _incomparable(groups: Mapping[str, list[ToolCall]], blank: Sequence[ToolCall]) -> dict[str, list[ToolCall]]:
    """Return, by tool, the calls that may have changed something where one of them cannot be compared to another."""
    unlike = {call.name for call in blank if call.effect.state != "failed"}
    found: dict[str, list[ToolCall]] = {name: [] for name in sorted(unlike)}
    for call in (*blank, *(call for calls in groups.values() for call in calls)):
        if call.name in unlike and call.effect.state != "failed":
            found[call.name].append(call)
    return {name: calls for name, calls in found.items() if len(calls) > 1}


def _effective(calls: list[ToolCall]) -> tuple[int, int]:
    """Return how often a change is proven to have taken place, and how often it may have.

    What was seen tells two changes apart: two receipts that saw one row saw one change, whoever looked and when. A call
    that an environment showed to change something did so itself. Calls of one key that was seen once took place once.
    """
    verified = [call for call in calls if call.effect.state == "verified"]
    recorded = sum(call.effect.reason == "recorded_change" for call in verified)
    proven = max(min(len(_seen(verified)), len(verified)), recorded, 1 if verified else 0)
    possible = 0
    for key, some in _by_key(calls).items():
        sure = [call for call in some if call.effect.state == "verified"]
        maybe = sum(call.effect.state in ("reported", "unknown") for call in some)
        possible += max(len(_seen(sure)), 1) if key is not None and sure else len(sure) + maybe
    return proven, max(proven, possible)


def _by_word(calls: Sequence[ToolCall]) -> int:
    """Return how often a change took place by its tool's own word: of what adds up, without a key and without a look.

    Writing a file twice leaves one file; paying twice without a key pays twice (B20).
    """
    if any(call.receipts or call.effect.idempotency_key is not None or not adds_up(call) for call in calls):
        return 0
    return sum(call.effect.state == "reported" for call in calls)


def adds_up(call: ToolCall) -> bool:
    """Return whether doing it again does it twice, by the verb that the operation or the tool's name begins with."""
    named = re.split(r"__|[./:]", call.effect.operation or call.name)[-1]
    first = _WORD.search(named)
    return first is not None and first.group().lower() in _ADDS_UP


def _by_key(calls: Iterable[ToolCall]) -> dict[str | None, list[ToolCall]]:
    found: dict[str | None, list[ToolCall]] = {}
    for call in calls:
        found.setdefault(call.effect.idempotency_key, []).append(call)
    return found


def _seen(calls: Iterable[ToolCall]) -> set[str]:
    """Return what receipts of effects that took place saw."""
    receipts = (receipt for call in calls for receipt in call.receipts)
    return {one.observed for one in receipts if one.state == "verified" and one.observed is not None}
