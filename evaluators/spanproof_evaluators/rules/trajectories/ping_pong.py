"""Two calls in turn, again and again."""

from dataclasses import dataclass
from typing import Final

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules.trajectories._calls import Calls, calls_of, first_spans
from spanproof_evaluators.rules.trajectories._saying import nothing_to_see, said

FEWEST: Final = 4


@dataclass(frozen=True)
class PingPong:
    """Flag two different calls made in turn, four in a row at least: A B A B (evaluators.md B27e).

    A call goes on with the turn where tool and arguments are those of the call before the last one, not those of the
    last one, and its answer is that of the call before the last one: polling whose result changes is exempt. Score:
    the longest turn; 0 where no call comes back.
    """

    name: str = "ping_pong"
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Look for the longest turn."""
        empty, found = nothing_to_see(self.name, trial)
        if empty:
            return found
        calls = calls_of(trial)
        first, length = _longest(calls, certain=True)
        perhaps = _longest(calls, certain=False)[1] >= FEWEST
        turn = calls.all[first : first + length]
        return said(
            self.name,
            trial,
            flagged=length >= FEWEST,
            score=float(length),
            told=f"{turn[0].name} and {turn[1].name} in turn, {length} calls" if length >= FEWEST else "none",
            spans=first_spans(turn) if length >= FEWEST else (),
            gap=("not_captured", "arguments or answers of calls made in turn are not recorded") if perhaps else None,
        )


def _longest(calls: Calls, *, certain: bool) -> tuple[int, int]:
    """Return where the longest turn begins and how many calls it has."""
    best, length = (0, 0), 0
    for at in range(2, len(calls.all)):
        length = (length or 2) + 1 if _goes_on(calls, at, certain=certain) else 0
        if length > best[1]:
            best = at - length + 1, length
    return best


def _goes_on(calls: Calls, at: int, *, certain: bool) -> bool:
    before, last, this = calls.signatures[at - 2], calls.signatures[at - 1], calls.signatures[at]
    if before is None or last is None or this is None:
        return not certain and calls.all[at].name == calls.all[at - 2].name
    if this != before or this == last:
        return False
    answers = calls.same_answer(at - 2, at)
    return not certain if answers is None else answers
