"""Which trials are asked for."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Conditions that a trial meets, and-ed; within one field the values are or-ed. Empty means every trial.

    ``since`` and ``until`` are Unix nanoseconds: started at or after, started before.
    """

    since: int | None = None
    until: int | None = None
    projects: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    trials: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    texts: tuple[str, ...] = ()
