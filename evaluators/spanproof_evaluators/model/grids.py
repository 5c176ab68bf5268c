"""A grid: every combination of one or two things that are varied, on the same tasks, and what each of them makes."""

from dataclasses import dataclass

from spanproof_evaluators.model.canonical import Plain, plain
from spanproof_evaluators.model.measures import Measure

Levels = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """One thing that is varied, and what it is varied over."""

    key: str
    levels: Levels


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over tasks, with its 95 % interval; ``None`` where there is a single task, or all are alike."""

    value: float
    interval: tuple[float, float] | None
    tasks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorDifference:
    """What one factor makes: its better level less its worse one."""

    key: str
    better: str
    worse: str
    estimate: Estimate
    note: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination."""

    levels: Levels
    variant: str
    solve_rate: Measure | None
    """``None`` where no trial of it is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The table, and what it says."""

    factors: tuple[Factor, ...]
    cells: tuple[Cell, ...]
    differences: tuple[FactorDifference, ...]
    larger: Estimate | None
    """The first factor's difference less the second's; ``None`` with one factor, or where nothing can be said."""

    said: str
    left_out: tuple[str, ...]
    """Tasks without a verdict in some combination."""

    def to_json(self) -> dict[str, Plain]:
        """Return the grid as JSON values."""
        return {
            "factors": plain(self.factors),
            "cells": [
                {
                    "levels": list(cell.levels),
                    "variant": cell.variant,
                    "solve_rate": None if cell.solve_rate is None else cell.solve_rate.to_json(),
                }
                for cell in self.cells
            ],
            "differences": plain(self.differences),
            "larger": None if self.larger is None else plain(self.larger),
            "said": self.said,
            "left_out": list(self.left_out),
        }
