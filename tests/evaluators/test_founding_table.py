"""Golden case G01: ten trials whose better averages belong to the variant that must not be released.

The figures are those of the founding article's table. Every trial goes the whole way: spans into a store, the suite's
checks over the end states that were recorded, the verdicts stored and read back, the report. Gate 1 asks for an
explicit state, so unavailable and unknown pass it; completions that stay unverified have a gate of their own. The
budget of $0.60 is the article's.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanproof_collector.model.filters import Filter
from spanproof_collector.store import Store, open_store
from spanproof_evaluators.gates import release_policy
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.decisions import Decision
from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.model.reports import Report
from spanproof_evaluators.model.suites import parse_suite
from spanproof_evaluators.runner import assess, evaluate, report
from tests.evaluators.founding import SUITE, TRIALS, V1, V2, Attempt, Seen, request
from tests.shared import GOLDEN, needs_golden
from tests.storing import put

SUITE_READ = parse_suite(json.dumps(SUITE), name="founding.json")


def judged(store: Store) -> list[Assessment]:
    """Evaluate what is in the store, and return what is read back of it."""
    list(evaluate(store, Filter(), SUITE_READ))
    return list(assess(store, Filter(), SUITE_READ))


def told(trials: Sequence[Assessment]) -> Report:
    policy = release_policy(cost_per_verified_outcome_max=Decimal("0.60"))
    return report(trials, SUITE_READ, described="", policy=policy)


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> list[Assessment]:
    with open_store(f"chdb://{tmp_path_factory.mktemp('founding')}/store") as store:
        put(store, *(request(one) for one in TRIALS))
        return judged(store)


@pytest.fixture(scope="module")
def table(trials: list[Assessment]) -> Report:
    return told(trials)


def measures(table: Report, variant: str) -> dict[str, Measure]:
    return next(dict(one.measures) for one in table.variants if one.name == variant)


def counts(measure: Measure) -> str:
    return f"{measure.numerator}/{measure.denominator}"


def rounded(value: float | Decimal | None) -> str:
    return str(Decimal(str(value)).quantize(Decimal("0.001"), rounding=ROUND_HALF_UP))


@pytest.mark.parametrize(
    ("variant", "quality_", "graded", "windows", "effects", "per_run", "per_verified", "false", "unverified"),
    [
        (V1, "0.818", "4/4", "14/14", "5/5", "0.41", "0.52", "0/4", 0),
        (V2, "0.902", "5/5", "15/16", "4/5", "0.38", "0.63", "1/5", 1),
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


def test_the_details_of_the_table_agree(table: Report) -> None:
    stable, fast = measures(table, V1), measures(table, V2)
    assert (stable["unknown_effects"].numerator, fast["unknown_effects"].numerator) == (0, 1)
    assert (stable["effect_integrity"].excluded, fast["effect_integrity"].excluded) == ({"refused": 1}, {})
    assert stable["cost_per_verified_outcome"].numerator == Decimal("2.07")
    assert fast["cost_per_verified_outcome"].numerator == Decimal("1.90")
    assert (stable["cost_per_verified_outcome"].denominator, fast["cost_per_verified_outcome"].denominator) == (4, 3)


def decisions(table: Report) -> dict[str, Decision]:
    return {one.name: one.decision for one in table.variants}


def said(decision: Decision) -> dict[str, str]:
    return {gate.gate.id: gate.decision for gate in decision.gates}


def test_the_stable_variant_passes_and_the_fast_one_fails(table: Report) -> None:
    found = decisions(table)
    assert found[V1].decision == "pass"
    assert set(said(found[V1]).values()) == {"pass"}
    assert (found[V2].decision, found[V2].decided_by) == ("fail", "false_success")
    assert said(found[V2]) == {
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
    found = measures(table, V1)
    assert found["task_quality"].excluded == {"waiting": 1}
    assert found["useful_progress"].excluded == {"waiting": 1}
    assert found["solve_rate"].excluded == {"waiting": 1}


def test_evidence_coverage_of_the_fast_variant_is_the_weaker_part(table: Report) -> None:
    found = measures(table, V2)
    assert counts(found["outcome_coverage"]) == "4/5"
    assert counts(found["effect_coverage"]) == "5/6"
    assert counts(found["evidence_coverage"]) == "4/5"


def test_false_success_comes_with_the_worst_case_and_an_outer_interval(table: Report) -> None:
    # Golden case G33, first row: 1/5 failed, 1 unavailable.
    found = measures(table, V2)["false_success_rate"]
    assert found.bounds == (0.2, 0.4)
    assert found.interval == pytest.approx((0.036224108632430196, 0.7692757187239871))
    assert found.evidence_ids == ("v2-4",)


def test_the_same_trials_give_the_same_certificate_in_any_order(trials: list[Assessment], table: Report) -> None:
    again = told(trials[::-1])
    assert again.certificate == table.certificate
    assert again.variants == table.variants


@needs_golden
def test_the_figures_are_those_of_the_golden_case() -> None:
    path = GOLDEN / "G01_five_signal_ten_trials.json"
    golden = {one["trial_id"]: one for one in json.loads(path.read_text())["inputs"]["trials"]}
    assert {one.name: one.usd for one in TRIALS} == {name: one["cost_usd"] for name, one in golden.items()}
    for one in TRIALS:
        told = golden[one.name]
        assert (one.useful, one.active) == (told["progress_windows_useful"], told["progress_windows_active"])
        assert (None if one.quality is None else float(one.quality)) == told["quality"]
        assert one.refused == told["refused_effect_calls"]


# --- losing evidence ----------------------------------------------------------------------------------------------


def degraded() -> dict[str, list[Attempt]]:
    """Return, by name, the trials of each variant after one receipt, effect or verdict of theirs got worse."""
    found: dict[str, list[Attempt]] = {}
    for at, one in enumerate(TRIALS):
        worse: dict[str, Attempt] = {}
        if one.after:
            worse["outcome failed"] = replace(one, after=0)
        if one.after is not None:
            worse["outcome missing"] = replace(one, after=None)
        worse["start state missing"] = replace(one, before=None)
        for place, seen in enumerate(one.effects):
            others: list[Seen | None] = ["failed", "silent", None]
            for other in others:
                if other == seen or seen == "silent":
                    continue  # what is learned of an unknown effect is no loss; see the test below
                effects = (*one.effects[:place], other, *one.effects[place + 1 :])
                worse[f"effect {place} {other or 'without receipt'}"] = replace(one, effects=effects)
        for what, other_one in worse.items():
            mates = [mate for mate in (*TRIALS[:at], other_one, *TRIALS[at + 1 :]) if mate.variant == one.variant]
            found[f"{one.name}: {what}"] = mates
    return found


def put_variants(store: Store, variants: dict[str, list[Attempt]]) -> None:
    together = ExportTraceServiceRequest()
    for name, trials_ in variants.items():
        for one in trials_:
            together.MergeFrom(request(one, trial=f"{name}/{one.name}", variant=name))
    put(store, together)


def test_no_loss_of_evidence_turns_a_failing_gate_into_a_passing_one(store: Store, table: Report) -> None:
    variants = degraded()
    put_variants(store, variants)
    whole = decisions(table)
    assert len(variants) > 30
    for name, found in decisions(told(judged(store))).items():
        before = said(whole[variants[name][0].variant])
        better = [gate for gate, decision in said(found).items() if decision == "pass" and before[gate] != "pass"]
        assert not better, f"{name} opened {better}"
        if "start state" not in name:  # the suite judges what is there at the end; what it was before is told beside it
            assert found.decision != "pass", name


def test_an_unknown_effect_that_turns_out_to_have_failed_opens_its_gate_and_not_the_release(store: Store) -> None:
    fast = [one for one in TRIALS if one.variant == V2]
    known = replace(fast[-1], effects=("verified", "failed"))
    put_variants(store, {"known": [*fast[:-1], known]})
    (found,) = decisions(told(judged(store))).values()
    assert said(found)["unknown_effects"] == "pass"
    assert (said(found)["effect_integrity"], found.decision) == ("fail", "fail")
