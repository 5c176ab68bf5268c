"""Files by pattern: recorded ones, or those of a folder."""

from typing import ClassVar, Literal, Self

from pydantic import Field, JsonValue, model_validator

from spanproof_evaluators.model.checks._base import Counted

_SHA256 = r"^[0-9a-f]{64}$"


class FilesCheck(Counted):
    """Files: how many match ``glob`` and are as they should be; or that nothing but ``changed_within`` changed.

    Without a destination, the files of the recorded end state are meant.
    """

    literal: ClassVar[frozenset[str]] = frozenset({"json_schema"})
    raw: ClassVar[frozenset[str]] = frozenset({"contains", "not_contains", "equals"})

    kind: Literal["files"]
    destination: str | None = None
    """A folder, by its name."""

    glob: str | None = None
    contains: tuple[str, ...] = Field(default=(), strict=False)
    not_contains: tuple[str, ...] = Field(default=(), strict=False)
    equals: str | None = None
    """The whole text, as UTF-8."""

    json_schema: dict[str, JsonValue] | None = None
    """JSON Schema that the file's JSON fulfils; draft 2020-12 where ``$schema`` names no other."""

    sha256: str | None = Field(default=None, pattern=_SHA256)
    min_bytes: int | None = Field(default=None, ge=0)
    max_bytes: int | None = Field(default=None, ge=0)
    changed_within: tuple[str, ...] | None = Field(default=None, strict=False)
    """Patterns: every file that fits none of them is the same before and after."""

    @model_validator(mode="after")
    def _one_question(self) -> Self:
        if (self.glob is None) == (self.changed_within is None):
            raise ValueError("give glob, or changed_within, and not both")
        if self.changed_within is not None and (self.counts or self.conditions):
            raise ValueError("changed_within stands alone: what files hold is a check of its own, with glob")
        for pattern in (self.glob or "", *(self.changed_within or ())):
            if pattern.startswith("/") or ".." in pattern.split("/"):
                raise ValueError(f"{pattern!r} leaves the folder. Patterns are relative to it")
        return self

    @property
    def conditions(self) -> bool:
        """Whether something is asked of what the files hold."""
        return bool(self.contains or self.not_contains) or any(
            value is not None for value in (self.equals, self.json_schema, self.sha256, self.min_bytes, self.max_bytes)
        )

    @property
    def positive(self) -> bool:
        """Whether a file has to be there."""
        return self.glob is not None and self.expected[0] > 0

    @property
    def still(self) -> bool:
        """Whether no file at all may change."""
        return self.changed_within == ()

    @property
    def destinations(self) -> frozenset[str]:
        """The folder, if one is named."""
        return frozenset({self.destination}) if self.destination else frozenset()
