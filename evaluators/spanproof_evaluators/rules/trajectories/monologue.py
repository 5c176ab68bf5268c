"""An agent that goes on talking to itself."""

from dataclasses import dataclass
from typing import Final

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules.trajectories._saying import Gap, said, unavailable

FEWEST: Final = 3


@dataclass(frozen=True)
class Monologue:
    """Flag three or more inferences in a row without a call and without anybody's words between (B27g).

    Inferences of agents that work for another one, and failed ones, do not count. Words of a user, of the environment
    or of another agent begin anew, so a conversation is none. Score: the longest such row.
    """

    name: str = "monologue"
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Look for the longest row; nothing where no inference was recorded."""
        if not trial.understood:
            return unavailable(self.name, "not_captured", "no dialect recognizes any span")
        turns = [one for one in trial.inferences if one.own and not one.failed]
        if not turns and trial.completeness.calls_whole:
            return None
        sure, perhaps = _longest(trial, certain=True), _longest(trial, certain=False)
        gap: Gap | None = None
        if len(perhaps) >= FEWEST:
            gap = "not_captured", "who asked for calls, or who spoke between inferences, is not recorded"
        whole = trial.completeness.calls_whole
        return said(
            self.name,
            trial,
            flagged=len(sure) >= FEWEST and whole,
            score=float(len(sure)),
            told=f"{len(sure)} inferences in a row without a call" if len(sure) >= FEWEST else "no long row",
            spans=tuple(sure) if len(sure) >= FEWEST else (),
            gap=gap if whole else None,
        )


def _longest(trial: Trial, *, certain: bool) -> list[str]:
    """Return the spans of the longest row. What is not recorded ends it where it has to be certain."""
    asking = {call.asked_by for call in trial.tool_calls}
    unknown = None in asking and certain
    longest: list[str] = []
    row: list[str] = []
    speaker: str | None = None
    for one in trial.inferences:
        if not one.own or one.failed:
            continue
        if one.span_id in asking or unknown:
            row = []
            continue
        spoken = one.prompted if one.prompted is not None else certain
        row = [one.span_id] if spoken or not row or one.agent != speaker else [*row, one.span_id]
        speaker = one.agent
        if len(row) > len(longest):
            longest = row
    return longest
