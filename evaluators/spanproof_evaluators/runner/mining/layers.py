"""Which of five layers a failure points to, by rule: a suggestion with its reason, for a person to confirm (R080).

- verification: a success was claimed that the checks refute, or that no check of the agent's own stood behind;
- state: an effect that nobody knows of, a retry without looking, something done twice, the same call again and again;
- context: something written on what had changed meanwhile, tools that are not there, arguments that do not fit;
- environment: errors of the system, such as setup, network, timeouts and permissions;
- specification: the agent itself said that it was not done, or the task is done before anybody begins.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.result_files.journals import Layer


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A layer, and why."""

    layer: Layer | None
    """``None``: no rule says any."""

    rule: str
    why: str


def _rule_failed(*names: str) -> Callable[[Assessment], str]:
    def asked(one: Assessment) -> str:
        found = [result for name in names if (result := one.result(name)) is not None and result.state == "fail"]
        return "; ".join(f"{result.evaluator}: {result.explanation}" for result in found)

    return asked


def _system_errors(one: Assessment) -> str:
    found = one.result("execution_errors")
    if found is not None and found.state == "fail":
        return f"execution_errors: {found.explanation}"
    return f"the run ended in {one.trial.status_reason or 'an error'}" if one.trial.status == "error" else ""


def _false_success(one: Assessment) -> str:
    return f"success was claimed, and {one.outcome.reason}" if one.false_success else ""


def _damage(one: Assessment) -> str:
    if one.outcome.effect_of_trial == "vacuous":
        return "the checks pass before anything is done: what is asked for is not what is checked"
    return ""


def _gave_up(one: Assessment) -> str:
    claim = one.trial.claim
    if one.outcome.state == "failed" and claim.state in ("failure", "partial"):
        return f"the agent itself said that it was not done ({claim.rule})"
    return ""


_RULES: Final[tuple[tuple[Layer, str, Callable[[Assessment], str]], ...]] = (
    (
        "environment",
        "infrastructure",
        lambda one: "the infrastructure broke" if one.left_out == "infrastructure" else "",
    ),
    ("state", "effects", _rule_failed("unsafe_retry", "duplicate_effect", "unknown_effect")),
    ("context", "stale_read", _rule_failed("read_changed_state")),
    ("verification", "false_success", _false_success),
    ("verification", "checked_claims", _rule_failed("checked_claims", "check_before_completion", "protected_edits")),
    ("environment", "execution_errors", _system_errors),
    ("context", "tool_calls", _rule_failed("tool_call_validity")),
    (
        "state",
        "repeats",
        _rule_failed("repeats_since_write", "same_result", "identical_run", "ping_pong", "same_error"),
    ),
    ("specification", "vacuous", _damage),
    ("specification", "gave_up", _gave_up),
)
"""In the order in which they are asked: the surest sign first."""


def suggest(one: Assessment) -> Suggestion:
    """Return the layer that a failure points to, and the rule that says so."""
    for layer, name, asked in _RULES:
        why = asked(one)
        if why:
            return Suggestion(layer=layer, rule=name, why=why)
    return Suggestion(layer=None, rule="none", why="no rule knows this failure: look at the trial")


def is_failure(one: Assessment) -> bool:
    """Return whether a trial belongs into the journal: it failed, broke off, or nobody knows what it did."""
    return (
        one.outcome.state == "failed"
        or one.solved is False
        or (one.unknown and one.outcome.state != "verified")
        or one.trial.status in ("error", "aborted")
        or one.left_out == "infrastructure"
    )
