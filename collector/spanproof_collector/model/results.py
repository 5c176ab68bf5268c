"""What an evaluator said of a trial, as it is kept."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRow:
    """One evaluator's word on one trial; a later word of the same evaluator replaces it.

    ``details`` is JSON, or ``""`` where there is none. ``score`` is ``None`` where the evaluator gives no number.
    ``evaluated_at`` is in Unix nanoseconds.
    """

    project: str = "default"
    trial_id: str
    evaluator: str
    version: str = ""
    kind: str
    state: str
    score: float | None = None
    label: str = ""
    reason: str = ""
    explanation: str = ""
    span_ids: tuple[str, ...] = ()
    details: str = ""
    evaluated_at: int
