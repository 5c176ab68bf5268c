"""Checks as people write them, one file a kind."""

from spanproof_evaluators.model.checks._any import BUILT_IN, OTHER, AnyCheck, CheckKind, kinds
from spanproof_evaluators.model.checks._base import CheckSpec, Counted, Counts
from spanproof_evaluators.model.checks.answer import AnswerCheck, NumberExpected, QuoteExpected
from spanproof_evaluators.model.checks.command import CommandCheck
from spanproof_evaluators.model.checks.files import FilesCheck
from spanproof_evaluators.model.checks.git import GitCheck
from spanproof_evaluators.model.checks.http import HttpCheck, JsonExpected
from spanproof_evaluators.model.checks.python import PythonCheck
from spanproof_evaluators.model.checks.rows import RowsCheck
from spanproof_evaluators.model.checks.sql import SqlCheck
from spanproof_evaluators.model.checks.unchanged import UnchangedCheck

__all__ = [
    "BUILT_IN",
    "OTHER",
    "AnswerCheck",
    "AnyCheck",
    "CheckKind",
    "CheckSpec",
    "CommandCheck",
    "Counted",
    "Counts",
    "FilesCheck",
    "GitCheck",
    "HttpCheck",
    "JsonExpected",
    "NumberExpected",
    "PythonCheck",
    "QuoteExpected",
    "RowsCheck",
    "SqlCheck",
    "UnchangedCheck",
    "kinds",
]
