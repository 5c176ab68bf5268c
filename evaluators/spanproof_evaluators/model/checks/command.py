"""A command whose exit code decides."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from spanproof_evaluators.model.checks._base import CheckSpec
from spanproof_evaluators.model.written import Texts


class CommandCheck(CheckSpec):
    """A command that runs in a copy of a folder; its exit code decides."""

    literal: ClassVar[frozenset[str]] = frozenset({"env"})

    kind: Literal["command"]
    destination: str
    """A folder or git repository, by its name."""

    run: str | Texts
    """A list is run as it is; a text is given to ``sh -c``."""

    folder: str = "."
    """Where in the copy it runs."""

    exit_codes: tuple[int, ...] = Field(default=(0,), strict=False)
    """Codes that pass."""

    failed_codes: tuple[int, ...] | None = Field(default=None, strict=False)
    """Codes that fail; any other one says that it could not run. ``None``: every code but 126, 127 and 129 to 159."""

    env: dict[str, str] = Field(default={})
    """Variables of its environment; ``${NAME}`` is filled from ours when it runs."""

    pass_env: tuple[str, ...] = Field(default=(), strict=False)
    """Names of our variables that it is given as they are."""

    timeout: float = Field(default=120.0, gt=0, le=86_400, allow_inf_nan=False)
    max_output: int = Field(default=4_000_000, ge=1)
    max_copy_bytes: int = Field(default=2_000_000_000, ge=0)
    asks: Literal["something", "anything"] = "anything"
    """``something``: it asks for something to be there, so that doing nothing fails it."""

    @model_validator(mode="after")
    def _runnable(self) -> Self:
        if not self.run or (isinstance(self.run, tuple) and not self.run[0]):
            raise ValueError("run is empty")
        if not self.exit_codes:
            raise ValueError("name an exit code that passes")
        if both := sorted(set(self.exit_codes) & set(self.failed_codes or ())):
            raise ValueError(f"exit code {both[0]} cannot both pass and fail")
        if self.folder.startswith("/") or ".." in self.folder.split("/"):
            raise ValueError(f"{self.folder!r} leaves the copy")
        return self

    @property
    def positive(self) -> bool:
        """Whether its author says so."""
        return self.asks == "something"

    @property
    def destinations(self) -> frozenset[str]:
        """The folder."""
        return frozenset({self.destination})
