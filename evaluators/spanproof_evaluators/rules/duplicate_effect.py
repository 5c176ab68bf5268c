"""Effects that took place more often than once."""

from collections.abc import Iterable
from dataclasses import dataclass

from spanproof_collector.model.trials import ToolCall, Trial
from spanproof_evaluators.model.canonical import canonical
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task


@dataclass(frozen=True)
class DuplicateEffect:
    """Fail when receipts show one intended change twice (evaluators.md B20): refunded twice, mailed twice.

    One change is one destination, resource, operation and idempotency key; where a call declares none of these, one
    tool with equal arguments. Two calls with one key and one thing seen at the destination are no duplicate. Where a
    receipt is missing, how often it took place is unknown, and the rule says so.
    """

    name: str = "duplicate_effect"
    hard: bool = True

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Count, for each intended change, how often it is proven to have taken place and how often it may have."""
        if not trial.understood:
            return Result.unavailable(self.name, reason="not_captured", explanation="no dialect recognizes any span")
        groups = _by_change(trial.tool_calls)
        if not groups:
            return None
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
        return Result(evaluator=self.name, state="pass", score=0.0, explanation="no change took place twice")


def _by_change(calls: Iterable[ToolCall]) -> dict[str, list[ToolCall]]:
    """Return the calls by the change they intend; reads, refusals and what cannot be told apart are left out."""
    groups: dict[str, list[ToolCall]] = {}
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
            continue
        groups.setdefault(what, []).append(call)
    return groups


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
