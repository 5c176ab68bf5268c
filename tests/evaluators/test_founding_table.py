"""Golden case G01: ten trials whose better averages belong to the variant that must not be released.

The figures are those of the founding article's table; the per-trial records are a reconstruction that gives exactly
that table. Gate 1 asks for an explicit state, so unavailable and unknown pass it; completions that stay unverified
have a gate of their own. The budget of $0.60 is the article's.
"""

from decimal import ROUND_HALF_UP, Decimal

import pytest

from spanproof_collector.model.trials import EffectState
from spanproof_evaluators.gates import release_policy
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.model.reports import Report
from spanproof_evaluators.model.verifications import Verdict
from spanproof_evaluators.runner import report
from tests.evaluators.factories import assessed, call, progress, quality, trial, wait

# trial, outcome, quality, useful and active windows, effects, refused calls, cost
ROWS: list[tuple[str, Verdict, float | None, int, int, tuple[EffectState, ...], int, str]] = [
    ("v1-1", "verified", 0.815, 3, 3, ("verified",), 0, "0.38"),
    ("v1-2", "verified", 0.822, 3, 3, ("verified",), 0, "0.42"),
    ("v1-3", "verified", 0.809, 3, 3, ("verified",), 0, "0.44"),
    ("v1-4", "verified", 0.826, 3, 3, ("verified",), 0, "0.41"),
    ("v1-5", "unavailable", None, 2, 2, ("verified",), 1, "0.42"),
    ("v2-1", "verified", 0.91, 3, 3, ("verified",), 0, "0.36"),
    ("v2-2", "verified", 0.92, 3, 3, ("verified",), 0, "0.37"),
    ("v2-3", "verified", 0.89, 3, 3, ("verified",), 0, "0.40"),
    ("v2-4", "failed", 0.89, 3, 4, ("failed",), 0, "0.39"),
    ("v2-5", "unavailable", 0.90, 3, 3, ("verified", "unknown"), 0, "0.38"),
]


def ten_trials() -> list[Assessment]:
    found = []
    for number, (name, outcome, score, useful, active, effects, refused, usd) in enumerate(ROWS):
        waits = name == "v1-5"
        states: list[EffectState] = [*effects]
        states += ["refused"] * refused
        calls = [
            call(state=state, span_id=f"{number:08x}{index:08x}", resource=f"{name}-{index}")
            for index, state in enumerate(states)
        ]
        one = trial(
            name,
            task_id=f"task-{name[-1]}",
            variant="stable v1" if name.startswith("v1") else "fast v2",
            claim="none" if waits else "success",
            status="waiting" if waits else "complete",
            waits=[wait()] if waits else [],
            scores=[] if score is None else [quality(score)],
            windows=progress(useful, active),
            calls=calls,
            usd=usd,
        )
        found.append(assessed(one, outcome, reason="waiting" if waits else "no_verifier"))
    return found


@pytest.fixture(scope="module")
def table() -> Report:
    policy = release_policy(cost_per_verified_outcome_max=Decimal("0.60"))
    # Trials that are given a verdict by hand were asked nothing by a rule, so there is no constraint to break.
    return report(ten_trials(), None, described="", policy=policy)


def measures(table: Report, variant: str) -> dict[str, Measure]:
    return next(dict(one.measures) for one in table.variants if one.name == variant)


def counts(measure: Measure) -> str:
    return f"{measure.numerator}/{measure.denominator}"


def rounded(value: float | Decimal | None) -> str:
    return str(Decimal(str(value)).quantize(Decimal("0.001"), rounding=ROUND_HALF_UP))


@pytest.mark.parametrize(
    ("variant", "quality_", "graded", "windows", "effects", "per_run", "per_verified", "false", "unverified"),
    [
        ("stable v1", "0.818", "4/4", "14/14", "5/5", "0.41", "0.52", "0/4", 0),
        ("fast v2", "0.902", "5/5", "15/16", "4/5", "0.38", "0.63", "1/5", 1),
    ],
)
def test_the_ten_trials_give_the_founding_table(
    table: Report,
    variant: str,
    quality_: str,
    graded: str,
    windows: str,
    effects: str,
    per_run: str,
    per_verified: str,
    false: str,
    unverified: int,
) -> None:
    found = measures(table, variant)
    task_quality = found["task_quality"]
    assert rounded(task_quality.value) == quality_
    assert f"{task_quality.denominator}/{(task_quality.denominator or 0) + task_quality.unavailable}" == graded
    assert counts(found["useful_progress"]) == windows
    assert counts(found["effect_integrity"]) == effects
    assert found["cost_per_run"].to_json()["value"] == per_run
    assert found["cost_per_verified_outcome"].to_json()["value"] == per_verified
    assert counts(found["false_success_rate"]) == false
    assert found["unverified_completions"].numerator == unverified


def test_the_stable_variant_passes_and_the_fast_one_fails(table: Report) -> None:
    decisions = {one.name: one.decision for one in table.variants}
    assert decisions["stable v1"].decision == "pass"
    assert decisions["fast v2"].decision == "fail"
    assert decisions["fast v2"].decided_by == "false_success"
    assert {gate.gate.id: gate.decision for gate in decisions["fast v2"].gates} == {
        "coverage": "pass",
        "false_success": "fail",
        "unknown_effects": "fail",
        "unverified_completions": "fail",
        "constraints": "pass",
        "useful_progress": "pass",
        "effect_integrity": "fail",
        "cost_per_verified_outcome": "fail",
    }


def test_the_inversion_is_said_in_words(table: Report) -> None:
    (sentence,) = table.inversions
    assert "fast v2: higher task quality (0.902, n=5, against 0.818, n=4) and lower" in sentence
    assert "fails gate false_success" in sentence
    assert "stable v1 passes every gate" in sentence


def test_the_approval_wait_is_left_out_and_counted(table: Report) -> None:
    found = measures(table, "stable v1")
    assert found["task_quality"].excluded == {"waiting": 1}
    assert found["useful_progress"].excluded == {"waiting": 1}
    assert found["solve_rate"].excluded == {"waiting": 1}
    assert found["effect_integrity"].excluded == {"refused": 1}


def test_evidence_coverage_of_the_fast_variant_is_the_weaker_part(table: Report) -> None:
    found = measures(table, "fast v2")
    assert counts(found["outcome_coverage"]) == "4/5"
    assert counts(found["effect_coverage"]) == "5/6"
    assert counts(found["evidence_coverage"]) == "4/5"


def test_false_success_comes_with_the_worst_case_and_an_outer_interval(table: Report) -> None:
    # Golden case G33, first row: 1/5 failed, 1 unavailable.
    found = measures(table, "fast v2")["false_success_rate"]
    assert found.bounds == (0.2, 0.4)
    assert found.interval == pytest.approx((0.036224108632430196, 0.7692757187239871))
    assert found.evidence_ids == ("v2-4",)


def test_the_same_trials_give_the_same_certificate_in_any_order(table: Report) -> None:
    policy = release_policy(cost_per_verified_outcome_max=Decimal("0.60"))
    again = report(ten_trials()[::-1], None, described="", policy=policy)
    assert again.certificate == table.certificate
    assert again.variants == table.variants
