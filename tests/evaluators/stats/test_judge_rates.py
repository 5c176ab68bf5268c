"""A judge's errors, their direction, and rates with them taken out: golden case G15."""

import pytest

from spanproof_evaluators.stats.agreement import cohen_kappa, confusion
from spanproof_evaluators.stats.intervals import wilson
from spanproof_evaluators.stats.judge_rates import (
    Calibration,
    corrected_by,
    corrected_rate,
    direction,
    prediction_powered_mean,
)
from tests.evaluators.stats.golden import golden
from tests.shared import needs_golden

SEED = Calibration(passed_right=25, failed_wrong=1, passed_wrong=5, failed_right=9)


@needs_golden
def test_the_founding_calibration_of_forty() -> None:
    given, told = golden("G15")["inputs"]["seed"], golden("G15")["expected"]["seed"]
    hand = given["assumed_hand_marginals"]
    human = [True] * (hand["tp"] + hand["fn"]) + [False] * (hand["fp"] + hand["tn"])
    judge = [True] * hand["tp"] + [False] * hand["fn"] + [True] * hand["fp"] + [False] * hand["tn"]
    assert Calibration.of(human, judge) == SEED
    assert SEED.agreement == told["agreement"]
    assert list(wilson(given["agree"], given["n"])) == pytest.approx(told["agreement_wilson"], rel=1e-9)
    assert SEED.false_positive_rate == pytest.approx(told["fpr"], rel=1e-9)
    assert SEED.false_negative_rate == pytest.approx(told["fnr"], rel=1e-9)
    assert list(SEED.false_positive_interval or ()) == pytest.approx(told["fpr_wilson"], rel=1e-9)
    assert list(SEED.false_negative_interval or ()) == pytest.approx(told["fnr_wilson"], rel=1e-9)
    assert 100 * (SEED.bias_at(0.84) or 0.0) == pytest.approx(told["bias_pp_if_prevalence_084"], rel=1e-9)
    kappa = cohen_kappa(confusion(list(zip(human, judge, strict=True))))
    assert kappa is not None
    assert kappa.value == pytest.approx(told["kappa"], rel=1e-9)
    side = direction(given["lenient"], given["strict"])
    assert side.share == pytest.approx(told["lenient_share"], rel=1e-9)
    assert list(side.interval or ()) == pytest.approx(told["lenient_share_clopper_pearson"], rel=1e-9)
    assert side.two_sided == pytest.approx(told["direction_sign_test_two_sided"], rel=1e-9)
    assert side.one_sided == pytest.approx(told["direction_sign_test_one_sided"], rel=1e-9)
    least = next(n for n in range(1, 50) if direction(n, 0).two_sided < 0.05)
    assert least == told["smallest_n_all_one_direction_p_below_05"]


@needs_golden
def test_rates_with_the_errors_taken_out() -> None:
    given, told = golden("G15")["inputs"], golden("G15")["expected"]
    lee = given["lee_readme"]
    found = corrected_rate(
        lee["p"], lee["n"], specificity=lee["q0"], negatives=lee["m0"], sensitivity=lee["q1"], positives=lee["m1"]
    )
    assert found.value == pytest.approx(told["lee_readme"]["theta"], rel=1e-9)
    assert list(found.interval or ()) == pytest.approx(told["lee_readme"]["ci95"], rel=1e-9)
    applied = corrected_by(given["apply_to"]["judge_pass"], given["apply_to"]["n"], SEED)
    assert applied.value == pytest.approx(told["applied"]["theta"], rel=1e-9)
    assert list(applied.interval or ()) == pytest.approx(told["applied"]["ci95"], rel=1e-9)
    judgy = given["judgy"]
    graded = Calibration.of(*([bool(one) for one in judgy[name]] for name in ("test_labels", "test_preds")))
    said = judgy["unlabeled_preds"]
    assert corrected_by(sum(said), len(said), graded).value == pytest.approx(told["judgy"]["theta"], rel=1e-9)


