"""What a trial may spend: steps, tool calls, tokens, money."""

from dataclasses import dataclass
from decimal import Decimal

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Limits, Task
from spanproof_evaluators.rules._rule import UNSEEN

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
        spent = _spent(trial, task.limits)
        if not spent:
            return None  # time, disk and the like are for whoever runs the agent to hold it to
        over = [one.line for one in spent if one.kept is False]
        if over:
            return Result(evaluator=self.name, state="fail", label="over", explanation="; ".join(over))
        gaps = [one for one in spent if one.kept is None]
        if gaps:
            explanation = "; ".join(one.line for one in gaps)
            return Result.unavailable(self.name, reason=gaps[0].reason, explanation=explanation)
        return Result(evaluator=self.name, state="pass", explanation="; ".join(one.line for one in spent))


@dataclass(frozen=True)
class _Spent:
    """One limit in words, and whether it was kept; ``None`` where that cannot be said, and then why."""

    line: str
    kept: bool | None
    reason: str = ""


def _spent(trial: Trial, limits: Limits) -> list[_Spent]:
    """Return what was spent of each limit that is set."""
    gaps = trial.completeness
    torn = "the record is not whole" if gaps.root_missing else ""
    found: list[_Spent] = []

    def hold(what: str, amount: int | Decimal | None, limit: int | Decimal | None, gap: str = "") -> None:
        lacking = torn or gap
        if limit is None:
            return
        if amount is None:
            found.append(_Spent(f"{what} not recorded, limit {limit}", None, "not_recorded"))
        elif amount > limit:
            found.append(_Spent(f"{what} {amount} > {limit}", False))
        elif lacking:
            reason = "not_captured" if lacking == UNSEEN else "not_recorded"
            found.append(_Spent(f"{what} at least {amount}, limit {limit}, and {lacking}", None, reason))
        else:
            found.append(_Spent(f"{what} {amount} <= {limit}", True))

    turns = sum(1 for step in trial.steps if step.kind == "model_call")
    hold("turns", turns, limits.max_turns, "" if turns else "no inference was recorded")
    hold("steps", sum(1 for step in trial.steps if step.kind in STEPS), limits.max_steps)
    hold("tool calls", len(trial.tool_calls), limits.max_tool_calls, "" if gaps.calls_whole else UNSEEN)
    hold("tokens", *_tokens(trial, limits.max_tokens))
    hold("cost in USD", trial.cost.usd, limits.max_cost_usd, "" if trial.cost.covered else "not all of it was billed")
    return found


def _tokens(trial: Trial, limit: int | None) -> tuple[int | None, int | None, str]:
    """Return the tokens that were counted, their limit, and what was not counted."""
    counts = (trial.usage.input_tokens, trial.usage.output_tokens)
    recorded = [count for count in counts if count is not None]
    blank = trial.completeness.unmetered_calls
    if blank:
        gap = f"{blank} inference{'s have' if blank > 1 else ' has'} no count"
    else:
        gap = "" if len(recorded) == len(counts) else "only one direction was counted"
    return sum(recorded) if recorded else None, limit, gap
