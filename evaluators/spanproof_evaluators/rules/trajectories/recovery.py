"""What the agent did after a tool's error."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from spanproof_collector.model.trials import ToolCall, Trial
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules.trajectories._calls import Calls, calls_of, error_of, first_spans
from spanproof_evaluators.rules.trajectories._saying import Gap, nothing_to_see, said

Next: TypeAlias = Literal["same_call", "changed_arguments", "other_tool", "gave_up", "not_recorded"]


@dataclass(frozen=True)
class RecoveryAfterError:
    """Name what came after each tool error: the same call, changed arguments, another tool, or nothing (B29).

    What came after is the first later call that was not asked for by the same inference, which had not seen the error.
    Flag: an error after which no call was made (``gave_up``). Score: tool errors. A deliberate refusal is no error.
    """

    name: str = "recovery_after_error"
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Look at each error; nothing where no tool answered with one."""
        empty, found = nothing_to_see(self.name, trial)
        if empty:
            return found
        calls = calls_of(trial)
        failed = [at for at, call in enumerate(calls.all) if error_of(call) is not None]
        if not failed and trial.completeness.calls_whole:
            return None
        after = [(at, _next(calls, at)) for at in failed]
        given_up = [calls.all[at] for at, what in after if what == "gave_up"]
        counts = Counter(what for _, what in after)
        gap: Gap | None = None
        if given_up and not trial.completeness.calls_whole:
            gap, given_up = ("not_captured", "what came after an error may not have been recorded"), []
        elif given_up and (trial.completeness.root_missing or trial.status == "incomplete"):
            gap, given_up = ("incomplete", "what came after an error may be missing from the record"), []
        told: list[Plain] = [
            {"tool": calls.all[at].name, "span_id": _span(calls.all, at), "next": what} for at, what in after
        ]
        return said(
            self.name,
            trial,
            flagged=bool(given_up),
            score=float(len(failed)),
            told=", ".join(f"{what.replace('_', ' ')} {count}" for what, count in sorted(counts.items())),
            spans=first_spans(calls.all[at] for at in failed),
            gap=gap,
            details={"errors": told},
        )


def _next(calls: Calls, at: int) -> Next:
    failed = calls.all[at]
    for later in range(at + 1, len(calls.all)):
        call = calls.all[later]
        if call.asked_by is not None and call.asked_by == failed.asked_by:
            continue
        if call.name != failed.name:
            return "other_tool"
        ours, theirs = calls.signatures[at], calls.signatures[later]
        if ours is None or theirs is None:
            return "not_recorded"
        return "same_call" if ours == theirs else "changed_arguments"
    return "gave_up"


def _span(calls: Sequence[ToolCall], at: int) -> str | None:
    return calls[at].span_ids[0] if calls[at].span_ids else None
