"""Labels: what raters say of answers that judges are asked about, and which answers were drawn for that.

A file of labels is JSON lines that are only ever added to. The first is the sheet: the rubric, and how the items were
drawn. Then the items, each with what a rater is shown, which is what a judge is sent. Then a line for each label, and
one for each that was taken back. Nothing in it says what a judge said.

    {"kind": "sheet", "rubric": {…}, "rubric_hash": …, "population": {…}, "sampling": {…}, …}
    {"kind": "item", "input_hash": …, "task": …, "source": …, "answer": …, "probability": 0.2, …}
    {"kind": "label", "input_hash": …, "rater": {"kind": "human", "name": "ada"}, "answers": {…}, "state": "fail", …}
    {"kind": "undone", "input_hash": …, "rater": {…}, …}
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, TypeAdapter, ValidationError

from spanproof_evaluators.errors import JudgeInputError, LabelsError
from spanproof_evaluators.model.canonical import digest
from spanproof_evaluators.model.judge_inputs import JudgeInput, asked
from spanproof_evaluators.model.rubrics import Answer, Rubric
from spanproof_evaluators.model.written import Texts, Written

RaterKind: TypeAlias = Literal["human", "model", "construction"]
"""Who said it: a person, a model, or nobody: the item was made so that its truth is known. Only people open gates."""

LabelState: TypeAlias = Literal["pass", "fail", "unsure", "skipped"]
SHORT: Final = 16
"""Hexadecimal digits that name an input of the population."""


class Rater(Written):
    """Who gives labels."""

    kind: RaterKind
    name: str = Field(min_length=1, max_length=100)


class Population(Written):
    """What the items were drawn from."""

    size: int
    """Distinct inputs: what two trials share counts once."""

    hash: str
    """SHA-256 over the sorted hashes of all inputs."""

    inputs: Texts
    """The first 16 hexadecimal digits of each hash, sorted."""

    filter: str
    """The trials that were asked for, in words; or ``journal``."""

    suite: str | None = None
    suite_hash: str | None = None

    @classmethod
    def of(
        cls, input_hashes: Iterable[str], *, described: str, suite: str | None = None, suite_hash: str | None = None
    ) -> "Population":
        """Return the population of these inputs."""
        distinct = sorted(set(input_hashes))
        return cls(
            size=len(distinct),
            hash=digest(distinct),
            inputs=tuple(one[:SHORT] for one in distinct),
            filter=described,
            suite=suite,
            suite_hash=suite_hash,
        )


class Sampling(Written):
    """How the items were drawn."""

    method: Literal["random", "stratified", "all", "given"]
    """``given``: somebody chose them, so what they say of the rest nobody knows."""

    seed: int | None = None
    size: int
    by: str | None = None
    """What strata are made by: ``variant``, ``agent``, ``task``, ``category``."""


class Sheet(Written):
    """The first line of a file of labels."""

    kind: Literal["sheet"] = "sheet"
    version: Literal[1] = 1
    rubric: Rubric
    rubric_hash: str
    population: Population
    sampling: Sampling
    at: str
    """When it was drawn, in Unix nanoseconds."""


class Item(Written):
    """One input that was drawn."""

    kind: Literal["item"] = "item"
    input_hash: str
    task: str
    source: str | None = None
    answer: str
    looks_at: Literal["answer", "diff"] = "answer"
    stratum: str = ""
    probability: float = Field(gt=0, le=1)
    """The chance with which it was drawn."""

    trial_ids: Texts = ()
    families: Texts = ()
    """Model families of the agents that gave the answer, as their spans name models. No rater is shown them."""

    def given(self, rubric: Rubric) -> JudgeInput:
        """Return what a judge is sent of it, which is what a rater is shown."""
        return JudgeInput(
            task=self.task, criteria=asked(rubric), source=self.source, answer=self.answer, looks_at=self.looks_at
        )


class Label(Written):
    """What one rater says of one item."""

    kind: Literal["label"] = "label"
    input_hash: str
    rubric_hash: str
    rater: Rater
    answers: dict[str, Answer] = Field(default_factory=dict)
    """By criterion; empty where only the state was told."""

    state: LabelState
    at: str


class Undone(Written):
    """A rater takes the last word on an item back."""

    kind: Literal["undone"] = "undone"
    input_hash: str
    rater: Rater
    at: str


Line: TypeAlias = Annotated[Sheet | Item | Label | Undone, Field(discriminator="kind")]
_LINES: Final[TypeAdapter[Line]] = TypeAdapter(Line)


@dataclass(slots=True, kw_only=True)
class Labels:
    """A file of labels, read."""

    sheet: Sheet
    items: dict[str, Item] = field(default_factory=dict)
    """By hash of the input, in the order in which they were drawn."""

    standing: dict[tuple[str, str, str], Label] = field(default_factory=dict)
    """The last label that was not taken back, by input, kind and name of the rater."""

    def take(self, line: Line) -> None:
        """Take one line more.

        Raises:
            ValueError: it does not fit what stands before it.
        """
        match line:
            case Sheet():
                raise ValueError("a second sheet")
            case Item():
                if line.given(self.sheet.rubric).hash != line.input_hash:
                    raise ValueError(f"the item is not what its hash {line.input_hash[:12]} says")
                self.items[line.input_hash] = line
            case Label():
                if line.input_hash not in self.items:
                    raise ValueError(f"a label of {line.input_hash[:12]}, which was not drawn")
                if line.rubric_hash != self.sheet.rubric_hash:
                    raise ValueError("a label by another version of the rubric")
                if line.answers and line.state not in ("skipped", state_of(self.sheet.rubric, line.answers)):
                    raise ValueError(f"state {line.state!r} is not what the answers come to")
                self.standing[_key(line)] = line
            case Undone():
                self.standing.pop(_key(line), None)

    def of(self, input_hash: str) -> list[Label]:
        """Return every label that stands on an item."""
        return [one for (known, _, _), one in self.standing.items() if known == input_hash]

    def left(self, rater: Rater) -> list[Item]:
        """Return the items that a rater has not labeled, in the order in which they were drawn."""
        return [one for one in self.items.values() if (one.input_hash, rater.kind, rater.name) not in self.standing]

    def last(self, rater: Rater) -> Label | None:
        """Return the last label of a rater that stands."""
        mine = [one for one in self.standing.values() if one.rater == rater]
        return mine[-1] if mine else None

    def raters(self) -> list[Rater]:
        """Return everybody who gave a label that stands."""
        return list({(one.rater.kind, one.rater.name): one.rater for one in self.standing.values()}.values())

    @property
    def hash(self) -> str:
        """SHA-256 over sheet, items and the labels that stand."""
        told = [self.sheet.rubric_hash, self.sheet.population.hash, list(self.items)]
        said = sorted((*key, one.state, sorted(one.answers.items())) for key, one in self.standing.items())
        return digest([told, said])


def state_of(rubric: Rubric, answers: Mapping[str, Answer]) -> LabelState:
    """Return what answers come to. ``unsure`` of a person is no verdict; ``partially`` is none of the good answers.

    Raises:
        ValueError: a criterion is missing or unknown, or an answer is none of its.
    """
    for one in rubric.criteria:
        if one.id not in answers:
            raise ValueError(f"no answer to {one.id!r}")
        if answers[one.id] not in (*one.answers, "unsure"):
            raise ValueError(f"{answers[one.id]!r} is no answer to {one.id!r}: give {', '.join(one.answers)} or unsure")
    if unknown := answers.keys() - {one.id for one in rubric.criteria}:
        raise ValueError(f"the rubric has no criterion {', '.join(sorted(unknown))}")
    said = [(answers[one.id], one.means(answers[one.id])) for one in rubric.criteria if one.required]
    if any(means == "failed" for _, means in said):
        return "fail"
    if any(answer == "unsure" for answer, _ in said):
        return "unsure"
    doubted = any(means == "abstained" for _, means in said)
    return "pass" if not doubted and any(means == "passed" for _, means in said) else "fail"


def read_labels(path: Path) -> Labels:
    """Return what a file of labels holds. What stands after the last line end was cut off by a kill, and is no line.

    Raises:
        LabelsError: it cannot be read, or a line of it is none.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LabelsError(str(path), "", f"cannot be read: {error}") from error
    lines = text.split("\n")[:-1]
    found: Labels | None = None
    for number, told in enumerate(lines, 1):
        try:
            line = _LINES.validate_json(told)
            if found is None:
                if not isinstance(line, Sheet):
                    raise ValueError("the first line is no sheet")
                if line.rubric.hash != line.rubric_hash:
                    raise ValueError("the rubric is not what its hash says")
                found = Labels(sheet=line)
            else:
                found.take(line)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise LabelsError(str(path), f"line {number}", f"{where}: {first['msg']}".lstrip(": ")) from error
        except (ValueError, JudgeInputError) as error:
            raise LabelsError(str(path), f"line {number}", str(error)) from error
    if found is None:
        raise LabelsError(str(path), "", "holds no sheet")
    return found


def as_lines(lines: Sequence[Line]) -> str:
    """Return lines as they are written."""
    return "".join(f"{json.dumps(one.model_dump(mode='json', exclude_defaults=False))}\n" for one in lines)


def _key(line: Label | Undone) -> tuple[str, str, str]:
    return line.input_hash, line.rater.kind, line.rater.name
