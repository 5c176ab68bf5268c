"""The golden cases on statistics, figure by figure: counts exact, the rest at 1e-9 relative unless a file says more."""

import math
from collections import Counter
from functools import cache
from math import comb
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from spanproof_evaluators.gates.error_rates import of_floor
from spanproof_evaluators.stats.comparisons import clustering, mcnemar, paired_difference, unpaired_error
from spanproof_evaluators.stats.failures import blast_radius, mean_time_between_failures, recovery
from spanproof_evaluators.stats.intervals import (
    agresti_coull,
    clopper_pearson,
    clustered_rate,
    jeffreys,
    mean_interval,
    rule_of_three,
    upper_bound,
    wald,
    wilson,
)
from spanproof_evaluators.stats.power import chance_of, point_rule, unpaired_tasks_by_arcsine
from spanproof_evaluators.stats.reliability import (
    extrapolated_pass_at_k,
    extrapolated_pass_hat_k,
    pass_at_k,
    pass_hat_k,
)
from spanproof_evaluators.stats.sequential import BLOCKS_AT, confidence_sequence, e_value, two_sided_e_value
from tests.evaluators.stats.golden import golden
from tests.evaluators.stats.test_comparisons import agentdojo
from tests.shared import needs_golden

pytestmark = needs_golden


def near(expected: Any) -> Any:
    """Return what is equal at 1e-9 relative; a figure of 0 at 1e-12."""
    return None if expected is None else pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_g02_plug_in_and_unbiased_by_k() -> None:
    case, told = golden("G02")["inputs"], golden("G02")["expected"]
    n, c = len(case["runs"]), sum(case["runs"])
    for k in case["ks"]:
        assert extrapolated_pass_at_k(c / n, k) == near(told["runs_plugin_pass_at"][str(k)])
        assert extrapolated_pass_hat_k(c / n, k) == near(told["runs_plugin_pass_hat"][str(k)])
        assert pass_at_k(n, c, k) == near(told["runs_unbiased_pass_at"][str(k)])
        assert pass_hat_k(n, c, k) == near(told["runs_unbiased_pass_hat"][str(k)])
    assert extrapolated_pass_hat_k(case["p_step"], case["k"]) == near(told["p08_pass_hat_5"])
    assert pass_at_k(n, c, n + 1) is pass_hat_k(n, c, n + 1) is None


