"""The barrier between spanproof and the agent: what fails on our side is logged once and goes no further.

This is the agent side's one boundary. Every public name does its own work through ``attempt`` or ``quiet``; the
agent's code never runs inside them, so an exception of the agent's passes through unchanged. Only ``Exception`` is
held back: an interrupt or an exit that arrives while we work belongs to the agent.
"""

import functools
import logging
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

LOGGER: Final = logging.getLogger("spanproof_instrumentation")
_MOST_MESSAGES: Final = (
    200  # each message is told once; an agent that runs for months must not fill its memory with them
)
_told: set[str] = set()


def attempt(default: T, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what the work returns, or the default when it fails."""
    try:
        return work(*args, **kwargs)
    except Exception as error:
        _tell(work, error)
        return default


def quiet(function: Callable[P, None]) -> Callable[P, None]:
    """Decorate a function that records something: a wrong call or a failure is told once, never raised."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> None:
        attempt(None, function, *args, **kwargs)

    return call


def tell_once(message: str) -> None:
    """Log a warning, the first time only."""
    if message in _told or len(_told) >= _MOST_MESSAGES:
        return
    _told.add(message)
    LOGGER.warning("%s", message)


def _tell(work: Callable[..., object], error: Exception) -> None:
    name = getattr(work, "__qualname__", repr(type(work)))
    try:
        tell_once(f"spanproof: {name} was not recorded: {type(error).__name__}: {error}")
    except Exception:  # the agent's own logging may raise, and so may the text of an error
        return
