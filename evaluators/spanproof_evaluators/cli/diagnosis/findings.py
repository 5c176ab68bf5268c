"""What one step found."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "failed", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A step, how it went, and what to do where it failed."""

    step: str
    state: State
    explanation: str
    advice: str = ""


class TroubleError(Exception):
    """A step cannot go on. Never leaves the diagnosis."""

    def __init__(self, explanation: str, advice: str) -> None:
        super().__init__(explanation)
        self.explanation = explanation
        self.advice = advice

    def finding(self, step: str) -> Finding:
        """Return this as what a step found."""
        return Finding(step=step, state="failed", explanation=self.explanation, advice=self.advice)
