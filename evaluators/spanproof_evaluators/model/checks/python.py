"""A predicate of one's own, in Python."""

from typing import ClassVar, Literal, Self

from pydantic import Field, JsonValue, model_validator

from spanproof_evaluators.model.checks._base import CheckSpec


class PythonCheck(CheckSpec):
    """A function that is given the state before and the state after, in a process of its own.

    It returns a bool, a result ``{passed, score, details}``, or a list of checks. An AssertionError is a failure.
    """

    literal: ClassVar[frozenset[str]] = frozenset({"function"})
    raw: ClassVar[frozenset[str]] = frozenset({"arguments"})

    kind: Literal["python"]
    function: str = Field(pattern=r"^[^:]+:[A-Za-z_][A-Za-z0-9_.]*$")
    """``module:function`` or ``path/to/file.py:function``, the path relative to the file that this stands in."""

    arguments: dict[str, JsonValue] = Field(default={})
    """Given to the function by keyword."""

    uses: tuple[str, ...] = Field(default=(), strict=False)
    """The destinations that the function is given."""

    given: Literal["states", "folder"] = "states"
    """``folder``: the function is called with the path of the one destination that it uses, and with no states."""

    env: dict[str, str] = Field(default={})
    """Variables of its environment; ``${NAME}`` is filled from ours when it runs."""

    timeout: float = Field(default=30.0, gt=0, le=3600, allow_inf_nan=False)
    max_output: int = Field(default=1_000_000, ge=1)
    asks: Literal["something", "anything"] = "anything"
    """``something``: it asks for something to be there, so that doing nothing fails it."""

    @model_validator(mode="after")
    def _one_folder(self) -> Self:
        if self.given == "folder" and len(self.uses) != 1:
            raise ValueError("a function that is given a folder uses one destination: name it in uses")
        return self

    @property
    def positive(self) -> bool:
        """Whether its author says so."""
        return self.asks == "something"

    @property
    def destinations(self) -> frozenset[str]:
        """Those that it uses."""
        return frozenset(self.uses)
