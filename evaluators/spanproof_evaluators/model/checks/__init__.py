"""Checks as people write them, one file a kind."""

from typing import Annotated, TypeAlias

from pydantic import Field

from spanproof_evaluators.model.checks._base import CheckSpec, Counted
from spanproof_evaluators.model.checks.answer import AnswerCheck
from spanproof_evaluators.model.checks.files import FilesCheck
from spanproof_evaluators.model.checks.rows import RowsCheck
from spanproof_evaluators.model.checks.unchanged import UnchangedCheck

__all__ = ["AnswerCheck", "AnyCheck", "CheckSpec", "Counted", "FilesCheck", "RowsCheck", "UnchangedCheck"]

AnyCheck: TypeAlias = Annotated[RowsCheck | FilesCheck | UnchangedCheck | AnswerCheck, Field(discriminator="kind")]
