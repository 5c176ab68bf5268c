"""A trial with every verdict on it, as a test looks at it. What is unavailable passes no assertion."""

import subprocess
from dataclasses import dataclass

from spanproof_collector.model.trials import Claim, ToolCall, Trial
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.reports import wording
from spanproof_evaluators.reports.proof import proof

_LONGEST = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """What was claimed, what was proven, what is unknown."""

    assessment: Assessment
    """The trial and every verdict on it, as the command line has it."""

    kept_in: str | None
    """The address of the store, where it outlives the session."""

    process: "subprocess.CompletedProcess[str] | None" = None
    """What the trial ran as a command."""

    @property
    def trial(self) -> Trial:
        """What the spans say."""
        return self.assessment.trial

    @property
    def claim(self) -> Claim:
        """What the agent says of its task."""
        return self.assessment.trial.claim

    @property
    def outcome(self) -> Outcome:
        """What the checks found."""
        return self.assessment.outcome

    @property
    def effects(self) -> tuple[ToolCall, ...]:
        """The calls that intend a change outside; ``effect.state`` says what is known of each."""
        return tuple(call for call in self.trial.tool_calls if call.effect.state != "none")

    @property
    def solved(self) -> bool | None:
        """Finished within its budget, constraints kept, outcome verified; ``None`` where that cannot be said."""
        return self.assessment.solved

    def assert_solved(self) -> None:
        """Fail unless the trial is solved.

        Raises:
            AssertionError: it is not, or nobody can say.
        """
        __tracebackhide__ = True
        if self.solved is not True:
            what = "is not solved" if self.solved is False else "is not known to be solved"
            raise AssertionError(self._told(what, wording.solved(self.assessment)))

    def assert_no_false_success(self) -> None:
        """Fail where success was claimed and the checks failed, and where success was claimed without a verdict.

        Raises:
            AssertionError: it was, or nobody can say what was claimed.
        """
        __tracebackhide__ = True
        claimed, verdict = self.claim.state, self.outcome.state
        if claimed in ("partial", "failure", "none") or (claimed == "success" and verdict == "verified"):
            return
        if claimed == "unavailable":
            raise AssertionError(self._told("may be a false success", f"nobody can say what it claims: {self._rule()}"))
        if verdict == "failed":
            raise AssertionError(self._told("is a false success", "success was claimed, and a check failed"))
        reason = wording.because(self.outcome.reason)
        raise AssertionError(self._told("may be a false success", f"success was claimed without a verdict: {reason}"))

    def assert_no_unknown_effects(self) -> None:
        """Fail where a call may have changed something and nobody knows.

        Raises:
            AssertionError: one may have, or calls may be missing from what was recorded.
        """
        __tracebackhide__ = True
        unknown = [call for call in self.trial.tool_calls if call.effect.state == "unknown"]
        if unknown:
            named = ", ".join(sorted({call.name for call in unknown}))
            count = wording.plural(len(unknown), "unknown effect")
            raise AssertionError(self._told(f"has {count}", f"look at the destination of {named}"))
        if not self.trial.understood:
            raise AssertionError(
                self._told("may have unknown effects", "no span of it is an agent's in a known convention")
            )
        if not self.trial.completeness.calls_whole:
            raise AssertionError(self._told("may have unknown effects", "calls may be missing from what was recorded"))

    def _rule(self) -> str:
        return wording.because(self.claim.rule)

    def _told(self, what: str, why: str) -> str:
        """Return the whole evidence in lines."""
        trial = self.trial
        named = [f"task {trial.task_id}" if trial.task_id else "", f"variant {trial.variant}" if trial.variant else ""]
        labels = ", ".join(filter(None, named))
        lines = [
            ("labels", labels),
            ("claim", f"{wording.claim(self.assessment)} ({trial.claim.source}: {trial.claim.rule})"),
            ("outcome", wording.outcome(self.assessment)),
            ("effects", wording.effects(self.assessment)),
        ]
        if trial.status != "complete":
            lines.append(("status", trial.status + (f" ({trial.status_reason})" if trial.status_reason else "")))
        if self.process is not None and self.process.returncode != 0:
            lines.append(("process", ended(self.process)))
        for piece in proof(self.assessment):
            if piece.kind not in ("claimed", "outcome"):
                name, seen = (f"{piece.name} " if piece.name else ""), (f": {piece.seen}" if piece.seen else "")
                lines.append((piece.kind, f"{name}{piece.state}: {piece.what}{seen}"))
        if self.kept_in:
            lines.append(("look", f"spanproof show {trial.trial_id} --store {self.kept_in}"))
        told = [f"  {head:9} {wording.one_line(text, _LONGEST)}" for head, text in lines]
        return "\n".join([wording.one_line(f"trial {trial.trial_id} {what}: {why}", _LONGEST), *told])


def ended(process: "subprocess.CompletedProcess[str]") -> str:
    """Return how a command ended, and its last words."""
    said = (process.stderr or process.stdout or "").strip()
    return f"ended with {process.returncode}" + (f": {said[-_LONGEST:]}" if said else "")
