"""Verifiers: the state before and the state after in, a verdict out, each check with its receipt.

In code:

    from spanproof_evaluators.verifiers import Check, EndState, Place, SqlCheck, declared, judge

    verifier = declared([SqlCheck(kind="sql", destination="shop", query="select 1 from refunds", exactly=1)])
    after = EndState(places={"shop": Place(kind="sql", location="sqlite:////data/shop.db")})
    outcome = judge(verifier, None, after, name="refunded")

A kind of one's own is a ``CheckKind`` behind an entry point of the group ``spanproof.verifiers``.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from spanproof_evaluators.model.checks import (
    AnswerCheck,
    CheckKind,
    CheckSpec,
    CommandCheck,
    Counted,
    FilesCheck,
    GitCheck,
    HttpCheck,
    JsonExpected,
    NumberExpected,
    PythonCheck,
    QuoteExpected,
    RowsCheck,
    SqlCheck,
    UnchangedCheck,
    kinds,
)
from spanproof_evaluators.model.end_states import EndState, Place
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.verifications import Check, Verification
from spanproof_evaluators.verifiers._in_process import Predicate, by_function
from spanproof_evaluators.verifiers._verifier import Verifier
from spanproof_evaluators.verifiers.answer import check_answer
from spanproof_evaluators.verifiers.command import check_command
from spanproof_evaluators.verifiers.files import check_files
from spanproof_evaluators.verifiers.git import check_git
from spanproof_evaluators.verifiers.python import check_python
from spanproof_evaluators.verifiers.rows import check_rows
from spanproof_evaluators.verifiers.sql import check_sql
from spanproof_evaluators.verifiers.unchanged import check_unchanged

__all__ = [
    "VERSION",
    "AnswerCheck",
    "Check",
    "CheckKind",
    "CheckSpec",
    "CommandCheck",
    "Counted",
    "EndState",
    "FilesCheck",
    "GitCheck",
    "HttpCheck",
    "JsonExpected",
    "NumberExpected",
    "Place",
    "Predicate",
    "PythonCheck",
    "QuoteExpected",
    "RowsCheck",
    "SqlCheck",
    "UnchangedCheck",
    "Verification",
    "Verifier",
    "by_function",
    "declared",
    "judge",
]

VERSION = "1"
"""Raised when a check comes to mean something else: a stored verdict of another version is no verdict of this one."""


def declared(
    checks: Sequence[CheckSpec | Check], *, pass_score: float | None = None, base: Path | None = None
) -> Verifier:
    """Return the verifier that these checks declare.

    Args:
        checks: what is asked; a ``Check`` is one whose answer is known already, as that it cannot run.
        pass_score: the part of the weights that has to pass.
        base: the folder that paths of Python files are relative to; the working folder where none is given.
    """
    folder = base or Path.cwd()
    weighted = pass_score is not None or any(spec.weight is not None for spec in checks)

    def verify(before: EndState | None, after: EndState) -> Verification:
        found: list[Check] = []
        for spec in checks:
            found.extend([spec] if isinstance(spec, Check) else checked(spec, before, after, folder, weighted=weighted))
        return Verification.of(found, pass_score=pass_score)

    return verify


def checked(
    spec: CheckSpec, before: EndState | None, after: EndState, base: Path, *, weighted: bool = False
) -> list[Check]:
    """Return what one check found, with its receipt. Whatever it raises is a gap, and no verdict."""
    try:
        found = list(_run(spec, before, after, base))
    except Exception as error:
        # A check is anybody's code, over a world that anybody made: no failure of it may pass for a verdict.
        found = [Check(name=spec.kind, passed=None, reason="check_could_not_run", seen=type(error).__name__)]
    if not found:
        found = [Check(name=spec.kind, passed=None, reason="check_could_not_run", seen="it found nothing to say")]
    weight = (1.0 if spec.weight is None else spec.weight) / len(found) if weighted else None
    return [
        replace(
            check,
            kind=spec.kind,
            definition=check.definition or spec.definition,
            time=after.time if check.time is None else check.time,
            weight=weight,
            required=spec.required,
        )
        for check in found
    ]


def _run(spec: CheckSpec, before: EndState | None, after: EndState, base: Path) -> Sequence[Check]:
    match spec:
        case RowsCheck():
            return [check_rows(spec, after)]
        case FilesCheck():
            return check_files(spec, before, after)
        case UnchangedCheck():
            return check_unchanged(spec, before, after)
        case AnswerCheck():
            return check_answer(spec, after)
        case PythonCheck():
            return check_python(spec, before, after, base)
        case CommandCheck():
            return check_command(spec, after)
        case SqlCheck():
            return check_sql(spec, after)
        case HttpCheck():
            from spanproof_evaluators.verifiers.http import check_http

            return check_http(spec, after)
        case GitCheck():
            return check_git(spec, after)
    other = kinds().get(spec.kind)
    if other is None:
        return [Check(name=spec.kind, passed=None, reason="kind_unknown", seen=f"nobody knows kind {spec.kind}")]
    return other.check(spec, before, after)


def judge(verifier: Verifier, before: EndState | None, after: EndState, *, name: str) -> Outcome:
    """Return the outcome: the verifier's word on the state after, and on the state before by the same predicate.

    That nothing was answered before the trial is always so: where that is all that fails before, and the world of then
    could not be looked at, nobody knows whether the trial brought it about.
    """
    if before is None:
        pre_state = Verification(state="unavailable", reason="pre_state_not_recorded")
    else:
        pre_state = verifier(before, before)
        unseen = [check for check in pre_state.checks if check.passed is None]
        only_answers = all(check.kind == "answer" for check in pre_state.checks if check.passed is False)
        if pre_state.state == "failed" and unseen and only_answers:
            pre_state = replace(pre_state, state="unavailable", reason=unseen[0].reason, score=None)
    return Outcome.of(pre_state, verifier(before, after), verifier=name, version=VERSION)
