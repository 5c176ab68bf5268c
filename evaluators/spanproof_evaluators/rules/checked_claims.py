"""Claims that tests pass or that a build, lint or type check is clean, held against the commands that ran."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules.coding.edits import matters
from spanproof_evaluators.rules.coding.outputs import count_tests, cut, output_of, says_failed
from spanproof_evaluators.rules.coding.said import Said, claims_of
from spanproof_evaluators.rules.coding.status import exit_code_of
from spanproof_evaluators.rules.coding.work import Ran, Work, work_of

Reason: TypeAlias = Literal[
    "no_command", "before_last_edit", "masked", "no_tests", "exit_unknown", "output_not_seen", "failed", "not_captured"
]
_WORDS: Final[dict[Reason, str]] = {
    "no_command": "no command that checks it ran",
    "before_last_edit": "the last command that checks it ran before the last edit",
    "masked": "its exit code was lost on the way",
    "no_tests": "no test ran in it",
    "exit_unknown": "its exit code is not known",
    "output_not_seen": "its output was not seen",
    "failed": "the last command that checks it failed",
    "not_captured": "commands may have run that were not recorded",
}
_OPEN: Final = frozenset({"exit_unknown", "output_not_seen", "not_captured"})
"""Reasons that leave the claim open: the evidence is missing, not against it."""


@dataclass(frozen=True, slots=True)
class _Verdict:
    said: Said
    verdict: Literal["supported", "contradicted", "unsupported"]
    reason: Reason | None = None
    by: Ran | None = None

    @property
    def state(self) -> Literal["pass", "fail", "unavailable"]:
        if self.verdict == "supported":
            return "pass"
        return "unavailable" if self.reason in _OPEN else "fail"

    @property
    def words(self) -> str:
        why = f": {_WORDS[self.reason]}" if self.reason else ""
        at = f" ({' '.join(self.by.run.words)[:80]})" if self.by is not None else ""
        return f'"{self.said.words[:120]}" is {self.verdict}{why}{at}'

    def as_json(self) -> dict[str, Plain]:
        """Return it for a report."""
        return {
            "kind": self.said.kind,
            "claim": self.said.words,
            "claim_span_id": self.said.span_id,
            "verdict": self.verdict,
            "reason": self.reason,
            "command": None if self.by is None else self.by.command[:500],
            "command_span_id": None if self.by is None else self.by.span_id,
        }


@dataclass(frozen=True)
class CheckedClaims:
    """Hold what a coding agent says of its checks against its own commands (evaluators.md B18, MAST 3.2 and 3.3).

    A claim is supported by a matching command that ran after the last edit that matters, ended with 0, was not masked,
    ran a test, and whose output was recorded. It is contradicted where the last such command failed.
    """

    name: str = "checked_claims"
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Judge each claim on a check; ``None`` where the agent makes none."""
        if not trial.understood:
            return self._open("not_captured", "no dialect recognizes any span")
        claims = claims_of(trial)
        work = work_of(trial)
        if not claims:
            if trial.claim.state == "unavailable" and work.shells:
                return self._open("claim_unavailable", f"what it claims is not known: {trial.claim.rule}")
            return None
        found = [_judge(said, work, trial) for said in claims]
        worst = next(s for s in ("fail", "unavailable", "pass") if any(one.state == s for one in found))
        reasons = [one.reason for one in found if one.state == worst and one.reason]
        spans = [one.by.span_id if one.by is not None else one.said.span_id for one in found]
        return Result(
            evaluator=self.name,
            state=worst,  # type: ignore[arg-type]
            score=float(sum(one.state == "pass" for one in found)),
            label="diagnostic",
            reason=reasons[0] if reasons else None,
            explanation="; ".join(one.words for one in found),
            span_ids=tuple(dict.fromkeys(span for span in spans if span)),
            details={"claims": [one.as_json() for one in found]},
        )

    def _open(self, reason: str, explanation: str) -> Result:
        return Result.unavailable(self.name, reason=reason, explanation=explanation, label="diagnostic")


def _judge(said: Said, work: Work, trial: Trial) -> _Verdict:
    fitting = [one for one in work.ran if one.check is not None and said.kind in one.check.kinds]
    real = [one for one in fitting if one.check is not None and not one.check.idle]
    whole = trial.completeness.calls_whole and not work.unread
    if not real:
        if not whole:
            return _Verdict(said, "unsupported", "not_captured")
        return _Verdict(said, "unsupported", "no_tests" if fitting and said.kind == "tests" else "no_command")
    changes = [one.place for one in work.changed if matters(one.edit.path)]
    if _failed(real[-1], trial, tests=said.kind == "tests"):
        return _Verdict(said, "contradicted", "failed", real[-1])
    for one in reversed(real):
        if _failed(one, trial, tests=said.kind == "tests"):
            break
        if _against(one, changes, trial, tests=said.kind == "tests") is None:
            return _Verdict(said, "supported", None, one)
    return _Verdict(said, "unsupported", _against(real[-1], changes, trial, tests=said.kind == "tests"), real[-1])


def _failed(one: Ran, trial: Trial, *, tests: bool) -> bool:
    """Return whether a command is known to have failed: by its exit code, or where that is lost by what it says."""
    code = exit_code_of(one, trial)
    if code is not None:
        return code != 0
    output = output_of(one.call) or ""
    ended_badly = one.call.exit_code not in (None, 0) or one.call.error is not None
    return says_failed(output) and (tests or ended_badly or one.alone)


def _against(one: Ran, changes: Sequence[tuple[int, int]], trial: Trial, *, tests: bool) -> Reason | None:
    """Return what keeps a command from supporting a claim, ``None`` where nothing does."""
    if any(place > one.place for place in changes):
        return "before_last_edit"
    output = output_of(one.call)
    ran = count_tests(output) if output and tests else None
    if tests and ran == 0:
        return "no_tests"
    code = exit_code_of(one, trial)
    if one.check is not None and one.check.lenient and not ran:
        return "masked"
    if code is None:
        return "exit_unknown" if one.run.told else "masked"
    if output is None or (one.run.hidden and not _shown_after(one)) or (tests and not output.strip()):
        return "output_not_seen"
    return "output_not_seen" if cut(output) and tests and ran is None else None


def _shown_after(one: Ran) -> bool:
    """Return whether the file that the output went to is printed by the same command line."""
    return any(
        re.search(rf"\b(?:cat|tail|head|less|grep)\b[^;|&\n]*{re.escape(path)}", one.command)
        for path in one.run.written
    )
