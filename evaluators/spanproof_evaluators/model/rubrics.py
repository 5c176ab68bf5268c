"""Rubrics: what a judge is asked, criterion by criterion, as people write it in a YAML or JSON file.

    id: grounded
    about: The answer rests on the source.
    looks_at: answer
    uses_source: true
    criteria:
      - id: consistent
        question: Does the source support every statement of the answer?
        answers: [yes, no, partially]
        passes_on: yes
      - id: fabricated
        question: Does the answer state a fact, number or name that the source does not contain?
        answers: [yes, no]
        passes_on: no
      - id: quote_verbatim
        question: Is every passage in quotation marks in the source, word for word?
        answers: [yes, no, not_applicable]
        passes_on: yes
        required: false

Questions are concrete and closed: there is no scale. An unknown key is refused: a misspelled ``required`` would
otherwise be the default.
"""

from functools import cached_property
from pathlib import Path
from typing import Final, Literal, Self, get_args

from pydantic import Field, model_validator

from spanproof_evaluators.errors import RubricError
from spanproof_evaluators.model.canonical import Plain, digest
from spanproof_evaluators.model.documents import parse_document, read_document
from spanproof_evaluators.model.written import Written

Answer = Literal["yes", "no", "partially", "unsure", "not_applicable"]
"""What a judge may say of a criterion. ``partially`` and ``unsure`` abstain; ``not_applicable`` is no abstention."""

ANSWERS: Final[tuple[Answer, ...]] = get_args(Answer)
ABSTAINS: Final[tuple[Answer, ...]] = ("partially", "unsure")
Of = Literal["passed", "failed", "abstained", "not_applicable"]
"""What an answer means for its criterion, by the criterion's polarity."""


class Criterion(Written):
    """One closed question to the judge."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")
    question: str = Field(min_length=1)
    guidance: str = ""
    """What counts as which answer, in the judge's own prompt; empty: the question says it all."""

    answers: tuple[Answer, ...] = Field(default=("yes", "no"), strict=False)
    """The answers that are allowed. ``yes`` and ``no`` always are."""

    passes_on: Literal["yes", "no"] = "yes"
    """The answer that is good: ``no`` for a question like "is something made up?"."""

    required: bool = True
    """A required criterion that failed fails the verdict; another one is only told."""

    @model_validator(mode="after")
    def _closed(self) -> Self:
        if len(set(self.answers)) != len(self.answers):
            raise ValueError("an answer is listed twice")
        if not {"yes", "no"} <= set(self.answers):
            raise ValueError("answers lack 'yes' or 'no': every criterion is a yes/no question")
        return self

    def means(self, answer: Answer) -> Of:
        """Return what an answer means for this criterion."""
        if answer in ABSTAINS:
            return "abstained"
        if answer == "not_applicable":
            return "not_applicable"
        return "passed" if answer == self.passes_on else "failed"


class Rubric(Written):
    """Criteria under one name, versioned by the hash of their canonical form."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")
    about: str = ""
    """What the rubric is for, in a sentence: for people, and no part of what the judge is told."""

    looks_at: Literal["answer", "diff"] = "answer"
    """What is judged: the submitted answer, or the final diff of a coding task."""

    uses_source: bool = True
    """Whether the judge is given the task's source. Where it is and there is none, there is no verdict."""

    criteria: tuple[Criterion, ...] = Field(strict=False, min_length=1, max_length=32)

    @model_validator(mode="after")
    def _unique(self) -> Self:
        seen: set[str] = set()
        for criterion in self.criteria:
            if criterion.id in seen:
                raise ValueError(f"two criteria are called {criterion.id!r}")
            seen.add(criterion.id)
        if not any(criterion.required for criterion in self.criteria):
            raise ValueError("no criterion is required, so nothing could fail: mark at least one")
        return self

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical form, in hex: layout, key order, and ``about`` do not matter."""
        return digest(self.model_dump(mode="python", exclude_defaults=True, exclude={"about"}))

    def criterion(self, criterion_id: str) -> Criterion | None:
        """Return the criterion of that id, ``None`` where there is none."""
        return next((one for one in self.criteria if one.id == criterion_id), None)


def read_rubric(path: Path) -> Rubric:
    """Return the rubric that a YAML or JSON file holds.

    Raises:
        RubricError: the file cannot be read, or a key is unknown, missing or wrong.
    """
    return read_document(Rubric, path, RubricError)


def parse_rubric(text: str, *, name: str) -> Rubric:
    """Return the rubric that a JSON text holds; ``name`` is what errors call it.

    Raises:
        RubricError: the text is no JSON, or a key is unknown, missing or wrong.
    """
    return parse_document(Rubric, text, name, RubricError)


def schema() -> dict[str, Plain]:
    """Return the JSON Schema of rubric files."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Rubric.model_json_schema()}
