"""Comparisons: what is refused, what is said, and how sure."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from spanproof_collector.store import open_store
from spanproof_evaluators.__main__ import main
from spanproof_evaluators.errors import UnequalSetsError
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.comparisons import Comparison
from spanproof_evaluators.runner import compare as compare_observations
from spanproof_evaluators.runner import observed
from tests.evaluators.factories import assessed, suite, trial
from tests.evaluators.shop import SUITE, attempt
from tests.evaluators.test_reliability import runs
from tests.storing import put


def compare(
    a: Sequence[Assessment], b: Sequence[Assessment], *, names: tuple[str, str], margin: float = 0.05
) -> Comparison:
    """Compare assessed trials."""
    return compare_observations([*map(observed, a)], [*map(observed, b)], names=names, margin=margin)


def pairs(*, worse: int, better: int, same: int, margin: float = 0.05) -> Comparison:
    """Compare over tasks tried once each."""
    old = "s" * worse + "f" * better + "s" * same
    new = "f" * worse + "s" * better + "s" * same
    a, b = ({f"t{at:04}": letter for at, letter in enumerate(letters)} for letters in (old, new))
    return compare(runs(**a), runs(**b), names=("a", "b"), margin=margin)


def test_six_losses_and_four_gains_of_two_hundred_stay_within_five_points_and_not_within_two() -> None:
    # evaluators.md B41: -1.0 pp, SE 1.58, lower -3.6 pp.
    found = pairs(worse=6, better=4, same=190)
    assert found.solve_rate.difference == pytest.approx(-0.01)
    assert found.solve_rate.standard_error == pytest.approx(0.0158, abs=5e-5)
    assert found.solve_rate.lower == pytest.approx(-0.036, abs=2e-4)
    assert found.verdict == "non_inferior"
    assert pairs(worse=6, better=4, same=190, margin=0.02).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("worse", "better", "same", "verdict"),
    [
        (12, 1, 20, "regressed"),
        (1, 12, 20, "improved"),
        (0, 0, 20, "inconclusive"),  # up to 14 % may still lose
        (0, 0, 60, "non_inferior"),  # at most 4.9 %
        (3, 3, 14, "inconclusive"),
        (1, 0, 0, "inconclusive"),  # one task says nothing of the spread
    ],
)
def test_the_verdict_has_three_values(worse: int, better: int, same: int, verdict: str) -> None:
    assert pairs(worse=worse, better=better, same=same).verdict == verdict


def test_single_trials_are_tested_by_mcnemar_and_repeated_ones_by_sign_flips() -> None:
    assert pairs(worse=6, better=0, same=4).solve_rate.p_value == pytest.approx(0.03125)
    found = compare(runs(a="ss", b="ss", c="sf"), runs(a="fs", b="ff", c="ff"), names=("a", "b")).solve_rate
    assert (found.p_value, found.p_method) == (0.25, "sign flips of task differences")
    assert (found.worse, found.better) == (3, 0)
    assert found.difference == pytest.approx(-2 / 3)


def test_of_what_explains_less_is_better() -> None:
    claims = [assessed(trial(task_id="x"), "verified"), assessed(trial("t2", task_id="y"), "verified")]
    false = [assessed(trial("t3", task_id="x"), "failed"), assessed(trial("t4", task_id="y"), "verified")]
    beside = {one.name: one for one in compare(claims, false, names=("a", "b")).beside}
    assert (beside["false_success"].difference, beside["false_success"].worse) == (0.5, 1)
    assert beside["false_success"].better == 0


@pytest.mark.parametrize(("lost", "verdict"), [(1, "inconclusive"), (4, "inconclusive"), (5, "regressed")])
def test_tasks_that_all_fell_show_it_when_a_coin_would_not(lost: int, verdict: str) -> None:
    found = pairs(worse=lost, better=0, same=0)
    assert (found.verdict, found.solve_rate.difference) == (verdict, -1.0)
    # the sign test says the same: five losses in a row are 1 in 32, four are 1 in 16
    assert (0.5**lost <= 0.05) == (verdict == "regressed")


@pytest.mark.parametrize(
    ("a", "b", "says"),
    [
        ({"x": "s", "y": "s"}, {"x": "s"}, "only a has y"),
        ({"x": "s"}, {"x": "s", "z": "f"}, "only b has z"),
        ({"x": "ss"}, {"x": "s"}, "tried unequally often: x (2 and 1)"),
        ({}, {"x": "s"}, "a has no trial"),
    ],
)
def test_other_tasks_or_other_repeats_are_refused_by_name(a: dict[str, str], b: dict[str, str], says: str) -> None:
    with pytest.raises(UnequalSetsError) as refused:
        compare(runs(**a), runs(**b), names=("a", "b"))
    assert says in str(refused.value)


def test_a_trial_without_a_task_cannot_be_paired() -> None:
    with pytest.raises(UnequalSetsError, match="has no task"):
        compare([assessed(trial(task_id=None))], runs(x="s"), names=("a", "b"))


def test_a_trial_without_a_verdict_leaves_it_open() -> None:
    letters = {f"t{at}": "ss" for at in range(80)}
    found = compare(runs(**letters), runs(**letters | {"t0": "s?"}), names=("a", "b"))
    assert (found.verdict, found.solve_rate.trials_without) == ("inconclusive", 1)
    assert found.solve_rate.reason == "trials without a verdict may change it"


def test_what_the_infrastructure_broke_is_no_attempt_and_is_counted() -> None:
    letters = {f"t{at}": "ss" for at in range(80)}
    found = compare(runs(**letters), runs(**letters | {"t0": "si"}), names=("a", "b"))
    assert (found.verdict, found.solve_rate.trials_left_out) == ("non_inferior", 1)


def test_a_claim_that_nobody_could_read_is_no_absence_of_false_success() -> None:
    silent = assessed(trial(claim="unavailable"), "failed")
    assert observed(silent).false_success is None
    assert observed(assessed(trial(claim="none"), "failed")).false_success is False


def labeled(name: str, **labels: str) -> list[Assessment]:
    return [assessed(replace(trial(f"{name}-{at}", task_id=f"t{at}"), labels=labels)) for at in range(3)]


def test_labels_that_differ_are_named() -> None:
    a, b = (labeled(name, harness=name.upper(), prompt="p1", trial=name) for name in ("a", "b"))
    found = compare(a, b, names=("a", "b"))
    assert found.differing == {"harness": (("A",), ("B",))}


def test_a_category_that_fell_beyond_chance_is_a_veto() -> None:
    tasks = [{"id": f"t{at:02}", "category": "refusal" if at < 8 else "lookup"} for at in range(40)]
    shop = suite(*tasks)

    def judged(letters: str) -> list[Assessment]:
        found = runs(**{f"t{at:02}": letter for at, letter in enumerate(letters)})
        return [replace(one, task=shop.task(one.trial.task_id)) for one in found]

    found = compare(judged("s" * 8 + "f" * 8 + "s" * 24), judged("f" * 8 + "s" * 32), names=("a", "b"))
    refusal = next(one for one in found.categories if one.name == "refusal")
    assert refusal.p_adjusted == pytest.approx(2 * 0.0078125)
    assert (refusal.verdict, found.solve_rate.difference, found.verdict) == ("regressed", 0.0, "regressed")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("comparing")
    (folder / "suite.json").write_text(json.dumps(SUITE))
    with open_store(f"chdb://{folder}/store") as store:
        put(store, attempt("one"), attempt("two", variant="fast", refunds=[], at=10))
    asked = ["--store", f"chdb://{folder}/store", "--suite", str(folder / "suite.json"), "--include-unsettled"]
    assert main(["evaluate", *asked]) == 0
    return folder


def test_the_command_prints_json_and_says_by_its_exit_code_what_it_found(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    code = main(["compare", "careful", "fast", "--store", f"chdb://{place}/store", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert code == 3
    assert (found["verdict"], found["tasks"], found["trials_each"]) == ("inconclusive", 1, 1)
    assert (found["solve_rate"]["a"], found["solve_rate"]["b"]) == (1.0, 0.0)


def test_the_command_says_what_it_compares(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["compare", "careful", "fast", "--store", f"chdb://{place}/store"])
    shown = capsys.readouterr().out
    assert "fast against careful: 1 task, 1 trial each" in shown
    assert "INCONCLUSIVE" in shown


def test_an_unknown_variant_is_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "careful", "nobody", "--store", f"chdb://{place}/store"]) == 2
    assert "nobody has no trial" in capsys.readouterr().err


def test_trials_without_a_variant_are_asked_for_as_a_report_names_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = f"chdb://{tmp_path}/store"
    with open_store(address) as store:
        put(store, attempt("one", variant=""), attempt("two", variant="fast", refunds=[], at=10))
    told = ["--store", address, "--baselines", str(tmp_path / "saved")]
    assert main(["baseline", "save", "old", *told]) == 2
    assert "There are: (none), fast" in capsys.readouterr().err
    assert main(["baseline", "save", "old", *told, "--variant", "(none)"]) == 0
    assert "saved 1 trials of (none)" in capsys.readouterr().err
    assert main(["compare", "(none)", "fast", "--store", address, "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert (found["a"], found["trials_each"]) == ("(none)", 1)
