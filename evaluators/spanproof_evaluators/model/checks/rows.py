"""Rows of a recorded table."""

from typing import ClassVar, Literal

from pydantic import Field

from spanproof_evaluators.model.checks._base import Counted
from spanproof_evaluators.model.written import Scalar


class RowsCheck(Counted):
    """Rows of a table: how many match ``where``, and what each of them holds in ``values``."""

    raw: ClassVar[frozenset[str]] = frozenset({"where", "values"})

    kind: Literal["rows"]
    table: str
    where: dict[str, Scalar] = Field(default={})
    values: dict[str, Scalar] = Field(default={})
