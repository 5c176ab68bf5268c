"""What the kinds share: what a check could not do, and where it looks."""

import time
from typing import Final, Literal

from spanproof_evaluators.model.end_states import EndState, Place, PlaceKind
from spanproof_evaluators.model.verifications import Check
from spanproof_evaluators.verifiers._secrets import Secrets

LONGEST_OUTPUT: Final = 2000
"""Characters of an output that stay in a receipt."""

Phase = Literal["before", "after"]


class GapError(Exception):
    """A check cannot run: the reason as a word for machines, and what was seen."""

    def __init__(self, reason: str, seen: str = "") -> None:
        super().__init__(f"{reason}: {seen}" if seen else reason)
        self.reason = reason
        self.seen = seen


def gap(name: str, found: GapError, secrets: Secrets | None = None, destination: str | None = None) -> Check:
    """Return the check that could not run."""
    seen = secrets.masked(found.seen) if secrets else found.seen
    return Check(name=name, passed=None, reason=found.reason, seen=seen, destination=destination, time=time.time_ns())


def place(state: EndState, name: str, *kinds: PlaceKind) -> Place:
    """Return where a destination is in this state.

    Raises:
        GapError: nobody says where, or it is no such place.
    """
    found = state.places.get(name)
    if found is None:
        raise GapError("destination_not_given", f"nobody says where {name} is in this state")
    if found.problem is not None:
        raise GapError(found.problem, f"{name} is {found.location}")
    if found.kind not in kinds:
        raise GapError("wrong_kind_of_destination", f"{name} is {found.kind}, and not {' or '.join(kinds)}")
    return found


def tail(text: str) -> str:
    """Return the end of an output, where it is long."""
    return text if len(text) <= LONGEST_OUTPUT else "…" + text[-(LONGEST_OUTPUT - 1) :]