@pytest.mark.parametrize(
    ("graded", "why"),
    [
        (Calibration(passed_right=20, failed_wrong=5, passed_wrong=0, failed_right=0), "how lenient"),
        (Calibration(passed_right=0, failed_wrong=0, passed_wrong=3, failed_right=9), "how strict"),
        (Calibration(passed_right=5, failed_wrong=5, passed_wrong=5, failed_right=5), "no better than chance"),
        (Calibration(passed_right=2, failed_wrong=8, passed_wrong=9, failed_right=1), "no better than chance"),
    ],
)
def test_a_judge_whose_errors_are_not_known_corrects_nothing(graded: Calibration, why: str) -> None:
    found = corrected_by(42, 50, graded)
    assert (found.value, found.interval) == (None, None)
    assert why in (found.reason or "")


def test_without_a_word_of_the_judge_there_is_no_rate() -> None:
    assert corrected_by(0, 0, SEED).reason == "the judge said nothing"
    empty = Calibration(passed_right=0, passed_wrong=0, failed_right=0, failed_wrong=0)
    assert (empty.agreement, empty.false_positive_interval, empty.bias_at(0.5)) == (None, None, None)
    assert direction(0, 0).two_sided == 1.0


def test_a_corrected_rate_stays_a_rate() -> None:
    good = {"negatives": 20, "positives": 20}
    assert corrected_rate(0.02, 50, specificity=0.9, sensitivity=0.9, **good).value == 0.0
    assert corrected_rate(0.99, 50, specificity=0.9, sensitivity=0.9, **good).value == 1.0


def test_few_graded_results_and_many_words_of_the_judge() -> None:
    # By hand: mean(J_u) = 3/5, mean(Y - J) = -1/4; Var(J_u) = 0.24, Var(Y - J) = 3/16.
    human, judge, elsewhere = [1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 1.0, 0.0], [1.0, 0.0, 1.0, 1.0, 0.0]
    found = prediction_powered_mean(human, judge, elsewhere)
    assert found is not None
    assert found.value == pytest.approx(0.35)
    assert found.variance == pytest.approx(0.24 / 5 + 3 / 16 / 4)
    half = 1.959963984540054 * found.variance**0.5
    assert found.interval == pytest.approx((0.35 - half, 0.35 + half))


def test_the_weight_of_least_variance_has_no_larger_variance() -> None:
    human = [float(at % 3 == 0) for at in range(30)]
    judge = [float(at % 3 == 0 or at % 7 == 0) for at in range(30)]
    elsewhere = [float(at % 2) for at in range(200)]
    tuned = prediction_powered_mean(human, judge, elsewhere, weight=None)
    plain = prediction_powered_mean(human, judge, elsewhere)
    alone = prediction_powered_mean(human, judge, elsewhere, weight=0.0)
    assert tuned is not None
    assert plain is not None
    assert alone is not None
    # ppi-python 0.2.3 on these numbers, plain and power-tuned
    assert (plain.value, *plain.interval) == pytest.approx((0.4, 0.27222598, 0.52777402), abs=1e-8)
    assert (tuned.value, *tuned.interval) == pytest.approx((0.37695641, 0.26595693, 0.4879559), abs=1e-8)
    assert 0 < tuned.weight < 1
    assert tuned.variance <= min(plain.variance, alone.variance) * 1.02
    assert alone.value == pytest.approx(sum(human) / 30)
    assert prediction_powered_mean(human, [1.0] * 30, [1.0] * 5, weight=None) == alone


def test_no_graded_result_gives_no_mean_and_unlike_ones_are_refused() -> None:
    assert prediction_powered_mean([], [], [1.0]) is None
    assert prediction_powered_mean([1.0], [1.0], []) is None
    with pytest.raises(ValueError, match="same results"):
        prediction_powered_mean([1.0], [], [1.0])
