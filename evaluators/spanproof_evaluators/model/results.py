"""A result: what one evaluator says of one trial."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from spanproof_evaluators.errors import EvaluatorError
from spanproof_evaluators.model.canonical import Plain

Kind = Literal["rule", "verifier", "judge"]
State = Literal["pass", "fail", "unavailable", "verified", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one evaluator says of one trial. ``unavailable`` is no verdict, and always carries a reason."""

    evaluator: str
    version: str = "1"
    kind: Kind = "rule"
    state: State
    score: float | None = None
    """``None`` where the evaluator counts nothing."""

    label: str | None = None
    reason: str | None = None
    """A word for machines: ``not_captured``, ``no_verifier``, ``receipt_missing``."""

    explanation: str = ""
    span_ids: tuple[str, ...] = ()
    """The spans it rests on."""

    details: Mapping[str, Plain] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.state == "unavailable" and not self.reason:
            raise EvaluatorError(f"{self.evaluator} says unavailable without a reason")

    @classmethod
    def unavailable(
        cls,
        evaluator: str,
        *,
        reason: str,
        explanation: str,
        version: str = "1",
        kind: Kind = "rule",
        label: str | None = None,
        span_ids: tuple[str, ...] = (),
    ) -> "Result":
        """Return a result that says: no verdict is possible, and why."""
        return cls(
            evaluator=evaluator,
            version=version,
            kind=kind,
            state="unavailable",
            label=label,
            reason=reason,
            explanation=explanation,
            span_ids=span_ids,
        )
