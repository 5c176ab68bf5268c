"""Patience with a destination that does not answer: after a few trials it is not asked any more in this run."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from spanproof_evaluators.model.checks import CheckSpec
from spanproof_evaluators.model.destinations import Destination
from spanproof_evaluators.model.placeholders import PLACEHOLDER
from spanproof_evaluators.model.verifications import Check

TRIALS: Final = 3
"""So many trials in a row find nobody there before the others are not tried."""

_NOBODY: Final = frozenset({"connection_failed", "service_failed", "timeout"})


class Patience:
    """Counts by destination how many trials in a row found nobody there.

    Only where every trial looks at the same service or database: one file of many says nothing of the next.
    """

    def __init__(self, destinations: Mapping[str, Destination]) -> None:
        self._shared = {
            name
            for name, one in destinations.items()
            if one.kind in ("sql", "http") and not PLACEHOLDER.search(one.location)
        }
        self._failed: Counter[str] = Counter()

    def given_up(self, check: CheckSpec) -> Check | None:
        """Return that a check is not run, where its destination was given up; else ``None``."""
        gone = sorted(name for name in check.destinations if self._failed[name] >= TRIALS)
        if not gone:
            return None
        return Check(
            name=f"{check.kind} check",
            passed=None,
            reason="destination_given_up",
            seen=f"{TRIALS} trials before this one found nobody at {gone[0]}",
            kind=check.kind,
            destination=gone[0],
            definition=check.definition,
            weight=check.weight,
            required=check.required,
        )

    def learn(self, checks: Iterable[Check]) -> None:
        """Take in what the checks of one trial met."""
        met: dict[str, bool] = {}
        for check in checks:
            if check.destination in self._shared and check.reason != "destination_given_up":
                met[check.destination] = met.get(check.destination, False) or check.reason not in _NOBODY
        for name, somebody in met.items():
            self._failed[name] = 0 if somebody else self._failed[name] + 1
