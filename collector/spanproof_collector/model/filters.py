"""Which trials are asked for."""

from dataclasses import dataclass
from typing import Final

DOCTOR_PROJECT: Final = "spanproof.doctor"
"""The project of the spans by which a server is tried out. Chosen by name only: they are nobody's work."""

JUDGE_PROJECT: Final = "spanproof.judge"
"""The project of the spans of judges' own calls. Chosen by name only: they are the evaluator's work, not an agent's."""

LEFT_OUT: Final = (DOCTOR_PROJECT, JUDGE_PROJECT)
"""Projects whose spans are no trials unless somebody asks for them by name."""

UNNAMED: Final = "(none)"
"""What reports call trials without a variant, task, suite, agent or model; a filter asks for them by that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Conditions that a trial meets, and-ed; within one field the values are or-ed.

    Empty means every trial but those of the projects in ``LEFT_OUT``.
    ``since`` and ``until`` are Unix nanoseconds: started at or after, started before.
    """

    since: int | None = None
    until: int | None = None
    projects: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    trials: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    """Where trials came from: ``otlp``, ``import:tau_bench``."""

    variants: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    texts: tuple[str, ...] = ()
