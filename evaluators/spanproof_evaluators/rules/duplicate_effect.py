"""Effects that took place more often than once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from spanproof_collector.model.trials import ToolCall, Trial
from spanproof_evaluators.model.canonical import canonical
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules._rule import UNSEEN


@dataclass(frozen=True)
class DuplicateEffect:
    """Fail when receipts show one intended change twice (evaluators.md B20): refunded twice, mailed twice.

    One change is one destination, resource, operation and idempotency key; where a call declares none of these, one
    tool with equal arguments. Two calls with one key and one thing seen at the destination are no duplicate. Where a
    receipt is missing, how often it took place is unknown, and the rule says so. So it does of two calls of one tool
    of which one has nothing recorded to compare it by.
    """

    name: str = "duplicate_effect"
    hard: bool = True

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Count, for each intended change, how often it is proven to have taken place and how often it may have."""
        if not trial.understood:
            return Result.unavailable(self.name, reason="not_captured", explanation="no dialect recognizes any span")
        groups, blank = _by_change(trial.tool_calls)
        doubled: list[str] = []
        open_: list[str] = []
        proof: list[str] = []
        unsure: list[str] = []
        for what, calls in groups.items():
            proven, possible = _effective(calls)
            spans = [span for call in calls for span in call.span_ids[:1]]
            if proven > 1:
                doubled.append(f"{what} took place {proven} times")
                proof.extend(spans)
            elif possible > 1:
                open_.append(f"{what}: {len(calls)} calls, {proven} proven by a receipt")
                unsure.extend(spans)
        if doubled:
            return Result(
                evaluator=self.name,
                state="fail",
                score=float(len(doubled)),
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
    blank: list[ToolCall] = []
    for call in calls:
        effect = call.effect
        if effect.state in ("none", "refused") or effect.effect_class not in ("write", "destructive"):
            continue
        if effect.resource is not None or effect.idempotency_key is not None:
            parts = (effect.operation or call.name, effect.resource, effect.destination)
            what = " ".join(part for part in parts if part)
            if effect.idempotency_key is not None:
                what += f" (key {effect.idempotency_key})"
        elif call.arguments_source is not None:
            what = f"{call.name} {canonical(call.arguments)}"
        else:
            blank.append(call)
            continue
        groups.setdefault(what, []).append(call)
    return groups, blank


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

    What was seen tells two changes apart: two receipts that saw one row saw one change, whoever looked and when.
    """
    verified = [call for call in calls if call.effect.state == "verified"]
    maybe = [call for call in calls if call.effect.state in ("reported", "unknown")]
    seen = {
        receipt.observed
        for call in verified
        for receipt in call.receipts
        if receipt.state == "verified" and receipt.observed is not None
    }
    if calls[0].effect.idempotency_key is not None:
        proven = max(len(seen), 1 if verified else 0)
        return proven, proven if verified else len(maybe)
    return max(min(len(seen), len(verified)), 1 if verified else 0), len(verified) + len(maybe)
