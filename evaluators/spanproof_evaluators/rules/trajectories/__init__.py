"""Rules over the course of a trial: loops, detours, errors and what became of them. Diagnostics, never success."""

from spanproof_evaluators.rules._rule import Rule
from spanproof_evaluators.rules.trajectories._calls import calls_of, changed, error_of, error_text
from spanproof_evaluators.rules.trajectories.calls_after_completion import CallsAfterCompletion, declares
from spanproof_evaluators.rules.trajectories.check_before_completion import CheckBeforeCompletion
from spanproof_evaluators.rules.trajectories.execution_errors import ExecutionErrors, classes_of
from spanproof_evaluators.rules.trajectories.identical_run import IdenticalRun
from spanproof_evaluators.rules.trajectories.monologue import Monologue
from spanproof_evaluators.rules.trajectories.ping_pong import PingPong
from spanproof_evaluators.rules.trajectories.recovery import RecoveryAfterError
from spanproof_evaluators.rules.trajectories.redundancy import Redundancy
from spanproof_evaluators.rules.trajectories.repeats_since_write import RepeatsSinceWrite
from spanproof_evaluators.rules.trajectories.same_error import SameError
from spanproof_evaluators.rules.trajectories.same_result import SameResult
from spanproof_evaluators.rules.trajectories.step_efficiency import StepEfficiency
from spanproof_evaluators.rules.trajectories.tool_call_validity import ToolCallValidity

__all__ = ["COURSE_RULES", "calls_of", "changed", "classes_of", "declares", "error_of", "error_text"]

COURSE_RULES: tuple[Rule, ...] = (
    RepeatsSinceWrite(),
    IdenticalRun(),
    SameResult(),
    PingPong(),
    SameError(),
    Monologue(),
    Redundancy(),
    StepEfficiency(),
    RecoveryAfterError(),
    ExecutionErrors(),
    ToolCallValidity(),
    CallsAfterCompletion(),
    CheckBeforeCompletion(),
)
