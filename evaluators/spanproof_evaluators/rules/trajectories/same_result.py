"""Calls that were made again and told nothing new."""

from collections import defaultdict
from dataclasses import dataclass

from spanproof_collector.model.trials import ToolCall, Trial
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules.trajectories._calls import calls_of, first_spans, named
from spanproof_evaluators.rules.trajectories._saying import Gap, nothing_to_see, said


@dataclass(frozen=True)
class SameResult:
    """Count calls of which an earlier one has tool, arguments and answer (evaluators.md B27d), wherever it stands.

    The answer is result, error and exit code. A write between the two makes no difference: the answer shows that what
    was asked did not change.
    """

    name: str = "same_result"
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Count; more than the task's ``max_repeats`` (none, where it says nothing) raises the flag."""
        empty, found = nothing_to_see(self.name, trial)
        if empty:
            return found
        calls = calls_of(trial)
        allowed = 0 if task is None or task.max_repeats is None else task.max_repeats
        places: defaultdict[str, list[int]] = defaultdict(list)
        for at, text in enumerate(calls.signatures):
            if text is not None:
                places[text].append(at)
        again: list[int] = []
        open_ = 0
        for equal in places.values():
            seen: set[str] = set()
            unread = 0
            for at in equal if len(equal) > 1 else ():
                answer = calls.answer(at)
                if answer is None:
                    unread += 1
                elif answer in seen:
                    again.append(at)
                else:
                    seen.add(answer)
            open_ += unread if seen else max(unread - 1, 0)
        repeated: list[ToolCall] = [calls.all[at] for at in sorted(again)]
        gap: Gap | None = None
        if open_ + len(repeated) > allowed and open_:
            gap = "not_captured", f"the answers of {open_} calls that were made again are not recorded"
        elif calls.blank > allowed:
            gap = "not_captured", f"the arguments of {calls.blank} calls that may be repeats are not recorded"
        return said(
            self.name,
            trial,
            flagged=len(repeated) > allowed,
            score=float(len(repeated)),
            told=f"made again with the same answer: {named(repeated)}" if repeated else "none",
            spans=first_spans(repeated),
            gap=gap,
        )
