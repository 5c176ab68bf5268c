"""What a trial may spend: steps, tool calls, tokens, money."""

from dataclasses import dataclass
from decimal import Decimal

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Limits, Task

STEPS = ("model_call", "tool_call", "retrieval", "handoff")
"""What counts as a step: what the agent did, not the spans around it nor the time it waited."""


@dataclass(frozen=True)
class Budgets:
    """Fail when a limit of the task is exceeded (evaluators.md B23, R096). Reaching a limit is within it.

    A trial over its budget is unsolved and counted as aborted, whatever its end state. Where a count is not recorded
    the limit is open, unless what is recorded is over it already.
    """

    name: str = "budgets"
    hard: bool = True

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Compare what was spent with every limit."""
        if task is None or task.limits == Limits():
            return None
        if not trial.understood:
            return Result.unavailable(self.name, reason="not_captured", explanation="no dialect recognizes any span")
        spent = list(_spent(trial, task.limits))
        over = [line for line, passed in spent if passed is False]
        if over:
            return Result(evaluator=self.name, state="fail", label="over", explanation="; ".join(over))
        gaps = [line for line, passed in spent if passed is None]
        if gaps:
            return Result.unavailable(self.name, reason="not_recorded", explanation="; ".join(gaps))
        return Result(evaluator=self.name, state="pass", explanation="; ".join(line for line, _ in spent))


def _spent(trial: Trial, limits: Limits) -> list[tuple[str, bool | None]]:
    """Return each limit in words, and whether it was kept; ``None`` where that cannot be said."""
    partial = trial.completeness.root_missing
    found: list[tuple[str, bool | None]] = []

    def hold(what: str, amount: int | Decimal | None, limit: int | Decimal | None, *, whole: bool) -> None:
        if limit is None:
            return
        if amount is None:
            found.append((f"{what} not recorded, limit {limit}", None))
        elif amount > limit:
            found.append((f"{what} {amount} > {limit}", False))
        elif whole:
            found.append((f"{what} {amount} <= {limit}", True))
        else:
            found.append((f"{what} at least {amount}, limit {limit}, and the record is not whole", None))

    steps = sum(1 for step in trial.steps if step.kind in STEPS)
    hold("steps", steps, limits.max_steps, whole=not partial)
    hold("tool calls", len(trial.tool_calls), limits.max_tool_calls, whole=not partial)
    counts = (trial.usage.input_tokens, trial.usage.output_tokens)
    recorded = [count for count in counts if count is not None]
    hold(
        "tokens",
        sum(recorded) if recorded else None,
        limits.max_tokens,
        whole=not partial and len(recorded) == len(counts),
    )
    hold("cost in USD", trial.cost.usd, limits.max_cost_usd, whole=not partial and trial.cost.covered)
    return found
