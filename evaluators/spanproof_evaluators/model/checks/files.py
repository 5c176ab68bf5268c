"""Files by pattern."""

from typing import Literal

from pydantic import Field

from spanproof_evaluators.model.checks._base import Counted


class FilesCheck(Counted):
    """Files: how many match ``glob`` and hold every text of ``contains``."""

    kind: Literal["files"]
    glob: str
    contains: tuple[str, ...] = Field(default=(), strict=False)
