"""Calibrations: how often a judge errs, measured on items whose truth others know.

A record is bound to one judge (by hash: model, prompt, rubric, settings), and to the population that its items were
drawn from. Whether it is valid follows from what it counts; a record that says otherwise is refused.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import Field, JsonValue, model_validator

from spanproof_evaluators.errors import CalibrationError
from spanproof_evaluators.model.canonical import Plain, digest
from spanproof_evaluators.model.documents import read_document
from spanproof_evaluators.model.labels import SHORT, Population, Rater, RaterKind, Sampling
from spanproof_evaluators.model.written import Texts, Written

LEAST: Final = 10
"""Items that failed, and items that passed, below which nothing is said of a judge."""

MOST_WITHOUT: Final = 0.1
"""The share of graded items without a verdict up to which the others are taken for all."""

MOST_OPEN: Final = 0.2
"""The share of items whose truth stayed open (skipped, unsure, raters differ) up to which the same holds."""

FAILS_ON_PURPOSE: Final = ("blank", "nonsense")
"""Bias tests on which a judge may not pass a single answer."""

Interval: TypeAlias = Annotated[tuple[float, float], Field(strict=False)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]


class Rate(Written):
    """A share with its counts and interval."""

    numerator: int = Field(ge=0)
    denominator: int = Field(ge=0)
    value: Share | None
    interval: Interval | None
    method: str

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        of = self.denominator
        if self.numerator > of or (self.value is None) is not (of == 0):
            raise ValueError(f"{self.value} is not {self.numerator} of {of}")
        if self.value is not None and abs(self.value - self.numerator / of) > 1e-9:
            raise ValueError(f"{self.value} is not {self.numerator} of {of}")
        return self


class Counts(Written):
    """The judge's words against the truth."""

    passed_right: int = Field(ge=0)
    passed_wrong: int = Field(ge=0)
    """The truth: fail; the judge: pass. The costly direction."""

    failed_right: int = Field(ge=0)
    failed_wrong: int = Field(ge=0)

    @property
    def failing(self) -> int:
        """Items that fail in truth."""
        return self.passed_wrong + self.failed_right

    @property
    def passing(self) -> int:
        """Items that pass in truth."""
        return self.passed_right + self.failed_wrong

    @property
    def items(self) -> int:
        """All of them."""
        return self.failing + self.passing


class Agreement(Written):
    """How far two or more say the same; ``null`` where a coefficient is not defined."""

    items: int
    """Items that at least two spoke of."""

    agreement: float | None
    kappa: float | None = None
    """Cohen's, of two."""

    kappa_interval: Interval | None = None
    ac1: float | None = None
    alpha: float | None = None


class Direction(Written):
    """To which side the judge errs."""

    lenient: int
    strict: int
    share: Share | None
    """Of the disagreements, those on the lenient side."""

    interval: Interval | None
    two_sided: Share
    one_sided: Share
    shown: Literal["lenient", "strict", "none"]
    """``none``: the sign test does not show a side at 5 %."""


class Needed(Written):
    """How many failing items an interval of ten points to each side takes."""

    have: int
    at_one_in_five: int
    """If one failing item in five passes."""

    at_measured: int | None
    """At the rate that was measured."""


class ByCriterion(Written):
    """The judge's answers to one criterion against the raters'; abstentions count as failed on both sides."""

    criterion: str
    counts: Counts
    false_pass: Rate
    false_fail: Rate


class RaterCount(Written):
    """What one rater gave."""

    rater: Rater
    passed: int
    failed: int
    unsure: int
    skipped: int


class Raters(Written):
    """Whose labels are the truth, and how far they agree."""

    truth_by: RaterKind
    each: tuple[RaterCount, ...] = Field(strict=False)
    together: Agreement | None
    """Of the raters of that kind; ``null`` where there is one."""

    differ: Texts
    """Inputs on which they differ: nobody wins by vote, they are left out."""


class Bias(Written):
    """One test of what should not matter to a judge, or should."""

    test: str
    tried: int
    """Items, or pairs of answers."""

    held: int
    """Of them, how many came out as they should."""

    unavailable: int = 0
    value: float | None = None
    """What the test measures: a share, a correlation, a difference of rates."""

    interval: Interval | None = None
    p: Share | None = None
    reason: str | None = None
    """Why there is no value."""

    about: str = ""


class Graded(Written):
    """One item with its truth and what the judge said; no text of it."""

    input_hash: str
    truth: bool
    judge: bool | None
    """``null``: no verdict."""

    abstained: bool = False


