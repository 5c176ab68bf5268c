"""A judgement: what one judge says of one input, criterion by criterion, with everything needed to doubt it.

In doubt a judge rejects (R073): a criterion that is answered ``partially`` or ``unsure`` is an abstention, which counts
as ``fail`` and is counted. No answer, or one that does not fit the schema, is ``unavailable``: neither pass nor fail.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Final, Literal, TypeVar, cast, get_args

from spanproof_evaluators.errors import JudgementError
from spanproof_evaluators.model.canonical import Plain, canonical, digest, plain
from spanproof_evaluators.model.rubrics import ANSWERS, Answer, Of, Rubric

T = TypeVar("T")

State = Literal["pass", "fail", "unavailable"]
SAME_FAMILY: Final = "same_family_allowed"
"""The flag of a verdict by a model of the agent's own family, which somebody allowed by name."""

FAMILY_UNKNOWN: Final = "family_unknown"
"""The flag of a verdict where the family of the judge or of the agent is not known: nobody can say that they differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Who judges: a model with a prompt, a rubric and settings. Anything else is another judge."""

    provider: str
    """``openai`` (any endpoint of that shape), ``anthropic``, ``google``, ``bedrock``."""

    model: str
    family: str | None
    """``claude``, ``gpt``, ``gemini``, ``qwen`` …; ``None`` where the model's name does not tell."""

    prompt_hash: str
    """SHA-256 of the instructions and of how an input is written into a request."""

    rubric: str
    rubric_hash: str
    settings: Mapping[str, Plain] = field(default_factory=dict)
    """Sampling settings: temperature, seed, max_tokens … as they are sent."""

    revision: str = ""
    """What tells two models of one name apart: weights, quantization. Said by the user; no part of the request."""

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical form, in hex. The family is no part of it: it follows from the model."""
        return digest({"judge": 1, **{name: told for name, told in self.told().items() if name != "family"}})

    @property
    def name(self) -> str:
        """``provider:model``, with ``@revision`` where there is one: what people call the judge."""
        return f"{self.provider}:{self.model}" + (f"@{self.revision}" if self.revision else "")

    @property
    def evaluator(self) -> str:
        """The name under which its verdicts are stored as results; ``version`` is the judge's hash."""
        return f"judge:{self.rubric}:{self.name}"

    def told(self) -> dict[str, Plain]:
        """Return the judge as JSON values."""
        return {
            "provider": self.provider,
            "model": self.model,
            "family": self.family,
            "prompt_hash": self.prompt_hash,
            "rubric": self.rubric,
            "rubric_hash": self.rubric_hash,
            "settings": plain(dict(self.settings)),
            "revision": self.revision,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a judge said of one criterion."""

    criterion: str
    answer: Answer
    rationale: str
    means: Of
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeUsage:
    """What one verdict took, all attempts together. ``None``: the provider did not say for at least one of them."""

    input_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def total(self) -> int | None:
        """Return both together, ``None`` where either is not known."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What one judge says of one input."""

    judge: Judge
    input_hash: str
    """Of the ``JudgeInput``: what the judge saw."""

    state: State
    reason: str | None = None
    """For ``fail``: ``criterion_failed``, ``abstained``. For ``unavailable``: ``malformed``, ``refused``, ``timeout``,
    ``rate_limited``, ``server_error`` … ``None`` for ``pass``."""

    explanation: str = ""
    criteria: tuple[Answered, ...] = ()
    """In the rubric's order; empty where the verdict is unavailable."""

    attempts: int = 1
    """Requests that were made for it; 0 where none was."""

    usage: JudgeUsage = JudgeUsage()
    cost: Decimal | None = None
    """In USD, all attempts together; ``None`` with a reason where nobody knows."""

    cost_reason: str | None = None
    served_model: str | None = None
    """The model that the answer names, which may be a dated version of the one that was asked for."""

    flags: tuple[str, ...] = ()
    """``same_family_allowed``, ``family_unknown``: shown wherever the verdict is."""

    created_at: int = 0
    """When the answer came, in Unix nanoseconds."""

    def __post_init__(self) -> None:
        if (self.state == "pass") != (self.reason is None):
            raise JudgementError("a judgement has a reason exactly when it does not pass")
        if (self.state == "unavailable") != (not self.criteria):
            raise JudgementError("a judgement answers its criteria exactly when it is available")
        if self.cost is None and not self.cost_reason:
            raise JudgementError("a judgement without a cost says why")

    @property
    def key(self) -> tuple[str, str]:
        """Judge hash and input hash: one verdict is paid once."""
        return self.judge.hash, self.input_hash

    @property
    def abstained(self) -> int:
        """How many required criteria the judge abstained on."""
        return sum(one.means == "abstained" for one in self.criteria if one.required)

    def answer(self, criterion: str) -> Answered | None:
        """Return what was said of a criterion, ``None`` where nothing was."""
        return next((one for one in self.criteria if one.criterion == criterion), None)


def decided(
    rubric: Rubric, answers: Mapping[str, tuple[Answer, str]]
) -> tuple[State, str | None, tuple[Answered, ...]]:
    """Return state, reason and criteria of a complete set of answers: criterion id to answer and rationale.

    A required criterion that failed fails it; else one that was abstained on does; else it passes. Where every required
    criterion is ``not_applicable`` nothing was found good, and it fails as an abstention.

    Raises:
        JudgementError: a criterion has no answer, or one that the rubric does not allow.
    """
    found = []
    for criterion in rubric.criteria:
        if criterion.id not in answers:
            raise JudgementError(f"criterion {criterion.id!r} has no answer")
        answer, rationale = answers[criterion.id]
        if answer not in criterion.answers:
            raise JudgementError(
                f"{answer!r} is no answer to {criterion.id!r}: allowed are {', '.join(criterion.answers)}"
            )
        found.append(
            Answered(
                criterion=criterion.id,
                answer=answer,
                rationale=rationale,
                means=criterion.means(answer),
                required=criterion.required,
            )
        )
    required = {one.means for one in found if one.required}
    if "failed" in required:
        return "fail", "criterion_failed", tuple(found)
    if "abstained" in required or "passed" not in required:
        return "fail", "abstained", tuple(found)
    return "pass", None, tuple(found)


def as_json(judgement: Judgement) -> dict[str, Plain]:
    """Return a judgement as JSON values: what journals, cassettes and results hold. Money and times are text."""
    return {
        "judge": judgement.judge.told(),
        "judge_hash": judgement.judge.hash,
        "input_hash": judgement.input_hash,
        "state": judgement.state,
        "reason": judgement.reason,
        "explanation": judgement.explanation,
        "criteria": [
            {
                "criterion": one.criterion,
                "answer": one.answer,
                "rationale": one.rationale,
                "means": one.means,
                "required": one.required,
            }
            for one in judgement.criteria
        ],
        "attempts": judgement.attempts,
        "usage": {
            "input_tokens": judgement.usage.input_tokens,
            "output_tokens": judgement.usage.output_tokens,
        },
        "cost": None if judgement.cost is None else format(judgement.cost, "f"),
        "cost_reason": judgement.cost_reason,
        "served_model": judgement.served_model,
        "flags": list(judgement.flags),
        "created_at": str(judgement.created_at),
    }


def as_line(judgement: Judgement) -> str:
    """Return a judgement as one line of JSON, without its line end."""
    return canonical(as_json(judgement))


def from_json(told: Plain) -> Judgement:
    """Return the judgement that JSON values hold.

    Raises:
        JudgementError: they hold none, or one whose hash is not the judge's.
    """
    try:
        whole = _as(dict, told)
        judge = _judge(whole["judge"])
        if whole.get("judge_hash", judge.hash) != judge.hash:
            raise JudgementError("the hash of the judge is not the judge's")
        usage, cost = _as(dict, whole["usage"]), whole["cost"]
        return Judgement(
            judge=judge,
            input_hash=_as(str, whole["input_hash"]),
            state=cast("State", _one_of(get_args(State), whole["state"])),
            reason=_text_or_none(whole["reason"]),
            explanation=str(whole["explanation"]),
            criteria=tuple(map(_answered, _as(list, whole["criteria"]))),
            attempts=_as(int, whole["attempts"]),
            usage=JudgeUsage(
                input_tokens=_count(usage["input_tokens"]),
                output_tokens=_count(usage["output_tokens"]),
            ),
            cost=None if cost is None else Decimal(_as(str, cost)),
            cost_reason=_text_or_none(whole["cost_reason"]),
            served_model=_text_or_none(whole.get("served_model")),
            flags=tuple(map(str, _as(list, whole["flags"]))),
            created_at=int(_as(str, whole["created_at"])),
        )
    except (KeyError, TypeError, ValueError, InvalidOperation) as error:
        raise JudgementError(f"no judgement: {type(error).__name__} {error}".rstrip()) from error


def from_line(line: str) -> Judgement:
    """Return the judgement of one line of JSON.

    Raises:
        JudgementError: the line is no JSON, or holds no judgement.
    """
    try:
        told = json.loads(line)
    except ValueError as error:
        raise JudgementError(f"no JSON: {error}") from error
    return from_json(told)


def _judge(told: Plain) -> Judge:
    whole = _as(dict, told)
    return Judge(
        provider=_as(str, whole["provider"]),
        model=_as(str, whole["model"]),
        family=_text_or_none(whole["family"]),
        prompt_hash=_as(str, whole["prompt_hash"]),
        rubric=_as(str, whole["rubric"]),
        rubric_hash=_as(str, whole["rubric_hash"]),
        settings=_as(dict, whole["settings"]),
        revision=_as(str, whole["revision"]),
    )


def _answered(told: Plain) -> Answered:
    whole = _as(dict, told)
    return Answered(
        criterion=_as(str, whole["criterion"]),
        answer=cast("Answer", _one_of(ANSWERS, whole["answer"])),
        rationale=_as(str, whole["rationale"]),
        means=cast("Of", _one_of(get_args(Of), whole["means"])),
        required=_as(bool, whole["required"]),
    )


def _as(kind: type[T], value: Plain) -> T:
    """Return a value that is of a kind.

    Raises:
        TypeError: it is of another.
    """
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value


def _one_of(words: Sequence[str], value: Plain) -> str:
    if value not in words:
        raise ValueError(f"{value!r} is none of {', '.join(words)}")
    return str(value)


def _text_or_none(value: Plain) -> str | None:
    return None if value is None else _as(str, value)


def _count(value: Plain) -> int | None:
    return None if value is None else _as(int, value)
