"""A report: variants side by side, with every trial that the numbers rest on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.decisions import Decision
from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.model.trust_cards import TrustCard

CATEGORY: Final = "category: "
"""How the numbers of categories are named among all numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantReport:
    """One variant's measures and the decision on it."""

    name: str
    trials: int
    tasks: int
    measures: Mapping[str, Measure]
    categories: Mapping[str, Measure]
    """The solve rate of each category of tasks."""

    telemetry: Mapping[str, Measure]
    """Load and efficiency by OpenTelemetry's names. It explains and decides nothing, so no gate is given it."""

    decision: Decision
    assessments: tuple[Assessment, ...]
    """Its trials."""

    judged: Mapping[str, Measure] = field(default_factory=dict)
    """Pass rates by judges, corrected or unavailable. The release gates are not given them."""

    @property
    def numbers(self) -> dict[str, Measure]:
        """Every number of it by a name of its own."""
        categories = {f"{CATEGORY}{name}": measure for name, measure in self.categories.items()}
        return {**self.measures, **categories, **self.telemetry, **self.judged}


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """A baseline's numbers, as far as a saved baseline has what they are made of."""

    name: str
    measures: Mapping[str, Measure]
    """Solve rate and pass^k, by the names of a variant's measures; tokens and calls by those of telemetry."""

    categories: Mapping[str, Measure]

    @property
    def numbers(self) -> dict[str, Measure]:
        """Every number of it, by the names that a variant's numbers have."""
        return {**self.measures, **{f"{CATEGORY}{name}": measure for name, measure in self.categories.items()}}


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

    before: Before | None
    """What stands in brackets beside the numbers: those of a baseline."""

    trust: TrustCard | None = None
    """What came of trying the suite's own checks; ``None``: nobody did. It is no part of the certificate."""

    certificate: str
    """SHA-256 over trials, stored results, suite and versions: two reports with one certificate show one content."""
