"""Cassettes: verdicts that were recorded, replayed without a network. A journal, or a copy of one, is a cassette."""

from collections.abc import Sequence
from pathlib import Path

from spanproof_evaluators.errors import JudgeSetupError
from spanproof_evaluators.judges.asking import Work
from spanproof_evaluators.judges.journal import Recorded
from spanproof_evaluators.judges.pool import Judged
from spanproof_evaluators.model.judgements import Judge, Judgement, decided
from spanproof_evaluators.model.rubrics import Rubric


def read_cassette(path: Path) -> Recorded:
    """Return the verdicts of a cassette.

    Raises:
        JudgeSetupError: it cannot be read, or a line of it is none.
    """
    return Recorded(path)


def judges_of(cassette: Recorded, rubric: Rubric, prompt_hash: str) -> list[Judge]:
    """Return the judges that were recorded by this version of a rubric and of the prompt.

    Raises:
        JudgeSetupError: there is none; the message says what is there instead.
    """
    there = {one.judge.hash: one.judge for one in cassette.verdicts()}
    found = [one for one in there.values() if one.rubric_hash == rubric.hash and one.prompt_hash == prompt_hash]
    if not found:
        told = sorted({f"{one.rubric} by {one.name}" for one in there.values()})
        raise JudgeSetupError(
            f"{cassette.path} has no verdict by this version of rubric {rubric.id!r} and of the prompt; it has "
            + (", ".join(told) or "none at all")
        )
    return found


def replay(works: Sequence[Work], cassette: Recorded) -> Judged:
    """Return the recorded verdicts that are wanted. One that was not recorded is unavailable.

    Raises:
        JudgeSetupError: a recorded verdict is not what its answers come to.
    """
    found = Judged()
    for work in works:
        recorded = cassette.verdict(work.key)
        if recorded is None:
            recorded = _missing(work)
        else:
            _sound(recorded, work.rubric, cassette.path)
            found.kept += 1
        found.verdicts[work.key] = recorded
    return found


def _sound(recorded: Judgement, rubric: Rubric, path: Path) -> None:
    """Check that a verdict is the one that its answers give."""
    if recorded.state == "unavailable":
        return
    answers = {one.criterion: (one.answer, one.rationale) for one in recorded.criteria}
    if (recorded.state, recorded.reason, recorded.criteria) != decided(rubric, answers):
        raise JudgeSetupError(
            f"{path}: the verdict on input {recorded.input_hash[:12]} is not what its answers come to"
        )


def _missing(work: Work) -> Judgement:
    return Judgement(
        judge=work.judge,
        input_hash=work.given.hash,
        state="unavailable",
        reason="not_in_cassette",
        explanation="the cassette has no verdict of this judge on this input",
        attempts=0,
        cost_reason="nothing was asked",
    )
