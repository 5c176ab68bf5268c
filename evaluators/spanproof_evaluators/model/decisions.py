"""Decisions: what ordered gates say of one variant."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.measures import Measure

Verdict = Literal["pass", "fail", "inconclusive"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One condition for a release. Data, so that a policy can be read, hashed and compared."""

    id: str
    order: int
    hard: bool
    """A hard gate that fails decides. One that is not hard can only keep a release from passing."""

    measure: str
    what: Literal["value", "numerator"] = "value"
    """What of the measure is compared: the ratio or the count."""

    comparator: Literal["at_least", "at_most"]
    limit: Decimal
    on_unavailable: Literal["fail", "inconclusive"] = "inconclusive"
    """What the gate says where the measure has no value. It never says pass."""

    on_empty: Literal["pass", "fail", "inconclusive"] = "inconclusive"
    """What the gate says where there was nothing to measure."""

    needs_verdict: str | None = None
    """A second measure that must be above zero: a rate without a single verdict is no evidence."""

    because: str = ""
    """Why the gate stands where it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """What one gate says, and why."""

    gate: Gate
    decision: Verdict
    measure: Measure
    limit: str
    explanation: str

    def to_json(self) -> dict[str, Plain]:
        """Return the gate as the machine-readable interface spells it; error rates come with comparisons."""
        return {
            "id": self.gate.id,
            "order": self.gate.order,
            "hard": self.gate.hard,
            "decision": self.decision,
            "measure": self.measure.to_json(),
            "limit": self.limit,
            "explanation": self.explanation,
            "false_alarm_rate": None,
            "power": None,
            "mde": None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the gates say together: the first hard gate that fails decides, all are shown."""

    decision: Verdict
    decided_by: str | None
    """The gate that decided; ``None`` where all pass."""

    gates: tuple[GateResult, ...]

    def to_json(self) -> dict[str, Plain]:
        """Return the decision as the machine-readable interface spells it."""
        return {
            "decision": self.decision,
            "decided_by": self.decided_by,
            "gates": [gate.to_json() for gate in self.gates],
        }
