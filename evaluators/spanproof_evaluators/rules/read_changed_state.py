"""Reads that somebody saw change something."""

from dataclasses import dataclass

from spanproof_collector.model.trials import ToolCall, Trial
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules._rule import UNSEEN


@dataclass(frozen=True)
class ReadChangedState:
    """Name the calls that were taken for reads, by whoever's word, and that were seen to change state.

    A diagnostic, and a fault of the tool or of its declaration. Only where somebody looked is there anything to say:
    of reads that nobody watched this rule says nothing.
    """

    name: str = "read_changed_state"
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Look for reads that became writes by observation."""
        if not trial.understood:
            return Result.unavailable(
                self.name, reason="not_captured", explanation="no dialect recognizes any span", label="diagnostic"
            )
        changed = [call for call in trial.tool_calls if call.effect.taken_for == "read"]
        if changed:
            return Result(
                evaluator=self.name,
                state="fail",
                score=float(len(changed)),
                label="diagnostic",
                explanation=f"taken for reads, and seen to change state: {', '.join(call.name for call in changed)}",
                span_ids=tuple(span for call in changed for span in call.span_ids[:1]),
            )
        watched = [call for call in trial.tool_calls if call.effect.effect_class == "read" and _watched(call)]
        if not trial.completeness.calls_whole:
            return Result.unavailable(
                self.name, reason="not_captured", explanation=f"none seen, but {UNSEEN}", label="diagnostic"
            )
        if not watched:
            return None
        return Result(
            evaluator=self.name,
            state="pass",
            score=0.0,
            label="diagnostic",
            explanation=f"no read of {len(watched)} that somebody watched changed anything",
            span_ids=tuple(span for call in watched for span in call.span_ids[:1]),
        )


def _watched(call: ToolCall) -> bool:
    """Return whether somebody compared the world before and after a read."""
    return call.effect.watched or any(
        receipt.pre_state is not None and receipt.post_state is not None for receipt in call.receipts
    )
