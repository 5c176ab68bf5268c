"""Which trials are asked for."""

from dataclasses import dataclass
from typing import Final

DOCTOR_PROJECT: Final = "spanproof.doctor"
"""The project of the spans by which a server is tried out. Chosen by name only: they are nobody's work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Conditions that a trial meets, and-ed; within one field the values are or-ed.

    Empty means every trial but those of ``DOCTOR_PROJECT``.
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
