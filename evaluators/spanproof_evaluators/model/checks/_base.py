"""What every check says of itself, and counts of what is expected."""

from typing import ClassVar, Self

from pydantic import Field, model_validator

from spanproof_evaluators.model.canonical import digest
from spanproof_evaluators.model.written import Written


class CheckSpec(Written):
    """One predicate over the state after, as people write it. Its ``kind`` says which.

    A kind of one's own is a subclass with ``kind: Literal["..."]`` and fields of its own.
    """

    literal: ClassVar[frozenset[str]] = frozenset()
    """Fields in which ``{...}`` is no placeholder: programs and patterns."""

    raw: ClassVar[frozenset[str]] = frozenset()
    """Fields in which a placeholder may stand for any text, since the text is only compared, or bound as a value."""

    quoted: ClassVar[frozenset[str]] = frozenset()
    """Fields in which a placeholder stands for a text as it is quoted in an address."""

    kind: str
    weight: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """What it counts in the score; 1 where only others have a weight."""

    required: bool = True
    """A required check that failed fails the trial, whatever the score."""

    @property
    def positive(self) -> bool:
        """Whether it asks for something to be there, so that doing nothing does not pass it."""
        return False

    @property
    def still(self) -> bool:
        """Whether it asks for something to stay as it was."""
        return False

    @property
    def destinations(self) -> frozenset[str]:
        """The names of the destinations at which it looks."""
        return frozenset()

    @property
    def definition(self) -> str:
        """SHA-256 of what is asked, in hex: defaults that are spelled out do not matter."""
        return digest(self.model_dump(mode="python", exclude_defaults=True) | {"kind": self.kind})


class Counts(Written):
    """How many are expected; at least one where nothing is said."""

    exactly: int | None = Field(default=None, ge=0)
    at_least: int | None = Field(default=None, ge=0)
    at_most: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.exactly is not None and (self.at_least is not None or self.at_most is not None):
            raise ValueError("give exactly, or at_least and at_most, not both")
        return self

    @property
    def counts(self) -> bool:
        """Whether a number was given."""
        return self.exactly is not None or self.at_least is not None or self.at_most is not None

    @property
    def expected(self) -> tuple[int, int | None]:
        """The fewest and the most that pass; ``None`` is no upper limit."""
        if self.exactly is not None:
            return self.exactly, self.exactly
        if self.at_least is None and self.at_most is None:
            return 1, None
        return self.at_least or 0, self.at_most

    @property
    def described(self) -> str:
        """The expectation in words."""
        low, high = self.expected
        if low == high:
            return f"exactly {low}"
        if high is None:
            return f"at least {low}"
        return f"{low} to {high}" if low else f"at most {high}"

    def judged(self, sure: int, maybe: int = 0) -> bool | None:
        """Return whether so many pass; ``maybe`` more could not be looked at, and ``None`` is: it depends on them."""
        low, high = self.expected
        if sure + maybe < low or (high is not None and sure > high):
            return False
        return True if sure >= low and (high is None or sure + maybe <= high) else None


class Counted(Counts, CheckSpec):
    """A check of how many there are."""

    @property
    def positive(self) -> bool:
        """Whether at least one has to be there."""
        return self.expected[0] > 0
