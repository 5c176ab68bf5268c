"""What every check says of itself, and counts of what is expected."""

from typing import Self

from pydantic import Field, model_validator

from spanproof_evaluators.model.written import Written


class CheckSpec(Written):
    """One predicate over the state after, as people write it. Its ``kind`` says which."""

    kind: str

    @property
    def positive(self) -> bool:
        """Whether it asks for something to be there, so that doing nothing does not pass it."""
        return False

    @property
    def still(self) -> bool:
        """Whether it asks for something to stay as it was."""
        return False


class Counted(CheckSpec):
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

    @property
    def positive(self) -> bool:
        """Whether at least one has to be there."""
        return self.expected[0] > 0
