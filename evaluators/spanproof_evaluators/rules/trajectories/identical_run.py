"""The same call, several times in a row."""

from dataclasses import dataclass
from typing import Final

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules.trajectories._calls import Calls, calls_of, first_spans
from spanproof_evaluators.rules.trajectories._saying import nothing_to_see, said

FEWEST: Final = 3


@dataclass(frozen=True)
class IdenticalRun:
    """Flag three or more equal calls in a row that were answered alike (evaluators.md B27c). Score: the longest run.

    Equal: tool and arguments with sorted keys. A call whose answer differs from the one before begins a new run:
    polling whose result changes is exempt.
    """

    name: str = "identical_run"
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Look for runs."""
        empty, found = nothing_to_see(self.name, trial)
        if empty:
            return found
        calls = calls_of(trial)
        runs = _runs(calls, certain=True)
        long = [run for run in runs if len(run) >= FEWEST]
        perhaps = max(len(run) for run in _runs(calls, certain=False)) >= FEWEST
        told: list[Plain] = [_told(calls, run) for run in long]
        return said(
            self.name,
            trial,
            flagged=bool(long),
            score=float(max(len(run) for run in runs)),
            told="; ".join(f"{calls.all[run[0]].name} {len(run)} times in a row" for run in long) or "no long run",
            spans=first_spans(calls.all[at] for run in long for at in run),
            gap=("not_captured", "arguments or answers of calls that may be a run are not recorded")
            if perhaps
            else None,
            details={"runs": told} if told else {},
        )


def _runs(calls: Calls, *, certain: bool) -> list[list[int]]:
    """Return the places of the calls of each run, single calls too. What is not recorded is equal unless certain."""
    runs: list[list[int]] = []
    for at, (text, call) in enumerate(zip(calls.signatures, calls.all, strict=True)):
        before = runs[-1][-1] if runs else None
        if before is not None and _alike(calls, before, at, text, call.name, certain=certain):
            runs[-1].append(at)
        else:
            runs.append([at])
    return runs


def _alike(calls: Calls, before: int, at: int, text: str | None, name: str, *, certain: bool) -> bool:
    earlier = calls.signatures[before]
    if text is None or earlier is None:
        return not certain and calls.all[before].name == name
    if text != earlier:
        return False
    answers = calls.same_answer(before, at)
    return not certain if answers is None else answers


def _told(calls: Calls, run: list[int]) -> dict[str, Plain]:
    spans: list[Plain] = [*first_spans(calls.all[at] for at in run)]
    return {"tool": calls.all[run[0]].name, "length": len(run), "span_ids": spans}
