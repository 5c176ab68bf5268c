"""Measures inside of the engine: the counts that the measures in Python rest on, without a trial leaving the store.

Intervals and pass^k are not among them: they need every task's trials side by side.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Final, cast

from spanproof_collector.store import Store
from spanproof_evaluators.rules import RULES
from spanproof_evaluators.verifiers import VERSION

TEXT: Final = (Path(__file__).parent / "measures.sql").read_text(encoding="utf-8")
STATEMENT: Final = "\n".join(line for line in TEXT.splitlines() if not line.startswith("--"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlMeasure:
    """One measure of one variant: ``measures.Measure`` has the same three counts under the same name."""

    variant: str
    name: str
    numerator: Decimal | None
    """``None`` for costs of which no run has a bill."""

    denominator: int
    unavailable: int


def measures_in_sql(store: Store, unit: str = "session", hard: Sequence[str] | None = None) -> list[SqlMeasure]:
    """Return the measures of every variant, over the trials that are still what is stored."""
    names = [rule.name for rule in RULES if rule.hard] if hard is None else list(hard)
    asked = {"unit": unit, "outcome_version": VERSION, "hard": names}
    return [
        SqlMeasure(
            variant=cast(str, variant),
            name=cast(str, name),
            numerator=Decimal(cast(str, numerator)) if numerator else None,
            denominator=cast(int, denominator),
            unavailable=cast(int, unavailable),
        )
        for variant, name, numerator, denominator, unavailable in store.select("measures", STATEMENT, asked)
    ]
