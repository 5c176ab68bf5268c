"""Decisions: what ordered gates say of one variant."""

from collections.abc import Sequence
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

    owner: str = ""
    """Who is asked when it does not pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRates:
    """How often a gate is wrong on a set of tasks like this one; ``None`` where nothing can be said."""

    false_alarm: float | None
    """The chance that a variant which is as good as it should be does not get through."""

    power: float | None
    """The chance that one which is five points (or percent) worse than the limit allows does not get through."""

    mde: float | None
    """The smallest shortfall that is stopped in 80 of 100 cases."""

    basis: str
    """What the figures assume."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """What one gate says, and why."""

    gate: Gate
    decision: Verdict
    measure: Measure
    limit: str
    explanation: str
    errors: ErrorRates | None = None

    def to_json(self) -> dict[str, Plain]:
        """Return the gate as the machine-readable interface spells it."""
        return {
            "id": self.gate.id,
            "order": self.gate.order,
            "hard": self.gate.hard,
            "decision": self.decision,
            "measure": self.measure.to_json(),
            "limit": self.limit,
            "explanation": self.explanation,
            "false_alarm_rate": self.errors.false_alarm if self.errors else None,
            "power": self.errors.power if self.errors else None,
            "mde": self.errors.mde if self.errors else None,
            "error_basis": self.errors.basis if self.errors else None,
            "owner": self.gate.owner or None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the gates say together: the first hard gate that fails decides, all are shown."""

    decision: Verdict
    decided_by: str | None
    """The gate that decided; ``None`` where all pass."""

    gates: tuple[GateResult, ...]

    @classmethod
    def of(cls, gates: Sequence[GateResult]) -> "Decision":
        """Return the decision: the first hard gate that fails, else what keeps it open, else it passes.

        A gate that is not hard and fails leaves the decision to a person: it is ``inconclusive``.
        """
        found = tuple(gates)
        for result in found:
            if result.gate.hard and result.decision == "fail":
                return cls(decision="fail", decided_by=result.gate.id, gates=found)
        for hard in (True, False):
            for result in found:
                if result.gate.hard is hard and result.decision != "pass":
                    return cls(decision="inconclusive", decided_by=result.gate.id, gates=found)
        return cls(decision="pass", decided_by=None, gates=found)

    def to_json(self) -> dict[str, Plain]:
        """Return the decision as the machine-readable interface spells it."""
        return {
            "decision": self.decision,
            "decided_by": self.decided_by,
            "gates": [gate.to_json() for gate in self.gates],
        }
