"""Expected effects against what took place."""

from dataclasses import dataclass

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.expected_effects import expected_effects
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules._ledger import Ledger, details_of, effective_writes, ledger_of


@dataclass(frozen=True)
class EffectLedger:
    """Hold the effects that the task expects against the effective writes, as multisets (evaluators.md B19).

    A diagnostic: the end state decides. On 200 trials of tau-bench it agreed with the verified reward in 195. An extra
    write stays extra whatever else is not known; anything less is open where a class, an answer or arguments are not.
    """

    name: str = "effect_ledger"
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Compare; nothing where nobody says what is expected."""
        expected = expected_effects(trial, task)
        if expected is None:
            return None
        if not trial.understood:
            return Result.unavailable(
                self.name, reason="not_captured", explanation="no dialect recognizes any span", label="diagnostic"
            )
        writes = effective_writes(trial)
        ledger = ledger_of(expected.effects, writes.effective)
        gap = writes.gap
        if expected.unclassified:
            named = ", ".join(expected.unclassified)
            gap = "unclassified", f"nobody says whether the task's tools change anything: {named}"
        elif gap is None and ledger.missing and (trial.completeness.root_missing or trial.status == "incomplete"):
            gap = "incomplete", "what is missing may have come after the end of the record"
        spans = tuple(span for call in ledger.extra for span in call.span_ids[:1])
        if gap is not None and (gap[0] in ("unclassified", "not_captured") or not ledger.extra):
            return Result.unavailable(self.name, reason=gap[0], explanation=gap[1], label="diagnostic", span_ids=spans)
        return Result(
            evaluator=self.name,
            state="pass" if ledger.balanced else "fail",
            score=float(len(ledger.missing) + len(ledger.extra)),
            label="diagnostic",
            explanation=_told(ledger),
            span_ids=spans or tuple(span for _, call in ledger.equal for span in call.span_ids[:1]),
            details=details_of(expected, ledger),
        )


def _told(ledger: Ledger) -> str:
    """Return the ledger in words."""
    parts = [f"{len(ledger.equal)} as expected"]
    if ledger.missing:
        parts.append(f"missing: {', '.join(one.tool for one in ledger.missing)}")
    if ledger.extra:
        parts.append(f"extra: {', '.join(call.name for call in ledger.extra)}")
    for pair in ledger.wrong_arguments:
        parts.append(f"{pair.call.name} with other {', '.join(name or 'arguments' for name in pair.differing)}")
    return "; ".join(parts)
