"""Whether a world came out as meant: as another one in which the calls were made that a task asks for."""

from collections.abc import Callable, Sequence
from typing import Final

from spanproof_evaluators.environments._changes import changes, text_of
from spanproof_evaluators.environments._config import GoldCall
from spanproof_evaluators.environments._environment import Call, World
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.verifications import Check

_SHOWN: Final = 3


def as_meant(state: Plain, gold: Sequence[GoldCall], fresh: Callable[[], World]) -> Check:
    """Return whether a state is the one after the gold calls in a fresh world."""
    world = fresh()
    try:
        for call in gold:
            came = world.apply(Call(name=call.tool, arguments=dict(call.arguments)))
            if came.error is not None:
                return Check(name="state", passed=None, reason=f"expected_call_failed: {call.tool}: {came.error}")
        return compared(world.state(), state)
    finally:
        world.close()


def compared(meant: Plain, found: Plain, name: str = "state") -> Check:
    """Return whether two states are alike, and where they are not."""
    if text_of(meant) == text_of(found):
        return Check(name=name, passed=True, seen="as after the expected calls")
    paths = [str(each["path"]) for each in changes(meant, found)] or ["a number, written otherwise"]
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return Check(name=name, passed=False, seen=f"other than meant: {', '.join(paths[:_SHOWN])}{more}")
