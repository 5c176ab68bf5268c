"""Effects that nobody can vouch for."""

from dataclasses import dataclass

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.effects import attempts
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules._rule import UNSEEN


@dataclass(frozen=True)
class UnknownEffect:
    """Fail when a call may have changed something and nobody knows (evaluators.md B21).

    No result, a timeout, a cancellation, and no receipt that settles it. It does not fail the trial; it blocks the
    release, because the destination has to be looked at before anybody tries again.
    """

    name: str = "unknown_effect"
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Look for effects whose state is unknown and that no receipt settles."""
        if not trial.understood:
            return Result.unavailable(self.name, reason="not_captured", explanation="no dialect recognizes any span")
        found = attempts(trial)
        unknown = [effect for effect in found if effect.state == "unknown"]
        if not unknown and not trial.completeness.calls_whole:
            return Result.unavailable(self.name, reason="not_captured", explanation=f"none seen, but {UNSEEN}")
        if not found:
            return None
        if not unknown:
            return Result(
                evaluator=self.name,
                state="pass",
                score=0.0,
                explanation="every attempt has an answer or a receipt",
                span_ids=tuple(effect.span_id for effect in found if effect.span_id),
            )
        return Result(
            evaluator=self.name,
            state="fail",
            score=float(len(unknown)),
            explanation="; ".join(f"{effect.tool}: {effect.reason}" for effect in unknown),
            span_ids=tuple(effect.span_id for effect in unknown if effect.span_id),
        )
