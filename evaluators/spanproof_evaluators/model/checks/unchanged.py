"""What stays as it was."""

from typing import Literal, Self

from pydantic import Field, model_validator

from spanproof_evaluators.model.checks._base import CheckSpec


class UnchangedCheck(CheckSpec):
    """Recorded tables and files (by glob) that are the same before and after."""

    kind: Literal["unchanged"]
    tables: tuple[str, ...] = Field(default=(), strict=False)
    files: tuple[str, ...] = Field(default=(), strict=False)

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.tables and not self.files:
            raise ValueError("name tables or files that stay unchanged")
        return self

    @property
    def still(self) -> bool:
        """It is all that it asks for."""
        return True
