"""Rules asked inside of the engine: what each statement says of how many trials. No trial leaves the store."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, cast

from spanproof_collector.store import Store
from spanproof_evaluators.rules.sql import SQL_RULES, WAITING

STATES: Final = ("pass", "fail", "unavailable")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCounts:
    """What one rule says of the trials of each variant: how many of each state. A rule may have nothing to say."""

    name: str
    variants: Mapping[str, Mapping[str, int]]

    def total(self, state: str) -> int:
        """Return how many trials have a state, whatever their variant."""
        return sum(counts.get(state, 0) for counts in self.variants.values())


def rules_in_sql(store: Store, names: Iterable[str], given: Mapping[str, object]) -> list[RuleCounts]:
    """Return what these rules say; one that lacks a parameter without a default is left out.

    Raises:
        StoreError: a parameter is not of its type.
    """
    found = []
    for name in names:
        rule = SQL_RULES[name]
        asked = rule.asked(given)
        if asked is None:
            continue
        counted = f"SELECT toString(variant), toString(state), count() FROM ({rule.statement}) GROUP BY variant, state"
        variants: dict[str, dict[str, int]] = {}
        for variant, state, count in sorted(cast("list[tuple[str, str, int]]", store.select(name, counted, asked))):
            variants.setdefault(variant, {})[state] = count
        found.append(RuleCounts(name=name, variants=variants))
    return found


def traces_waiting(store: Store, unit: str) -> int:
    """Return how many traces are in no trial that the statements see."""
    ((count,),) = store.select("waiting", WAITING.statement, {"unit": unit})
    return cast(int, count)
