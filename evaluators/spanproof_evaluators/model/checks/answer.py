"""The submitted answer."""

from typing import Literal, Self

from pydantic import Field, model_validator

from spanproof_evaluators.model.checks._base import CheckSpec


class AnswerCheck(CheckSpec):
    """The submitted answer, compared after Unicode NFC and with white space folded."""

    kind: Literal["answer"]
    contains: tuple[str, ...] = Field(default=(), strict=False)
    not_contains: tuple[str, ...] = Field(default=(), strict=False)

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.contains and not self.not_contains:
            raise ValueError("say what the answer contains or does not contain")
        return self

    @property
    def positive(self) -> bool:
        """Whether something has to be said."""
        return bool(self.contains)