class Calibration(Written):
    """What is known of one judge on one population."""

    version: Literal[1] = 1
    judge_hash: str
    judge: dict[str, JsonValue]
    """Provider, model, settings … as verdicts hold it."""

    evaluator: str
    rubric: str
    rubric_hash: str
    served_models: Texts
    """The models that the answers named."""

    population: Population
    sampling: Sampling
    labels_hash: str
    raters: Raters
    open: dict[str, int]
    """Items whose truth is not known, by reason: ``skipped``, ``unsure``, ``raters_differ``, ``unlabeled``."""

    items: tuple[Graded, ...] = Field(strict=False)
    counts: Counts
    abstained: int
    """Verdicts that failed because the judge was in doubt."""

    without_verdict: int
    agreement: Agreement
    false_pass: Rate
    """Of what fails in truth, the share that the judge passed."""

    false_fail: Rate
    direction: Direction
    needed: Needed
    by_criterion: tuple[ByCriterion, ...] = Field(strict=False)
    bias: tuple[Bias, ...] = Field(default=(), strict=False)
    created_at: str
    expires_at: str
    """Unix nanoseconds: verdicts that were given later are not covered."""

    valid: bool
    reasons: Texts

    @model_validator(mode="after")
    def _follows(self) -> Self:
        named = {name: value for name, value in self.judge.items() if name != "family"}
        if digest({"judge": 1, **named}) != self.judge_hash or self.judge.get("rubric_hash") != self.rubric_hash:
            raise ValueError("judge_hash or rubric_hash is not the judge's")
        seen = [one for one in self.items if one.judge is not None]
        told = (
            sum(one.truth and one.judge is True for one in seen),
            sum(not one.truth and one.judge is True for one in seen),
            sum(not one.truth and one.judge is False for one in seen),
            sum(one.truth and one.judge is False for one in seen),
        )
        counts = self.counts
        if told != (counts.passed_right, counts.passed_wrong, counts.failed_right, counts.failed_wrong):
            raise ValueError("the counts are not those of the items")
        rates = (
            (self.false_pass, counts.passed_wrong, counts.failing),
            (self.false_fail, counts.failed_wrong, counts.passing),
        )
        if any((rate.numerator, rate.denominator) != (part, of) for rate, part, of in rates):
            raise ValueError("a rate is not that of the counts")
        if self.without_verdict != len(self.items) - len(seen):
            raise ValueError("without_verdict is not the number of items without a verdict")
        if list(self.reasons) != why_invalid(self) or self.valid is bool(self.reasons):
            raise ValueError("valid and reasons do not follow from what was counted")
        return self

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical form, in hex."""
        return digest(self.model_dump(mode="python"))

    def covers(self, input_hash: str) -> bool:
        """Return whether an input is of the population that the items were drawn from."""
        return input_hash[:SHORT] in self._inputs

    @cached_property
    def _inputs(self) -> frozenset[str]:
        return frozenset(self.population.inputs)


def why_invalid(found: Calibration) -> list[str]:
    """Return why nothing may rest on a calibration; empty where it is valid."""
    counts, graded = found.counts, len(found.items)
    reasons = []
    if found.raters.truth_by != "human":
        reasons.append("no_human_labels")
    if counts.failing < LEAST:
        reasons.append("too_few_failing_items")
    if counts.passing < LEAST:
        reasons.append("too_few_passing_items")
    lower = found.agreement.kappa_interval[0] if found.agreement.kappa_interval else None
    right = counts.failed_right * counts.passing + counts.passed_right * counts.failing
    if lower is None or lower <= 0 or right <= counts.failing * counts.passing:
        reasons.append("not_above_chance")
    if found.sampling.method == "given":
        reasons.append("nonrandom_sample")
    if found.without_verdict > MOST_WITHOUT * graded:
        reasons.append("too_few_verdicts")
    left = sum(number for why, number in found.open.items() if why != "unlabeled")
    if left > MOST_OPEN * (graded + left):
        reasons.append("too_many_open")
    together = found.raters.together
    if together is not None and together.items >= LEAST and (together.alpha is None or together.alpha <= 0):
        reasons.append("raters_at_chance")
    reasons += [f"{one.test}_passed" for one in found.bias if one.test in FAILS_ON_PURPOSE and one.held < one.tried]
    return reasons


def read_calibrations(path: Path) -> tuple[Calibration, ...]:
    """Return the records of a file, or of every ``.json`` file of a folder; nothing where there is neither.

    Raises:
        CalibrationError: a file cannot be read, or its record contradicts itself.
    """
    if path.is_dir():
        return tuple(read_document(Calibration, one, CalibrationError) for one in sorted(path.glob("*.json")))
    return (read_document(Calibration, path, CalibrationError),) if path.is_file() else ()


def newest(found: Sequence[Calibration], judge_hash: str) -> Calibration | None:
    """Return the newest calibration of a judge, a valid one before any other; ``None`` without one."""
    mine = [one for one in found if one.judge_hash == judge_hash]
    return max(mine, key=lambda one: (one.valid, int(one.created_at)), default=None)


def schema() -> dict[str, Plain]:
    """Return the JSON Schema of calibration records."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Calibration.model_json_schema()}
