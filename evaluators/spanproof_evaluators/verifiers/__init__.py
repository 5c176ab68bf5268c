"""Verifiers: the state before and the state after in, a verdict out."""

from collections.abc import Sequence

from spanproof_evaluators.model.checks import AnswerCheck, CheckSpec, FilesCheck, RowsCheck, UnchangedCheck
from spanproof_evaluators.model.end_states import EndState
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.verifications import Check, Verification
from spanproof_evaluators.verifiers._verifier import Verifier
from spanproof_evaluators.verifiers.answer import check_answer
from spanproof_evaluators.verifiers.files import check_files
from spanproof_evaluators.verifiers.rows import check_rows
from spanproof_evaluators.verifiers.unchanged import check_unchanged

__all__ = ["VERSION", "Verifier", "declared", "judge"]

VERSION = "1"
"""Raised when a check comes to mean something else: a stored verdict of another version is no verdict of this one."""


def declared(checks: Sequence[CheckSpec]) -> Verifier:
    """Return the verifier that the checks of a task declare."""

    def verify(before: EndState | None, after: EndState) -> Verification:
        found: list[Check] = []
        for spec in checks:
            match spec:
                case RowsCheck():
                    found.append(check_rows(spec, after))
                case FilesCheck():
                    found.append(check_files(spec, after))
                case UnchangedCheck():
                    found.extend(check_unchanged(spec, before, after))
                case AnswerCheck():
                    found.extend(check_answer(spec, after))
        return Verification.of(found)

    return verify


def judge(verifier: Verifier, before: EndState | None, after: EndState, *, name: str) -> Outcome:
    """Return the outcome: the verifier's word on the state after, and on the state before by the same predicate."""
    if before is None:
        pre_state = Verification(state="unavailable", reason="pre_state_not_recorded")
    else:
        pre_state = verifier(before, before)
    return Outcome.of(pre_state, verifier(before, after), verifier=name, version=VERSION)
