"""How a run is made, what is told of it while it goes on, and what it leaves behind."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from spanproof_evaluators.harness.isolation import Isolation
from spanproof_evaluators.model.reports import Report

RETRIES: Final = 2
ATTEMPTS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What just happened to a try."""

    done: int
    of: int
    task: str
    attempt: int
    said: str
    """``verified``, ``failed``, ``unavailable`` and what belongs to it; or why it is tried again."""

    finished: bool
    """Whether the attempt is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What a run left behind."""

    run: str
    folder: Path
    store: str
    report: Report | None
    """``None`` where no attempt has a verdict."""

    verdicts: int
    missing: tuple[tuple[str, int], ...]
    """Task and attempt, where there is no verdict."""

    interrupted: bool

    @property
    def complete(self) -> bool:
        """Whether every attempt has a verdict."""
        return not self.missing


@dataclass(kw_only=True)
class Options:
    """How a run is made."""

    variant: str = "agent"
    labels: dict[str, str] = field(default_factory=dict)
    attempts: int | None = None
    """Tries a task; ``None``: as many as each task says, and three where it says nothing."""

    jobs: int = 1
    seed: int = 0
    tasks: tuple[str, ...] = ()
    """Only these; empty: all."""

    retries: int = RETRIES
    """How often an attempt is tried again that the infrastructure broke."""

    isolation: Isolation = "auto"
    named: tuple[str, ...] = ()
    """Variables of this process that agents are given."""

    token: str | None = None
    """For a server that demands one."""

    keep: Path | None = None
    """Where worlds are kept."""
