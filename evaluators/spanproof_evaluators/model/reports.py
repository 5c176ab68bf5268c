"""A report: variants side by side, with every trial that the numbers rest on."""

from collections.abc import Mapping
from dataclasses import dataclass

from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.decisions import Decision
from spanproof_evaluators.model.measures import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantReport:
    """One variant's measures and the decision on it."""

    name: str
    trials: int
    tasks: int
    measures: Mapping[str, Measure]
    decision: Decision
    assessments: tuple[Assessment, ...]
    """Its trials."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What is known of the trials that were asked for: a function of stored evidence and results alone."""

    suite_id: str | None
    suite_hash: str | None
    filter: str
    by: str
    variants: tuple[VariantReport, ...]
    assessments: tuple[Assessment, ...]
    inversions: tuple[str, ...]
    """Where a better average belongs to a variant that a gate stops, in words."""

    certificate: str
    """SHA-256 over trials, stored results, suite and versions: two reports with one certificate show one content."""
