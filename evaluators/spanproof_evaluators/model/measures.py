"""A measure: a number with everything that is needed to doubt it. There is no field for a composite."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Final, Literal, NoReturn, TypeAlias, get_args

from spanproof_evaluators.errors import MeasureError
from spanproof_evaluators.model.canonical import Plain

Number: TypeAlias = int | float | Decimal
Unit = Literal["trial", "task", "effect", "window", "step", "usd", "token", "second", "call", "file", "row", "change"]
"""What is counted; of an amount, what ``per`` tells so much of."""

Figure = Literal[
    "p50",
    "p90",
    "max",
    "one_sided_lower_95",
    "restricted_mean",
    "horizon",
    "useful_safe",
    "useful_unsafe",
    "not_useful_safe",
    "not_useful_unsafe",
]
"""What else the units of one measure say of the same thing. A composite has no name here."""

_FIGURES: Final = frozenset(get_args(Figure))

CENT = Decimal("0.01")
SMALL = Decimal("0.10")


def money(amount: Decimal) -> str:
    """Return dollars as text, half up to cents; below ten cents with four significant digits."""
    if amount == 0 or abs(amount) >= SMALL:
        return format(amount.quantize(CENT, rounding=ROUND_HALF_UP), "f")
    step = Decimal(1).scaleb(amount.adjusted() - 3)
    short = format(amount.quantize(step, rounding=ROUND_HALF_UP), "f").rstrip("0")
    return short if len(short) >= len("0.00") else short.ljust(len("0.00"), "0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A ratio with its counts. ``value`` is ``None`` where nothing can be said, and then ``reason`` says why.

    ``excluded`` counts what left the denominator, by reason; ``unavailable`` counts what has no verdict. Money is
    ``Decimal``: exact in ``value`` and ``numerator``, rounded half up only where it is shown.
    """

    value: float | Decimal | None
    unit: Unit
    numerator: Number | None
    denominator: int | None
    excluded: Mapping[str, int] = field(default_factory=dict)
    unavailable: int = 0
    bounds: tuple[Number | None, Number | None] | None = None
    """Worst and best case over what is unavailable; an upper end of ``None`` is open."""

    interval: tuple[float, float] | None = None
    interval_method: str | None = None
    n_units: int
    n_clusters: int
    evidence_ids: tuple[str, ...] = ()
    """Trials or spans that the numerator counts."""

    reason: str | None = None
    k: int | None = None
    note: str | None = None
    """What is kept beside the number, in words: a grader's revision, a detector's error."""

    per: str | None = None
    """What the denominator counts, where that is not the unit: ``trial`` for tokens a trial."""

    parts: Mapping[str, int] = field(default_factory=dict)
    """The numerator by reason: each unit under one."""

    figures: Mapping[Figure, float] = field(default_factory=dict)
    """What else the same units say, by name: ``p50``, ``p90``, ``max`` of an amount; the cells of a joint table."""

    def __post_init__(self) -> None:
        if unknown := self.figures.keys() - _FIGURES:
            raise MeasureError(f"a measure has no figure called {', '.join(sorted(unknown))}")
        if self.parts and sum(self.parts.values()) != self.numerator:
            raise MeasureError(f"{dict(self.parts)} does not add up to {self.numerator}")
        for name, ends in (("bounds", self.bounds), ("interval", self.interval)):
            if ends and None not in ends and not ends[0] <= ends[1]:  # type: ignore[operator]
                raise MeasureError(f"{name} {ends} do not run from the lower to the upper end")
        if self.value is None:
            if not self.reason:
                raise MeasureError("a measure without a value needs a reason")
            return
        if self.numerator is None or not self.denominator:
            raise MeasureError("a value without its numerator and denominator is not a measure")
        if not math.isfinite(self.value):
            raise MeasureError(f"{self.value} is no number that a measure can have")
        if abs(float(self.numerator) / self.denominator - float(self.value)) > 1e-9 * max(1.0, abs(float(self.value))):
            raise MeasureError(f"{self.value} is not {self.numerator} of {self.denominator}")

    @property
    def empty(self) -> bool:
        """True when there was nothing to count: no unit in the denominator and none unavailable."""
        return not self.denominator and not self.unavailable

    def _refuse(self, *_: object) -> NoReturn:
        raise MeasureError(
            "a measure is not a number: take its value, numerator or denominator by name, and mind what is unavailable"
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __float__ = __int__ = __bool__ = __round__ = __neg__ = __abs__ = _refuse

    def to_json(self) -> dict[str, Plain]:
        """Return the shape MEASURE of the machine-readable interface; money as decimal text."""
        return {
            "value": _number(self.value, self.unit),
            "k": self.k,
            "unit": self.unit,
            "numerator": _exact(self.numerator),
            "denominator": self.denominator,
            "excluded": dict(self.excluded),
            "unavailable": self.unavailable,
            "bounds": [_number(end, self.unit) for end in self.bounds] if self.bounds else None,
            "interval": list(self.interval) if self.interval else None,
            "interval_method": self.interval_method,
            "n_units": self.n_units,
            "n_clusters": self.n_clusters,
            "evidence_ids": list(self.evidence_ids),
            "reason": self.reason,
            "note": self.note,
            "per": self.per,
            "parts": dict(self.parts),
            "figures": {str(name): figure for name, figure in self.figures.items()},
        }


def _number(value: Number | None, unit: Unit) -> str | int | float | None:
    """Return a number as JSON: money rounded for reading, a ratio as it is."""
    if value is None:
        return None
    if unit == "usd":
        return money(Decimal(value))
    return float(value)


def _exact(value: Number | None) -> str | int | float | None:
    """Return a number as JSON without loss: a decimal as text."""
    return format(value, "f") if isinstance(value, Decimal) else value
