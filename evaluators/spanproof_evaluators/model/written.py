"""Text that people write into files: suites and verifier files."""

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Scalar: TypeAlias = str | int | float | bool | None
"""What a column of a row is compared with: by JSON value, with no conversion."""


Texts: TypeAlias = Annotated[tuple[str, ...], Field(strict=False)]
"""Several texts, written as a list."""


class Written(BaseModel):
    """Text that people write: unknown keys are refused, values do not change and are not converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
