"""Rules: one trial in, one finding out. Only the hard ones can fail a trial."""

from spanproof_evaluators.rules._rule import Rule
from spanproof_evaluators.rules.budgets import Budgets
from spanproof_evaluators.rules.checked_claims import CheckedClaims
from spanproof_evaluators.rules.duplicate_effect import DuplicateEffect
from spanproof_evaluators.rules.effect_ledger import EffectLedger
from spanproof_evaluators.rules.false_success import false_success
from spanproof_evaluators.rules.first_divergent_effect import FirstDivergentEffect
from spanproof_evaluators.rules.forbidden_tools import ForbiddenTools
from spanproof_evaluators.rules.injection import InjectionOutcome
from spanproof_evaluators.rules.protected_edits import ProtectedEdits
from spanproof_evaluators.rules.read_changed_state import ReadChangedState
from spanproof_evaluators.rules.repeats import Repeats
from spanproof_evaluators.rules.required_tools import RequiredTools
from spanproof_evaluators.rules.too_many_calls import TooManyCalls
from spanproof_evaluators.rules.tool_argument_match import ToolArgumentMatch
from spanproof_evaluators.rules.trajectories import COURSE_RULES
from spanproof_evaluators.rules.trajectory_match import TRAJECTORY_RULES
from spanproof_evaluators.rules.unknown_effect import UnknownEffect
from spanproof_evaluators.rules.unsafe_retry import UnsafeRetry

__all__ = ["RULES", "VERSION", "Rule", "false_success"]

VERSION = "7"
"""Raised when a rule comes to mean something else."""

RULES: tuple[Rule, ...] = (
    ForbiddenTools(),
    DuplicateEffect(),
    Budgets(),
    UnknownEffect(),
    UnsafeRetry(),
    ReadChangedState(),
    EffectLedger(),
    FirstDivergentEffect(),
    RequiredTools(),
    TooManyCalls(),
    Repeats(),
    *COURSE_RULES,
    *TRAJECTORY_RULES,
    ToolArgumentMatch(),
    InjectionOutcome(),
    CheckedClaims(),
    ProtectedEdits(),
)
