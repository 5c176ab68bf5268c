"""Rules over the course of a trial: loops, detours, errors and what became of them. Diagnostics, never success."""

from spanproof_evaluators.rules._rule import Rule
from spanproof_evaluators.rules.trajectories.identical_run import IdenticalRun
from spanproof_evaluators.rules.trajectories.ping_pong import PingPong
from spanproof_evaluators.rules.trajectories.recovery import RecoveryAfterError
from spanproof_evaluators.rules.trajectories.redundancy import Redundancy
from spanproof_evaluators.rules.trajectories.repeats_since_write import RepeatsSinceWrite
from spanproof_evaluators.rules.trajectories.same_error import SameError
from spanproof_evaluators.rules.trajectories.same_result import SameResult
from spanproof_evaluators.rules.trajectories.step_efficiency import StepEfficiency

__all__ = ["COURSE_RULES"]

COURSE_RULES: tuple[Rule, ...] = (
    RepeatsSinceWrite(),
    IdenticalRun(),
    SameResult(),
    PingPong(),
    SameError(),
    Redundancy(),
    StepEfficiency(),
    RecoveryAfterError(),
)
