"""Rules: one trial in, one finding out. Only the hard ones can fail a trial."""

from spanproof_evaluators.rules._rule import Rule
from spanproof_evaluators.rules.budgets import Budgets
from spanproof_evaluators.rules.duplicate_effect import DuplicateEffect
from spanproof_evaluators.rules.false_success import false_success
from spanproof_evaluators.rules.forbidden_tools import ForbiddenTools
from spanproof_evaluators.rules.repeats import Repeats
from spanproof_evaluators.rules.required_tools import RequiredTools
from spanproof_evaluators.rules.unknown_effect import UnknownEffect

__all__ = ["RULES", "VERSION", "Rule", "false_success"]

VERSION = "2"
"""Raised when a rule comes to mean something else."""

RULES: tuple[Rule, ...] = (
    ForbiddenTools(),
    DuplicateEffect(),
    Budgets(),
    UnknownEffect(),
    RequiredTools(),
    Repeats(),
)
