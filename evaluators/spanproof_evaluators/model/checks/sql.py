"""What a query on a database returns."""

import re
from typing import ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from spanproof_evaluators.model.checks._base import Counted
from spanproof_evaluators.model.written import Scalar

_COMMENTS = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)+", re.DOTALL)
_READING = ("select", "with", "values", "table", "show", "explain", "describe")


class SqlCheck(Counted):
    """A reading query, and what it returns: a number of rows, these rows, or one value."""

    literal: ClassVar[frozenset[str]] = frozenset({"query"})
    raw: ClassVar[frozenset[str]] = frozenset({"params", "rows", "scalar"})

    kind: Literal["sql"]
    destination: str
    query: str
    """One statement that reads; values are ``:name``, from ``params``."""

    params: dict[str, Scalar] = Field(default={})
    rows: tuple[dict[str, Scalar], ...] | None = Field(default=None, strict=False)
    """Every row, by the columns that are named here; in any order, unless ``ordered``."""

    ordered: bool = False
    scalar: str | int | float | bool | None = None
    """The one value of the one row. ``null`` is asked for with ``rows``."""

    tolerance: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """How far numbers may be off."""

    max_rows: int = Field(default=1000, ge=1)
    timeout: float = Field(default=30.0, gt=0, le=3600, allow_inf_nan=False)

    @field_validator("query")
    @classmethod
    def _reads(cls, query: str) -> str:
        bare = _COMMENTS.sub(" ", query).strip()
        if not bare.lower().startswith(_READING):
            raise ValueError(f"the query must read: begin it with one of {', '.join(_READING)}")
        return query

    @model_validator(mode="after")
    def _one_expectation(self) -> Self:
        if sum((self.rows is not None, self.scalar is not None, self.counts)) > 1:
            raise ValueError("give rows, scalar, or a number of rows, and only one of them")
        return self

    @property
    def positive(self) -> bool:
        """Whether something has to be there."""
        if self.rows is not None:
            return bool(self.rows)
        return self.scalar is not None or self.expected[0] > 0

    @property
    def destinations(self) -> frozenset[str]:
        """The database."""
        return frozenset({self.destination})
