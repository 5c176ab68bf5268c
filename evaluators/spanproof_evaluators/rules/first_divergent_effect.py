"""Where the effects left what was expected."""

from dataclasses import dataclass

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.expected_effects import expected_effects
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules._ledger import effective_writes, ledger_of


@dataclass(frozen=True)
class FirstDivergentEffect:
    """Name the first effective write that is outside what the task expects, and its span. A diagnostic."""

    name: str = "first_divergent_effect"
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Look for it; nothing where nobody says what is expected."""
        expected = expected_effects(trial, task)
        if expected is None:
            return None
        if not trial.understood:
            return Result.unavailable(
                self.name, reason="not_captured", explanation="no dialect recognizes any span", label="diagnostic"
            )
        writes = effective_writes(trial)
        extra = ledger_of(expected.effects, writes.effective).extra
        if expected.unclassified:
            named = ", ".join(expected.unclassified)
            return Result.unavailable(
                self.name,
                reason="unclassified",
                explanation=f"nobody says whether the task's tools change anything: {named}",
                label="diagnostic",
            )
        if writes.gap is not None and (not extra or writes.gap[0] != "unknown_effect"):
            reason, explanation = writes.gap
            return Result.unavailable(self.name, reason=reason, explanation=explanation, label="diagnostic")
        if not extra:
            return Result(
                evaluator=self.name,
                state="pass",
                label="diagnostic",
                explanation="no effective write is outside what was expected",
            )
        first = extra[0]
        span_id = first.span_ids[0] if first.span_ids else None
        return Result(
            evaluator=self.name,
            state="fail",
            label="diagnostic",
            explanation=f"{first.name} is the first effective write outside what was expected",
            span_ids=first.span_ids[:1],
            details={"tool": first.name, "span_id": span_id, "arguments": first.arguments},
        )
