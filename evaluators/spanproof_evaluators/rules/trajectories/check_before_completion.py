"""Whether the agent looked at what it had changed before it said that it was done."""

from dataclasses import dataclass

from spanproof_collector.model.trials import ToolCall, Trial
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules._rule import UNSEEN
from spanproof_evaluators.rules.coding.work import work_of
from spanproof_evaluators.rules.trajectories._calls import changed, first_spans
from spanproof_evaluators.rules.trajectories._saying import Gap, said, unavailable


@dataclass(frozen=True)
class CheckBeforeCompletion:
    """Flag a claim of success with no check between the last write and the claim (MAST 3.2, no verification; B.11).

    The last write is the last call that changed something. A check is an answered read after it, or a command that runs
    tests, a build, a linter or a type checker. Whether the check looked at the right thing is not asked.
    """

    name: str = "check_before_completion"
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Look for it; nothing where success is not claimed, or nothing was changed."""
        if not trial.understood:
            return unavailable(self.name, "not_captured", "no dialect recognizes any span")
        whole = trial.completeness.calls_whole
        if trial.claim.state == "unavailable":
            return unavailable(self.name, "claim_unavailable", f"what it claims is not known: {trial.claim.rule}")
        if trial.claim.state != "success":
            return None if whole else unavailable(self.name, "not_captured", UNSEEN)
        if not any(changed(call) is not False for call in trial.tool_calls):
            return None if whole else unavailable(self.name, "not_captured", f"no write seen, but {UNSEEN}")
        checks = {id(ran.call) for ran in work_of(trial).ran if ran.check is not None and not ran.check.idle}
        sure, perhaps = _last(trial, checks, certain=True), _last(trial, checks, certain=False)
        if sure is None:
            return unavailable(self.name, "unknown_effect", "nobody knows whether any call changed something")
        check = _check_after(trial, checks, perhaps if perhaps is not None else sure)
        open_ = _check_after(trial, checks, sure) is not None or perhaps != sure
        gap: Gap | None = None
        if check is None and not whole:
            gap = "not_captured", f"no check seen, but {UNSEEN}"
        elif check is None and open_:
            gap = "unknown_effect", "nobody knows whether a later call changed something, or looked at it"
        last = trial.tool_calls[sure]
        return said(
            self.name,
            trial,
            flagged=check is None and gap is None,
            score=float(check is not None),
            told=f"{last.name} was the last write, and "
            + ("nothing looked at what it did" if check is None else f"{check.name} looked after it"),
            spans=first_spans([last] if check is None else [last, check]),
            gap=gap,
        )


def _last(trial: Trial, checks: set[int], *, certain: bool) -> int | None:
    """Return the place of the last call that changed something; where not certain, that may have."""
    found = None
    for at, call in enumerate(trial.tool_calls):
        happened = changed(call)
        if id(call) not in checks and (happened or (happened is None and not certain)):
            found = at
    return found


def _check_after(trial: Trial, checks: set[int], last: int) -> ToolCall | None:
    """Return the first check after a call."""
    for call in trial.tool_calls[last + 1 :]:
        answered = call.executed == "yes" and (call.error is None or call.exit_code is not None)
        if answered and (call.effect.effect_class == "read" or id(call) in checks):
            return call
    return None
