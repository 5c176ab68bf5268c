"""The submitted answer."""

from typing import ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from spanproof_evaluators.model.checks._base import CheckSpec
from spanproof_evaluators.model.written import Written


class NumberExpected(Written):
    """A number that the answer gives, and no other one in its place."""

    value: float = Field(allow_inf_nan=False)
    abs_tol: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    rel_tol: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    unit: str | None = None
    """Only numbers with this unit count: ``USD`` also as ``$``, ``%`` also as ``percent``."""

    near: str | None = None
    """The number that belongs to this text: the first after it, else the last before it, on the same line."""

    decimal: Literal[".", ","] = "."
    """The decimal sign; the other one groups thousands."""


class QuoteExpected(Written):
    """Passages in quotation marks, each of which the source holds word for word."""

    source: str
    """A path in the recorded files, or in the folder ``destination``."""

    destination: str | None = None
    at_least: int = Field(default=1, ge=1)
    min_length: int = Field(default=10, ge=1)
    """Shorter passages in quotation marks are words, and no quotes."""

    @field_validator("source")
    @classmethod
    def _inside(cls, source: str) -> str:
        if source.startswith("/") or ".." in source.split("/"):
            raise ValueError(f"{source!r} leaves the folder. The source is a path relative to it")
        return source


class AnswerCheck(CheckSpec):
    """The submitted answer, compared after Unicode NFC and with white space folded."""

    literal: ClassVar[frozenset[str]] = frozenset({"regex"})
    raw: ClassVar[frozenset[str]] = frozenset({"contains", "not_contains", "equals", "one_of", "number"})

    kind: Literal["answer"]
    contains: tuple[str, ...] = Field(default=(), strict=False)
    not_contains: tuple[str, ...] = Field(default=(), strict=False)
    equals: str | None = None
    """The whole answer."""

    one_of: tuple[str, ...] = Field(default=(), strict=False)
    """Texts of which one is the whole answer."""

    ignore_case: bool = False
    regex: str | None = None
    """A pattern that is found in the answer, of the ``regex`` package; it has ``regex_seconds``."""

    regex_seconds: float = Field(default=1.0, gt=0, le=60, allow_inf_nan=False)
    number: NumberExpected | None = None
    quote: QuoteExpected | None = None

    @field_validator("regex")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            import regex

            try:
                regex.compile(pattern)
            except regex.error as error:
                raise ValueError(f"no regular expression: {error}") from error
        return pattern

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.positive and not self.not_contains:
            raise ValueError("say what the answer contains or does not contain, equals, matches, or what number it has")
        return self

    @property
    def positive(self) -> bool:
        """Whether something has to be said."""
        asked = (self.equals, self.regex, self.number, self.quote)
        return bool(self.contains or self.one_of) or any(value is not None for value in asked)

    @property
    def destinations(self) -> frozenset[str]:
        """The folder of the source that is quoted, if one is named."""
        named = self.quote.destination if self.quote else None
        return frozenset({named}) if named else frozenset()
