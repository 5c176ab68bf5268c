"""Tokens that a verified outcome takes: failures pay in, and what nobody metered leaves a lower bound."""

from dataclasses import replace

from spanproof_collector.model.readings import Usage
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.verifications import Verdict
from spanproof_evaluators.runner.measuring.efficiency import tokens_per_verified_outcome
from tests.evaluators.factories import assessed, trial


def used(name: str, outcome: Verdict, given: int | None, made: int | None = 10) -> Assessment:
    return assessed(replace(trial(name), usage=Usage(input_tokens=given, output_tokens=made)), outcome)


def test_failures_pay_into_what_a_verified_outcome_takes() -> None:
    found = tokens_per_verified_outcome(
        [used("a", "verified", 90), used("b", "failed", 290), used("c", "verified", 190)]
    )
    assert (found.value, found.numerator, found.denominator) == (300.0, 600, 2)


def test_a_trial_that_nobody_metered_leaves_a_lower_bound() -> None:
    found = tokens_per_verified_outcome([used("a", "verified", 90), used("b", "failed", None, None)])
    assert (found.value, found.bounds, found.unavailable) == (None, (100.0, None), 1)


def test_without_a_verified_outcome_the_tokens_are_told_and_divided_by_nothing() -> None:
    found = tokens_per_verified_outcome([used("a", "failed", 90)])
    assert (found.value, found.numerator, found.reason) == (None, 100, "no verified outcome; 100 tokens used")
