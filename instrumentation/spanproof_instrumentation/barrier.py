"""The barrier between spanproof and the agent: what fails on our side is logged once and goes no further.

This is the agent side's one boundary. Every public name does its own work through ``attempt`` or ``quiet``; the
agent's code never runs inside them, so an exception of the agent's passes through unchanged. Only ``Exception`` is
held back: an interrupt or an exit that arrives while we work belongs to the agent.
"""

import functools
import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
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
    return attempt_as(None, default, work, *args, **kwargs)


def attempt_as(what: str | None, default: T, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what the work returns, or the default when it fails, and tell in these words what failed."""
    try:
        return work(*args, **kwargs)
    except Exception as error:
        _tell(what or f"{getattr(work, '__qualname__', repr(type(work)))} was not recorded", error)
        return default


def quiet(function: Callable[P, None]) -> Callable[P, None]:
    """Decorate a function that records something: a wrong call or a failure is told once, never raised."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> None:
        attempt(None, function, *args, **kwargs)

    return call


def forgiving(**missing: object) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorate a function that must return something even where it is called wrongly.

    What it does not know is told once and dropped; what is missing is taken from here. The way of a right call costs
    nothing. A ``TypeError`` from inside the function is not ours to catch.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                    raise
                _tell(f"what {function.__qualname__} does not know was dropped", error)
            return _call_what_fits(function, args, kwargs, missing)

        return call

    return decorate


def _call_what_fits(
    function: Callable[..., T], args: Sequence[object], kwargs: Mapping[str, object], missing: Mapping[str, object]
) -> T:
    parameters = inspect.signature(function).parameters.values()
    places = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    fitting = list(args[: len(places)])
    taken = {each.name for each in places[: len(fitting)]}
    named = {each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)} - taken
    anything = any(each.kind is each.VAR_KEYWORD for each in parameters)
    words = {name: value for name, value in {**missing, **kwargs}.items() if name in named or anything}
    return function(*fitting, **words)


def tell_once(message: str) -> None:
    """Log a warning, the first time only."""
    if message in _told or len(_told) >= _MOST_MESSAGES:
        return
    _told.add(message)
    LOGGER.warning("%s", message)


def _tell(what: str, error: Exception) -> None:
    try:
        tell_once(f"spanproof: {what}: {type(error).__name__}: {error}")
    except Exception:  # the agent's own logging may raise, and so may the text of an error
        return
