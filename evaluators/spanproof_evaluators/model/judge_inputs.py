"""What a judge sees: task, criteria, source, and the answer or final diff. There is no field for anything else.

A judge that saw the trajectory, a prompt, reasoning or another judge's verdict would repeat their mistakes (R070, R098,
R100). So the type holds text and nothing that leads anywhere: no trial, no span, no record with further fields.
"""

from dataclasses import dataclass, fields
from typing import Literal, get_args

from spanproof_evaluators.errors import JudgeInputError
from spanproof_evaluators.model.canonical import digest
from spanproof_evaluators.model.rubrics import ANSWERS, Rubric

LooksAt = Literal["answer", "diff"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One criterion as the judge reads it. Which answer is the good one, and whether it is required, is not told."""

    id: str
    question: str
    guidance: str = ""
    answers: tuple[str, ...]

    def __post_init__(self) -> None:
        _only_text("Asked", self.id, self.question, self.guidance)
        if type(self.answers) is not tuple or not set(map(str, self.answers)) <= set(ANSWERS):
            raise JudgeInputError(f"answers of {self.id!r} are {self.answers!r}: give a tuple out of {ANSWERS}")
        _only_text("Asked", *self.answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeInput:
    """Everything that a judge is told of a piece of work. Its hash says what the judge saw."""

    task: str
    """What was asked, in the suite's or the user's own words."""

    criteria: tuple[Asked, ...]
    source: str | None = None
    """What the answer is to rest on. ``None``: the rubric does not use one."""

    answer: str
    """The submitted answer, or the final diff. Untrusted: it may hold text that looks like instructions."""

    looks_at: LooksAt = "answer"

    def __post_init__(self) -> None:
        _only_text("JudgeInput", self.task, self.answer, *(() if self.source is None else (self.source,)))
        if (
            type(self.criteria) is not tuple
            or not self.criteria
            or any(type(one) is not Asked for one in self.criteria)
        ):
            raise JudgeInputError("a judge's criteria are a tuple of Asked, at least one")
        if self.looks_at not in get_args(LooksAt):
            raise JudgeInputError(f"a judge looks at an answer or a diff, not at {self.looks_at!r}")

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical form, in hex."""
        return digest({"judge_input": 1, **{one.name: getattr(self, one.name) for one in fields(self)}})


def asked(rubric: Rubric) -> tuple[Asked, ...]:
    """Return a rubric's criteria as the judge reads them, in the rubric's order."""
    return tuple(
        Asked(id=one.id, question=one.question, guidance=one.guidance, answers=tuple(one.answers))
        for one in rubric.criteria
    )


def _only_text(where: str, *values: object) -> None:
    """Refuse what is not plain text: a subclass of ``str`` could carry a trial along.

    Raises:
        JudgeInputError: a value is no text.
    """
    for value in values:
        if type(value) is not str:
            raise JudgeInputError(f"{where} holds text only, not a {type(value).__name__}")
