"""Release policies as people write them: ordered gates, what missing evidence does, and who owns them.

    id: shop
    owner: release manager
    gates:
      - {kind: limit, id: false_success, measure: false_success_rate, what: numerator, at_most: 0}
      - {kind: category, id: refusals, category: refusal, at_least: 0.9}
      - {kind: drop, id: overall, at_most: 0.05, rule: confident, on_inconclusive: inconclusive}
      - {kind: growth, id: tokens, of: tokens, at_most: 1.5, hard: false}
      - {kind: lenience, id: grounded_lenience, rubric: grounded, at_most: 0.2}
      - {kind: judge, id: grounded, rubric: grounded, at_least: 0.9}

The order of the gates is theirs in the file. An unknown key is refused.
"""

from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from spanproof_evaluators.errors import PolicyError
from spanproof_evaluators.model.canonical import digest
from spanproof_evaluators.model.documents import read_document
from spanproof_evaluators.model.written import Written

Share: TypeAlias = Annotated[Decimal, Field(ge=0, le=1, strict=False)]
Amount: TypeAlias = Annotated[Decimal, Field(ge=0, strict=False)]
Open: TypeAlias = Literal["fail", "inconclusive"]
"""What a gate says where evidence is missing. It never passes on it."""


class _Gate(Written):
    """What every gate has."""

    id: str = Field(min_length=1)
    hard: bool = True
    """A hard gate that fails decides. One that is not hard can only keep a release from passing."""

    on_unavailable: Open = "inconclusive"
    owner: str = ""
    """Who is asked; the policy's owner where nothing is said."""

    because: str = ""


class LimitGate(_Gate):
    """A measure of the variant against a limit."""

    kind: Literal["limit"]
    measure: str
    what: Literal["value", "numerator"] = "value"
    """The ratio, or the count."""

    at_least: Amount | None = None
    at_most: Amount | None = None
    on_empty: Literal["pass", "fail", "inconclusive"] = "inconclusive"
    """Where there was nothing to measure: no effect was attempted, nothing was declared."""

    needs_verdict: str | None = None
    """A second measure that must be above zero: a rate without a single verdict is no evidence."""

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if (self.at_least is None) is (self.at_most is None):
            raise ValueError("give at_least or at_most, one of them")
        return self


class CategoryGate(_Gate):
    """The solve rate of one category of tasks, such as refusals, against a floor; unavailable without such tasks."""

    kind: Literal["category"]
    category: str = Field(min_length=1)
    at_least: Share


class DropGate(_Gate):
    """The solve rate against a baseline on the same tasks."""

    kind: Literal["drop"]
    at_most: Share
    """The drop that is accepted: 0.02 is two percentage points."""

    of: Literal["all", "each_category"] = "all"
    rule: Literal["point", "confident", "e_value"] = "confident"
    """``point``: any larger drop fails, by chance too. ``confident``: passes where a larger drop is ruled out at 95 %,
    fails where a drop is shown. ``e_value``: fails at evidence of 20; may be looked at every night."""

    on_inconclusive: Literal["pass", "fail", "inconclusive"] = "inconclusive"
    """Where a larger drop is neither shown nor ruled out."""


class GrowthGate(_Gate):
    """The mean of tool calls, tokens or cost against a baseline's on the same tasks."""

    kind: Literal["growth"]
    of: Literal["tool_calls", "tokens", "cost_usd"]
    at_most: Annotated[Decimal, Field(gt=0, strict=False)]
    """1.3: at most 1.3 times the baseline."""


class _OverJudge(_Gate):
    """What gates on judges have. Without a valid calibration they say ``inconclusive``: neither pass nor fail."""

    rubric: str = Field(min_length=1)
    judge: str | None = None
    """``provider:model``, with ``@revision`` where it has one; every judge of the rubric where nothing is said."""

    @model_validator(mode="after")
    def _never_without_calibration(self) -> Self:
        if self.on_unavailable != "inconclusive":
            raise ValueError("a judge without a valid calibration is inconclusive: leave on_unavailable out")
        return self


class LenienceGate(_OverJudge):
    """How often the judge passes what people failed: the upper bound of that rate against a limit. It may be hard."""

    kind: Literal["lenience"]
    at_most: Share
    """``0.2``: fails unless the interval of the false-pass rate ends at or below one in five."""

    failing_items: int = Field(default=0, ge=0)
    """Fewer graded items that fail in truth: inconclusive."""


class JudgeGate(_OverJudge):
    """The pass rate by a judge, its errors taken out, against a floor: passes where the interval is above it."""

    kind: Literal["judge"]
    at_least: Share
    hard: bool = False
    """Never true: a judge alone passes no hard gate."""

    @model_validator(mode="after")
    def _never_hard(self) -> Self:
        if self.hard:
            raise ValueError("a judge alone never passes a hard gate: leave 'hard' out")
        return self


AnyGate: TypeAlias = Annotated[
    LimitGate | CategoryGate | DropGate | GrowthGate | LenienceGate | JudgeGate, Field(discriminator="kind")
]


class Policy(Written):
    """Ordered gates under one name."""

    id: str = Field(min_length=1)
    owner: str = Field(min_length=1)
    gates: tuple[AnyGate, ...] = Field(strict=False, min_length=1)

    @model_validator(mode="after")
    def _unique(self) -> Self:
        seen: set[str] = set()
        for gate in self.gates:
            if gate.id in seen:
                raise ValueError(f"two gates are called {gate.id!r}")
            seen.add(gate.id)
        bounded = {gate.rubric for gate in self.gates if isinstance(gate, LenienceGate)}
        for gate in self.gates:
            if isinstance(gate, JudgeGate) and gate.rubric not in bounded:
                raise ValueError(f"gate {gate.id!r} needs a gate of kind 'lenience' on rubric {gate.rubric!r}")
        if all(isinstance(gate, _OverJudge) for gate in self.gates):
            raise ValueError("every gate rests on a judge: add one on what was checked")
        return self

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical form, in hex."""
        return digest(self.model_dump(mode="python"))

    @property
    def needs_baseline(self) -> bool:
        """True where a gate compares with a baseline."""
        return any(isinstance(gate, DropGate | GrowthGate) for gate in self.gates)


def read_policy(path: Path) -> Policy:
    """Return the policy that a YAML or JSON file holds.

    Raises:
        PolicyError: the file cannot be read, or a key is unknown, missing or wrong.
    """
    return read_document(Policy, path, PolicyError)
