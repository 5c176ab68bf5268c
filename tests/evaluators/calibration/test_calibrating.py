"""What a calibration says of a judge, and when nothing may rest on it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanproof_evaluators.errors import CalibrationError
from spanproof_evaluators.model.calibrations import Bias, Calibration, read_calibrations
from spanproof_evaluators.model.judgements import Judgement
from spanproof_evaluators.model.labels import Labels, LabelState, Rater
from spanproof_evaluators.runner.calibrating import agreement, calibrate, judges_together
from tests.evaluators.calibration.graded import ADA, NOW, judge, record, say, sheet, table, verdict
from tests.shared import GOLDEN, needs_golden

PASS: tuple[LabelState, ...] = ("pass",)
FAIL: tuple[LabelState, ...] = ("fail",)
BO = Rater(kind="human", name="bo")


@needs_golden
def test_the_founding_example_comes_out_as_its_golden_file_says() -> None:
    golden = json.loads((GOLDEN / "G15_judge_calibration_rogan_gladen.json").read_text())
    told, counts = golden["expected"]["seed"], golden["inputs"]["seed"]["assumed_hand_marginals"]
    found = record(counts["tp"], counts["fp"], counts["tn"], counts["fn"])
    assert found.valid
    assert found.agreement.agreement == pytest.approx(told["agreement"])
    assert found.agreement.kappa == pytest.approx(told["kappa"])
    assert (found.false_pass.numerator, found.false_pass.denominator) == (5, 14)
    assert found.false_pass.value == pytest.approx(told["fpr"])
    assert found.false_pass.interval == pytest.approx(tuple(told["fpr_wilson"]))
    assert found.false_fail.interval == pytest.approx(tuple(told["fnr_wilson"]))
    assert found.direction.share == pytest.approx(told["lenient_share"])
    assert found.direction.two_sided == pytest.approx(told["direction_sign_test_two_sided"])
    # five of six is no direction; six of six is
    assert found.direction.shown == "none"
    assert record(25, 6, 9, 0).direction.shown == "lenient"
    assert (found.needed.have, found.needed.at_one_in_five) == (14, 61)


@needs_golden
@pytest.mark.parametrize("which", ["trajectory_success", "trajectory_side_effect", "trajectory_looping"])
def test_two_raters_agree_as_the_golden_file_says(which: str) -> None:
    golden = json.loads((GOLDEN / "G14_rater_agreement_agentrewardbench.json").read_text())
    (both, first), (second, neither) = golden["inputs"][which]["matrix"]
    told = golden["expected"][which]
    found = agreement(
        [["pass", "pass"]] * both
        + [["pass", "fail"]] * first
        + [["fail", "pass"]] * second
        + [["fail", "fail"]] * neither
    )
    assert found.items == told["n"]
    assert found.agreement == pytest.approx(told["percent_agreement"])
    assert found.kappa == pytest.approx(told["cohen_kappa"])
    assert found.kappa_interval == pytest.approx(tuple(told["kappa_ci95"]))
    assert found.ac1 == pytest.approx(told["gwet_ac1"])
    assert found.alpha == pytest.approx(told["krippendorff_alpha"])


def _people(states: list[LabelState | None], rater: Rater = ADA) -> Callable[[Labels, dict[str, Judgement]], None]:
    return lambda labels, _: say(labels, states, rater)


def _model_only(labels: Labels, _: dict[str, Judgement]) -> None:
    states = {item: one.state for (item, _, _), one in labels.standing.items()}
    labels.standing.clear()
    say(labels, [states[item] for item in labels.items], Rater(kind="model", name="large"))


def _one_person_among_models(labels: Labels, verdicts: dict[str, Judgement]) -> None:
    _model_only(labels, verdicts)
    say(labels, ["pass"])


def _silent(labels: Labels, verdicts: dict[str, Judgement]) -> None:
    for item in list(labels.items)[::5]:
        verdicts[item] = verdict(item, None)


def _differ(labels: Labels, _: dict[str, Judgement]) -> None:
    other: dict[LabelState, LabelState] = {"pass": "fail", "fail": "pass"}
    contrary = [other[labels.of(item)[0].state] for item in labels.items]
    say(labels, [state if at % 3 == 0 else "skipped" for at, state in enumerate(contrary)], BO)


@pytest.mark.parametrize(
    ("counts", "change", "reasons"),
    [
        ((25, 2, 12, 1), lambda labels, verdicts: None, ()),
        ((25, 2, 7, 1), lambda labels, verdicts: None, ("too_few_failing_items",)),
        ((5, 2, 25, 1), lambda labels, verdicts: None, ("too_few_passing_items",)),
        ((12, 12, 12, 12), lambda labels, verdicts: None, ("not_above_chance",)),
        ((20, 20, 0, 0), lambda labels, verdicts: None, ("not_above_chance",)),  # it passes everything
        ((2, 20, 2, 20), lambda labels, verdicts: None, ("not_above_chance",)),  # it says the opposite
        ((25, 2, 12, 1), _model_only, ("no_human_labels",)),
        (
            (25, 2, 12, 1),
            _one_person_among_models,
            ("too_few_failing_items", "too_few_passing_items", "not_above_chance"),
        ),
        ((25, 2, 13, 1), _silent, ("too_few_verdicts",)),
        ((25, 2, 16, 1), _differ, ("too_many_open", "raters_at_chance")),
        ((25, 2, 16, 1), _people(["unsure"] * 11), ("too_many_open",)),
        ((25, 2, 16, 1), _people(["skipped"] * 8), ()),
    ],
)
def test_what_makes_a_calibration_valid_or_not(
    counts: tuple[int, int, int, int], change: Callable[[Labels, dict[str, Judgement]], None], reasons: tuple[str, ...]
) -> None:
    labels, verdicts = table(*counts)
    change(labels, verdicts)
    found = calibrate(labels, judge(), verdicts, at=NOW)
    assert found.reasons == reasons
    assert found.valid is not bool(reasons)


def test_items_that_somebody_chose_say_nothing_of_the_rest() -> None:
    labels = sheet(40, "given")
    say(labels, [*PASS * 20, *FAIL * 20])
    verdicts = {item: verdict(item, at < 20) for at, item in enumerate(labels.items)}
    assert calibrate(labels, judge(), verdicts, at=NOW).reasons == ("nonrandom_sample",)


@pytest.mark.parametrize("test", ["blank", "nonsense"])
def test_a_judge_that_passes_an_empty_answer_is_not_believed(test: str) -> None:
    labels, verdicts = table(25, 1, 13, 1)
    held = calibrate(labels, judge(), verdicts, at=NOW, bias=[Bias(test=test, tried=4, held=4, value=1.0)])
    passed = calibrate(labels, judge(), verdicts, at=NOW, bias=[Bias(test=test, tried=4, held=3, value=0.75)])
    assert (held.reasons, passed.reasons) == ((), (f"{test}_passed",))


def test_raters_who_differ_leave_the_truth_open_and_labels_not_reached_are_not_missing() -> None:
    labels = sheet(60, drawn=50)
    say(labels, [*PASS * 20, *FAIL * 15])
    say(labels, ["fail", "unsure", *PASS * 10], BO)
    verdicts = {item: verdict(item, at < 20) for at, item in enumerate(labels.items)}
    found = calibrate(labels, judge(), verdicts, at=NOW)
    assert found.open == {"raters_differ": 1, "unlabeled": 15}
    assert (found.counts.passing, found.counts.failing) == (19, 15)
    assert found.raters.differ == (next(iter(labels.items)),)
    together = found.raters.together
    assert together is not None
    assert together.items == 11
    assert together.agreement == pytest.approx(10 / 11)
    assert [(one.rater.name, one.passed, one.failed, one.unsure) for one in found.raters.each] == [
        ("ada", 20, 15, 0),
        ("bo", 10, 1, 1),
    ]
    assert found.valid  # the labels are a beginning of a random order


def test_several_judges_are_compared_with_each_other() -> None:
    labels = sheet(4)
    items = list(labels.items)
    one = {item: verdict(item, at != 0) for at, item in enumerate(items)}
    found = judges_together(labels, [one, {item: verdict(item, True) for item in items[:3]}])
    assert found.items == 3
    assert found.agreement == pytest.approx(2 / 3)


def _written(found: Calibration, path: Path, **changes: Any) -> Path:
    path.write_text(json.dumps(found.model_dump(mode="json") | changes))
    return path


def test_a_record_that_is_not_what_it_counts_is_refused(tmp_path: Path) -> None:
    good, poor = record(25, 2, 12, 1), record(12, 12, 12, 12)
    path = tmp_path / "one.json"
    assert read_calibrations(_written(good, path)) == (good,)
    assert read_calibrations(tmp_path) == (good,)
    assert read_calibrations(tmp_path / "none") == ()
    counts = good.counts.model_dump() | {"passed_wrong": 0, "failed_right": 14}
    rate = good.false_pass.model_dump(mode="json") | {"numerator": 0, "value": 0.0}
    raters = good.raters.model_dump(mode="json") | {"truth_by": "model"}
    for changes, of in (
        ({"valid": True, "reasons": []}, poor),
        ({"counts": counts}, good),
        ({"false_pass": rate}, good),
        ({"raters": raters}, good),
        ({"judge_hash": "0" * 64}, good),
        ({"judge": good.judge | {"model": "another"}}, good),
        ({"without_verdict": 3}, good),
    ):
        with pytest.raises(CalibrationError):
            read_calibrations(_written(of, path, **changes))