def test_g03_the_bias_of_the_plug_in_in_points() -> None:
    cases = golden("G03")["expected"]
    assert len(cases) == 36
    for case in cases:
        n, p, k = case["n"], case["p"], case["k"]
        chances = [comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
        plug_hat = sum(w * extrapolated_pass_hat_k(c / n, k) for c, w in enumerate(chances))
        plug_at = sum(w * extrapolated_pass_at_k(c / n, k) for c, w in enumerate(chances))
        true_hat, true_at = extrapolated_pass_hat_k(p, k), extrapolated_pass_at_k(p, k)
        assert true_hat == near(case["true_pass_hat"])
        assert true_at == near(case["true_pass_at"])
        assert plug_at == near(case["plugin_at_expectation"])
        assert 100 * (plug_hat - true_hat) == pytest.approx(case["plugin_bias_pp"], rel=1e-9, abs=1e-10)
        assert 100 * (plug_at - true_at) == pytest.approx(case["plugin_at_bias_pp"], rel=1e-9, abs=1e-10)


def test_g04_what_the_vacuous_tasks_hold() -> None:
    case, told = golden("G04")["inputs"], golden("G04")["expected"]
    rewards = {int(task): trials for task, trials in case["rewards_by_task"].items()}
    by_solved = Counter(sum(trials) for trials in rewards.values())
    assert {str(count): tasks for count, tasks in by_solved.items()} == told["task_success_histogram"]
    rate, units = 84 / 200, 200
    assert math.sqrt(rate * (1 - rate) / units) == near(told["naive_iid_se_pass1"])
    vacuous = [trials for task, trials in rewards.items() if task in told["vacuous_tasks"]]
    rest = [trials for task, trials in rewards.items() if task not in told["vacuous_tasks"]]
    for trials, counts, first in (
        (vacuous, told["vacuous_trials_ok"], told["vacuous_pass1"]),
        (rest, told["non_vacuous_trials_ok"], told["non_vacuous_pass1"]),
    ):
        assert [sum(map(sum, trials)), sum(map(len, trials))] == counts
        assert fmean(pass_hat_k(len(one), sum(one), 1) or 0.0 for one in trials) == near(first)
    assert fmean(pass_hat_k(len(one), sum(one), 4) or 0.0 for one in rest) == near(told["non_vacuous_pass_hat_4"])


def test_g05_product_and_binomial_form() -> None:
    for case, told in zip(golden("G05")["inputs"], golden("G05")["expected"], strict=True):
        n, c, k = case["n"], case["c"], case["k"]
        assert pass_at_k(n, c, k) == told["product_form"] == near(told["comb_form"])
        assert 1 - comb(n - c, k) / comb(n, k) == near(told["comb_form"])


@pytest.mark.parametrize(
    ("measure", "name", "alone"),
    [
        ("utility", "utility", "design_effect_utility_under_attack"),
        ("security", "attack_success", "design_effect_asr"),
    ],
)
def test_g07_what_pairing_saves_and_what_clusters_cost(measure: str, name: str, alone: str) -> None:
    a, b, tasks = agentdojo(measure)
    told = golden("G07")["expected"][name]
    assert (fmean(a), fmean(b)) == near((told["rate_a"], told["rate_b"]))
    table = Counter(zip(a, b, strict=True))
    assert (table[1, 1], table[0, 0]) == (told["table"]["n11"], told["table"]["n00"])
    found = paired_difference([y - x for x, y in zip(a, b, strict=True)], tasks)
    assert found.uncorrected_error == near(told["clustered_se_no_correction"])
    assert unpaired_error(a, b) == near(told["unpaired_se"])
    test = mcnemar(table[1, 0], table[0, 1])
    assert (test.corrected_chi2, test.corrected_p) == near((told["mcnemar_cc_chi2"], told["mcnemar_cc_p"]))
    one, effect = paired_difference(a, tasks), golden("G07")["expected"][alone]
    assert (one.naive_error, one.clustered_error) == near((effect["naive_se"], effect["clustered_se"]))
    groups = [[x for x, task in zip(a, tasks, strict=True) if task == each] for each in dict.fromkeys(tasks)]
    shape = clustering(groups)
    assert (shape.design_effect, shape.effective_units) == near((effect["deff"], effect["effective_n"]))


def test_g11_every_interval_of_every_pair() -> None:
    cases = golden("G11")["expected"]
    assert [[case["x"], case["n"]] for case in cases] == golden("G11")["inputs"]
    for case in cases:
        x, n = case["x"], case["n"]
        for method in (wald, wilson, agresti_coull, jeffreys, clopper_pearson):
            assert method(x, n) == near(case[method.__name__]), (method.__name__, x, n)
        assert wilson(x, n) == near(case["scipy_wilson"])
        assert clopper_pearson(x, n) == near(case["scipy_exact"])
        if "one_sided_95_upper_exact" in case:
            assert upper_bound(x, n) == near(case["one_sided_95_upper_exact"])
            assert rule_of_three(n) == near(case["rule_of_three"])


@pytest.mark.parametrize("method", [wald, agresti_coull, jeffreys])
def test_an_interval_over_nothing_is_refused(method: Any) -> None:
    with pytest.raises(ValueError, match="at least one unit"):
        method(0, 0)


def test_g12_the_error_of_a_mean_over_tasks() -> None:
    groups = list(golden("G04")["inputs"]["rewards_by_task"].values())
    told = golden("G12")["expected"]
    values = [value for group in groups for value in group]
    found = paired_difference(values, [at for at, group in enumerate(groups) for _ in group])
    assert (found.value, found.clusters) == (near(told["mean"]), told["clusters"])
    assert found.uncorrected_error == near(told["clustered_se_paper"])
    assert clustering(groups).expected_design_effect == near(told["expected_deff_from_icc"])
    assert list(mean_interval([fmean(group) for group in groups]) or ()) == near(told["t_ci95"])


def test_g13_every_row() -> None:
    for case in golden("G13")["expected"]:
        worse, better = case["b_worse"], case["c_better"]
        test = mcnemar(worse, better)
        assert test.exact == near(case["exact_two_sided"]) == near(case["scipy_binomtest"])
        assert (test.mid_p, test.one_sided_worse) == near((case["mid_p"], case["one_sided_worse"]))
        assert two_sided_e_value(worse, better) == near(case["e_value_beta11"])
        assert e_value(worse, better) == near(case["e_value_one_sided"])


def test_g17_sizes_by_arcsine() -> None:
    for change, tasks in golden("G17")["expected"]["unpaired_cohen_h_statsmodels"].items():
        before, after = map(float, change.split("->"))
        assert unpaired_tasks_by_arcsine(before, after) == tasks


def test_g19_exact_intervals_beside_the_sequence_and_what_peeking_costs() -> None:
    told = golden("G19")["expected"]
    for case in told["confidence_sequences"]:
        assert confidence_sequence(case["x"], case["n"]) == near(case["cs95"])
        assert clopper_pearson(case["x"], case["n"]) == near(case["clopper_pearson"])
    peeking = golden("G19")["inputs"]["peeking"]
    nights, pairs = peeking["nights"], peeking["discordant_per_night"]
    draws = np.random.default_rng(1).binomial(pairs, 0.5, size=(peeking["replicates"], nights)).cumsum(axis=1)
    counts = [pairs * night for night in range(1, nights + 1)]
    rejects = np.zeros(draws.shape, dtype=bool)
    blocks = np.zeros(draws.shape, dtype=bool)
    for night, count in enumerate(counts):
        p = binom.sf(np.arange(count + 1) - 1, count, 0.5)
        bets = np.array([e_value(lost, count - lost) for lost in range(count + 1)])
        rejects[:, night] = (p <= peeking["alpha"])[draws[:, night]]
        blocks[:, night] = (bets >= BLOCKS_AT)[draws[:, night]]
    assert rejects[:, -1].mean() == near(told["fixed_horizon_type1"])
    assert rejects.any(axis=1).mean() == near(told["nightly_peeking_type1"])
    assert blocks.any(axis=1).mean() == near(told["e_value_any_time_type1"])


def test_g20_how_often_the_founding_rules_are_wrong() -> None:
    told = golden("G20")["expected"]
    for tasks, cases in told["rejection_probability_overall_rule"].items():
        n = int(tasks)
        rule = point_rule(0.02, n)
        for what, chance in cases.items():
            flips = {"4%": 0.04, "10%": 0.1, "20%": 0.2}[next(w for w in ("4%", "10%", "20%") if w in what)]
            drop = 0.05 if what.startswith("true 5pp drop") else 0.0
            assert chance_of(rule, n, (flips + drop) / 2, (flips - drop) / 2) == near(chance), (n, what)
    kept = 1.0
    sizes = {"lookup": 15, "synthesis": 13, "refusal": 10, "multistep": 8, "robustness": 4}
    for category, chance in told["rejection_probability_category_rule_no_change_10pct_flip"].items():
        found = chance_of(point_rule(0.05, sizes[category]), sizes[category], 0.05, 0.05)
        assert found == near(chance)
        kept *= 1 - found
    assert 1 - kept == near(told["any_category_false_alarm"])
    floor = told["refusal_floor"]
    assert of_floor(0.9, 10).false_alarm == near(floor["p"])
    assert of_floor(0.9, 20).false_alarm == near(floor["n20"])
    assert wilson(9, 10)[0] == near(floor["wilson_lower_9_of_10"])


def test_g24_from_the_file() -> None:
    case, told = golden("G24")["inputs"], golden("G24")["expected"]
    for (failures, steps), row in zip(case["failures_and_steps"], told["mtbf"], strict=True):
        found = mean_time_between_failures(failures, steps)
        assert (found.lower, found.one_sided_lower) == near((row["lower"], row["one_sided_lower95"]))
        assert (found.value, found.upper) == (near(row["mtbf"]), near(row["upper"]))
    back = recovery(case["recovery_steps"])
    assert (back.recovered, back.censored) == (told["mttr"]["n_recovered"], told["mttr"]["n_censored"])
    assert back.mean_observed == near(told["mttr"]["mean_observed"])
    reach = blast_radius(case["files_changed"], case["limit"])
    assert reach is not None
    assert (reach.median, reach.largest) == (told["blast_radius"]["median"], told["blast_radius"]["max"])
    assert f"{reach.over_limit}/{reach.failures}" == told["blast_radius"]["over_limit"]


# --- golden case G35: how often an interval covers the truth ------------------------------------------------------

REPLICATES = 4000


@cache
def covered(counts: tuple[int, ...], trials: int) -> dict[str, tuple[float, float]]:
    """Return the intervals of tasks by how many of them had so many successes."""
    tasks = [(x, trials) for x, count in enumerate(counts) for _ in range(count)]
    total, units = sum(x for x, _ in tasks), len(tasks) * trials
    means = [x / trials for x, _ in tasks]
    rate = total / units
    return {
        "wald_iid": wald(total, units),
        "wilson_iid": wilson(total, units),
        "cluster_t": (mean_interval(means) if stdev(means) else None) or (rate, rate),
        "wilson_neff": clustered_rate(tasks) or (0.0, 1.0),
    }


def test_g35_the_intervals_cover_as_often_as_was_simulated() -> None:
    case = golden("G35")
    for number, (key, told) in enumerate(case["expected"]["coverage"].items()):
        tasks, trials, mean, icc = (float(part) for part in key.strip("()").split(","))
        draws = np.random.default_rng([3, number])
        size = (1 - icc) / icc
        rates = draws.beta(mean * size, (1 - mean) * size, size=(REPLICATES, int(tasks)))
        solved = draws.binomial(int(trials), rates)
        hits: Counter[str] = Counter()
        for row in solved:
            counts = tuple(int(each) for each in np.bincount(row, minlength=int(trials) + 1))
            for method, (low, high) in covered(counts, int(trials)).items():
                hits[method] += low <= mean <= high
        for method, coverage in told.items():
            assert hits[method] / REPLICATES == pytest.approx(coverage, abs=case["tolerance"]), (key, method)


def test_g35_the_examples() -> None:
    told = golden("G35")["expected"]["examples"]
    rewards = golden("G04")["inputs"]["rewards_by_task"].values()
    tau = [(sum(one), len(one)) for one in rewards]
    assert sum(x for x, _ in tau) / 200 == told["tau_airline"]["point"]
    assert list(clustered_rate(tau) or ()) == near(told["tau_airline"]["wilson_neff"])
    assert list(wilson(84, 200)) == near(told["tau_airline"]["wilson_iid"])
    assert list(clustered_rate([(3, 3)] * 10) or ()) == near(told["all_pass_10x3"]["wilson_neff"])
    assert list(wilson(30, 30)) == near(told["all_pass_10x3"]["wilson_iid"])
