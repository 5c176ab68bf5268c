"""Policies: what they may say, what they decide, and how often they are wrong."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from spanproof_collector.store import open_store
from spanproof_evaluators.__main__ import main
from spanproof_evaluators.errors import DocumentError, PolicyError
from spanproof_evaluators.gates import POLICIES, find_policy, release_policy
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.decisions import Decision
from spanproof_evaluators.model.nights import Nights, read_nights
from spanproof_evaluators.model.policies import LimitGate, Policy, read_policy
from spanproof_evaluators.runner import gate, observed
from spanproof_evaluators.stats.sequential import BLOCKS_AT, e_value
from tests.evaluators.factories import call, suite
from tests.evaluators.founding import SUITE, TRIALS, request
from tests.evaluators.test_reliability import runs
from tests.storing import put

SIZES = {"lookup": 15, "synthesis": 13, "refusal": 10, "multistep": 8, "robustness": 4}
"""The categories of golden case G20, the founding regression gate."""

BASE = {"lookup": 14, "synthesis": 9, "refusal": 9, "multistep": 4, "robustness": 3}
NEW = {"lookup": 14, "synthesis": 10, "refusal": 9, "multistep": 6, "robustness": 3}


def set_of(solved: dict[str, int], sizes: dict[str, int] = SIZES) -> list[Assessment]:
    """Return one trial a task, so many of each category solved."""
    shop = suite(*({"id": f"{name}-{at:02}", "category": name} for name, size in sizes.items() for at in range(size)))
    letters = {
        f"{name}-{at:02}": "s" if at < solved[name] else "f" for name, size in sizes.items() for at in range(size)
    }
    return [replace(one, task=shop.task(one.trial.task_id)) for one in runs(**letters)]


def with_calls(trials: Sequence[Assessment], calls: float) -> list[Assessment]:
    """Return the trials with so many tool calls on average."""
    total = round(calls * len(trials))
    found = []
    for at, one in enumerate(trials):
        count = total // len(trials) + (at < total % len(trials))
        found.append(replace(one, trial=replace(one.trial, tool_calls=tuple(call() for _ in range(count)))))
    return found


def decided(
    new: Sequence[Assessment],
    base: Sequence[Assessment] | None,
    policy: str | Policy = "founding",
    before: Nights | None = None,
) -> Decision:
    found, _ = gate(
        new,
        find_policy(policy) if isinstance(policy, str) else policy,
        name="new",
        baseline=None if base is None else [observed(one) for one in base],
        together=lambda tonight: (before or Nights()).after("tonight", tonight).evidence,
    )
    return found


def said(decision: Decision) -> dict[str, str]:
    return {one.gate.id: one.decision for one in decision.gates}


def seed(of: Decision) -> dict[str, str]:
    """Return what the gates on rates say; tokens are not recorded here."""
    return {name: word for name, word in said(of).items() if name not in ("tokens",)}


def test_the_founding_report_passes_the_founding_gate() -> None:
    # Golden case G20: 42/50 against 39/50, categories as in SIZES, BASE and NEW; steps 4.2 against 6.8.
    found = decided(with_calls(set_of(NEW), 4.2), with_calls(set_of(BASE), 6.8))
    assert set(seed(found).values()) == {"pass"}
    overall = next(one for one in found.gates if one.gate.id == "overall")
    assert overall.measure.value == pytest.approx(0.06)
    tokens = next(one for one in found.gates if one.gate.id == "tokens")
    assert (tokens.decision, tokens.explanation) == ("fail", "50 of 50 tasks have no tokens on one of the two sides")


@pytest.mark.parametrize(
    ("new", "base", "verdict"),
    [(41, 42, "pass"), (40, 42, "fail")],  # a drop of exactly 2 points is not more than 2
)
def test_the_founding_limit_itself_is_kept(new: int, base: int, verdict: str) -> None:
    found = decided(set_of({"refusal": new}, {"refusal": 50}), set_of({"refusal": base}, {"refusal": 50}))
    assert said(found)["overall"] == verdict


@pytest.mark.parametrize(("refusals", "verdict"), [(9, "pass"), (8, "fail")])
def test_nine_refusals_of_ten_are_enough_and_eight_are_not(refusals: int, verdict: str) -> None:
    new = set_of(NEW | {"refusal": refusals})
    assert said(decided(new, new))["refusals"] == verdict
    called = [
        replace(one, task=one.task.model_copy(update={"category": "poprawna_odmowa"}))
        if one.task is not None and one.task.category == "refusal"
        else one
        for one in new
    ]
    assert said(decided(called, called))["refusals"] == verdict  # the founding set's own name of the category


def test_a_category_that_fell_is_named() -> None:
    found = said(decided(set_of(NEW | {"robustness": 2}), set_of(BASE)))
    assert found["category:robustness"] == "fail"
    assert found["category:lookup"] == "pass"


@pytest.mark.parametrize(("new", "base", "verdict"), [(5.46, 4.2, "pass"), (5.6, 4.2, "fail")])
def test_steps_may_grow_by_three_tenths(new: float, base: float, verdict: str) -> None:
    found = decided(with_calls(set_of(NEW), new), with_calls(set_of(NEW), base))
    assert said(found)["steps"] == verdict


def test_without_refusals_the_gate_does_not_pass() -> None:
    sizes = {name: size for name, size in SIZES.items() if name != "refusal"}
    new = set_of({name: NEW[name] for name in sizes}, sizes)
    found = decided(new, new)
    assert said(found)["refusals"] == "fail"
    assert found.decision == "fail"


def test_without_a_baseline_what_needs_one_is_unavailable() -> None:
    found = decided(set_of(NEW), None, "recommended")
    overall = next(one for one in found.gates if one.gate.id == "overall")
    assert (overall.decision, overall.explanation) == ("inconclusive", "no baseline was given")
    assert found.decision != "pass"


def test_every_gate_on_a_rate_says_how_often_it_is_wrong() -> None:
    found = decided(with_calls(set_of(NEW), 4.2), with_calls(set_of(BASE), 6.8))
    refusals = next(one for one in found.gates if one.gate.id == "refusals")
    assert refusals.errors is not None
    # Golden case G20: true skill 0.95, ten items.
    assert refusals.errors.false_alarm == pytest.approx(0.08613835589931651, rel=1e-9)
    overall = next(one for one in found.gates if one.gate.id == "overall").to_json()
    assert isinstance(overall["false_alarm_rate"], float)
    assert 0 < overall["false_alarm_rate"] < 0.5
    assert isinstance(overall["power"], float)
    assert overall["false_alarm_rate"] < overall["power"] < 1


def test_the_false_alarms_of_the_point_rule_are_exact() -> None:
    # Golden case G20: fifty tasks, 10 % flip: 24.6 %.
    letters = "s" * 2 + "f" * 3 + "s" * 45
    new = {f"t{at:02}": letter for at, letter in enumerate("f" * 2 + "s" * 48)}
    base = {f"t{at:02}": letter for at, letter in enumerate(letters)}
    found = decided(runs(**new), runs(**base))
    overall = next(one for one in found.gates if one.gate.id == "overall")
    assert overall.errors is not None
    assert overall.errors.false_alarm == pytest.approx(0.245764563353588, rel=1e-9)


@pytest.mark.parametrize(
    ("worse", "better", "same", "verdict"),
    [(12, 1, 20, "fail"), (0, 0, 60, "pass"), (3, 3, 14, "inconclusive"), (6, 4, 190, "pass")],
)
def test_a_confident_gate_has_three_values(worse: int, better: int, same: int, verdict: str) -> None:
    def of(letters: str) -> list[Assessment]:
        return runs(**{f"t{at:03}": letter for at, letter in enumerate(letters)})

    found = decided(
        of("f" * worse + "s" * better + "s" * same), of("s" * worse + "f" * better + "s" * same), "recommended"
    )
    assert said(found)["overall"] == verdict


@pytest.mark.parametrize(("categories", "verdict"), [(1, "fail"), (3, "pass")])
def test_one_of_several_categories_fails_by_what_holds_for_all_of_them(categories: int, verdict: str) -> None:
    # six losses of six: p = 2/64, which stands alone and not as the smallest of three (Holm: 6/64)
    sizes = {"a": 6, "b": 6, "c": 6}
    sizes = dict(list(sizes.items())[:categories])
    found = decided(set_of(sizes | {"a": 0}, sizes), set_of(sizes, sizes), "recommended")
    fell = next(one for one in found.gates if one.gate.id == "category:a")
    assert fell.decision == verdict
    assert "after Holm" in fell.explanation
    if verdict == "pass":
        assert "neither shown nor ruled out, the policy says pass" in fell.explanation


def test_a_drop_that_cannot_be_is_not_what_a_gate_finds() -> None:
    lost = decided(set_of({"a": 0}, {"a": 1}), set_of({"a": 1}, {"a": 1}), "recommended")
    fell = next(one for one in lost.gates if one.gate.id == "category:a")
    assert fell.errors is not None
    assert fell.errors.mde is None
    assert fell.errors.basis.startswith("a standard error of 1 over 1 task;")


def test_a_gate_on_more_attempts_than_were_made_does_not_pass() -> None:
    def gated(measure: str) -> Decision:
        gates = [{"kind": "limit", "id": "g", "measure": measure, "at_least": 0.1}]
        return decided(runs(a="ss"), None, Policy.model_validate({"id": "p", "owner": "me", "gates": gates}))

    assert said(gated("pass_hat_2")) == {"g": "pass"}
    assert said(gated("pass_hat_3")) == {"g": "inconclusive"}
    assert said(gated("pass_at_3_without_vacuous")) == {"g": "inconclusive"}
    with pytest.raises(PolicyError, match="no measure 'pass_hat_x'"):
        gated("pass_hat_x")


def nightly(before: Nights) -> str:
    base = runs(**{f"t{at}": "s" for at in range(10)})
    new = runs(**{f"t{at}": "f" if at < 3 else "s" for at in range(10)})
    return said(decided(new, base, "nightly", before))["drift"]


def test_nights_add_up_their_evidence() -> None:
    # Three losses of three: 2^3 * 2 * B(4,1) * (1 - 1/16) = 3.75; 3.75 * 5.4 = 20.25
    assert nightly(Nights()) == "pass"
    assert nightly(Nights(evidence=5.4)) == "fail"


def test_looking_at_a_night_again_still_sees_all_nights() -> None:
    assert nightly(Nights(evidence=25.0, counted=("tonight",))) == "fail"
    assert nightly(Nights(evidence=5.4, counted=("tonight",))) == "pass"


def test_a_night_counts_once() -> None:
    nights = Nights().after("a", 2.0).after("b", 3.0)
    assert (nights.evidence, nights.after("a", 100.0)) == (6.0, nights)


def test_a_baseline_that_was_run_for_one_night_counts_for_one() -> None:
    first = Nights().after("a", 8.0, baseline="b1")
    assert first.after("b", 8.0, baseline="b1").evidence == 8.0
    assert first.after("b", 3.0, baseline="b2").evidence == 24.0


def test_nights_against_a_saved_baseline_are_added_up_with_weights_of_1_in_all() -> None:
    one = Nights().after("a", 8.0, baseline="b1", saved=True)
    two = one.after("b", 12.0, baseline="b1", saved=True)
    assert (one.evidence, two.evidence) == (4.0, 6.0)  # 8/2, and 12/6 more
    assert two.after("c", 4.0, baseline="b2", saved=True).evidence == 12.0  # another baseline: 6 * 4/2


@pytest.mark.parametrize("saved", [True, False])
def test_an_equal_variant_is_stopped_in_at_most_one_of_twenty_series_of_nights(saved: bool) -> None:
    # 50 tasks of which five are solved in 8 of 10 attempts: a lucky baseline looks better than every night after it
    draws = random.Random(7)
    evidence = cache(e_value)
    series, stopped = 300, 0
    for _ in range(series):
        before, base = Nights(), [draws.random() < 0.8 for _ in range(5)]
        for night in range(30):
            if not saved:
                base = [draws.random() < 0.8 for _ in range(5)]
            new = [draws.random() < 0.8 for _ in range(5)]
            lost = sum(old and not now for old, now in zip(base, new, strict=True))
            won = sum(now and not old for old, now in zip(base, new, strict=True))
            key = "kept" if saved else str(night)
            before = before.after(str(night), evidence(lost, won), baseline=key, saved=saved)
            if before.evidence >= BLOCKS_AT:
                stopped += 1
                break
    assert stopped / series <= 0.05 + 2 * (0.05 * 0.95 / series) ** 0.5


def test_the_recommended_gates_are_those_of_the_report() -> None:
    ours = {gate.id: gate for gate in release_policy()}
    for spec in find_policy("recommended").gates:
        if isinstance(spec, LimitGate):
            built_in = ours[spec.id]
            limit = spec.at_least if spec.at_least is not None else spec.at_most
            assert (spec.measure, spec.what, limit, spec.hard) == (
                built_in.measure,
                built_in.what,
                built_in.limit,
                built_in.hard,
            )
            assert (spec.on_empty, spec.on_unavailable) == (built_in.on_empty, built_in.on_unavailable)


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_that_comes_along_can_be_read(name: str) -> None:
    assert find_policy(name).id == name


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("id: x\nowner: me\ngates:\n- {kind: drop, id: a, at_mots: 0.1}", "Did you mean 'at_most'?"),
        ("id: x\ngates:\n- {kind: drop, id: a, at_most: 0.1}", "owner: missing"),
        ("id: x\nowner: me\ngates:\n- {kind: drop, id: a, at_most: 2}", "less than or equal to 1"),
        ("id: x\nowner: me\ngates: []", "at least 1"),
        ("id: x\nowner: me\ngates:\n- {kind: limit, id: a, measure: m}", "one of them"),
        (
            "id: x\nowner: me\ngates:\n- {kind: category, id: a, category: c, at_least: 0.1, on_unavailable: pass}",
            "inconclusive",
        ),
        (
            "id: x\nowner: me\ngates:\n- {kind: drop, id: a, at_most: 0}\n- {kind: drop, id: a, at_most: 0}",
            "two gates are called 'a'",
        ),
    ],
)
def test_a_policy_that_is_none_is_refused_with_what_is_wrong(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(PolicyError) as refused:
        read_policy(tmp_path / "p.yaml")
    assert says in str(refused.value)


def test_a_measure_that_there_is_not_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("id: x\nowner: me\ngates:\n- {kind: limit, id: a, measure: solve, at_least: 1}")
    with pytest.raises(PolicyError, match="no measure 'solve'"):
        decided(set_of(NEW), None, read_policy(tmp_path / "p.yaml"))


def test_a_file_of_nights_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "n.json").write_text('{"evidence": -1}')
    with pytest.raises(DocumentError, match="evidence"):
        read_nights(tmp_path / "n.json")


# --- the commands -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gating")
    (folder / "suite.json").write_text(json.dumps(SUITE))
    with open_store(f"chdb://{folder}/store") as store:
        put(store, *(request(one) for one in TRIALS))
    asked = ["--store", f"chdb://{folder}/store", "--suite", str(folder / "suite.json"), "--include-unsettled"]
    assert main(["evaluate", *asked]) == 0
    return folder


def run(place: Path, *arguments: str) -> int:
    return main([*arguments, "--store", f"chdb://{place}/store", "--suite", str(place / "suite.json")])


def test_the_founding_variants_by_their_exit_codes(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "own.yaml").write_text(
        "id: own\nowner: Ada\ngates:\n"
        "- {kind: limit, id: false_success, measure: false_success_rate, what: numerator, at_most: 0, on_empty: fail}\n"
        "- {kind: limit, id: cost, measure: cost_per_verified_outcome, at_most: '0.60'}\n"
    )
    own = ("gate", "--policy", str(place / "own.yaml"))
    assert run(place, *own, "--variant", "stable v1") == 0
    capsys.readouterr()
    assert run(place, *own, "--variant", "fast v2", "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["decision"], found["decided_by"]) == ("fail", "false_success")
    assert [one["decision"] for one in found["gates"]] == ["fail", "fail"]
    assert found["gates"][0]["owner"] == "Ada"
    assert found["gates"][0]["power"] == pytest.approx(1 - 0.95**5)
    assert run(place, "gate", "--variant", "stable v1") == 3
    assert "INCONCLUSIVE" in capsys.readouterr().out


def test_one_variant_is_judged_and_has_to_be_named(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(place, "gate") == 2
    assert "fast v2, stable v1" in capsys.readouterr().err


def test_a_baseline_is_saved_listed_compared_and_removed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = ["--baselines", str(place / "kept")]
    assert run(place, "baseline", "save", "stable", "--variant", "stable v1", *kept) == 0
    assert run(place, "baseline", "save", "stable", "--variant", "stable v1", *kept) == 2
    assert "is there already" in capsys.readouterr().err
    assert main(["baseline", "list", *kept, "--json"]) == 0
    (listed,) = capsys.readouterr().out.splitlines()
    assert (json.loads(listed)["variant"], json.loads(listed)["trials"]) == ("stable v1", 5)
    for baseline in ("stable", "stable v1"):
        run(place, "gate", "--variant", "fast v2", "--baseline", baseline, *kept, "--json")
        overall = next(one for one in json.loads(capsys.readouterr().out)["gates"] if one["id"] == "overall")
        assert overall["measure"]["value"] == pytest.approx(
            -1 / 4
        )  # four tasks have a verdict on both sides, one is lost
    for baseline in ("stable", "stable v1"):
        assert run(place, "report", "--variant", "fast v2", "--baseline", baseline, *kept, "--json") == 0
        told = json.loads(capsys.readouterr().out)["baseline"]
        solved = told["measures"]["solve_rate"]
        assert (told["name"], solved["numerator"], solved["denominator"], solved["excluded"]) == (
            baseline, 4, 4, {"waiting": 1}
        )  # fmt: skip
    assert main(["baseline", "remove", "stable", *kept]) == 0
    assert run(place, "report", "--baseline", "stable", *kept) == 2
    assert run(place, "gate", "--variant", "fast v2", "--baseline", "stable", *kept) == 2
    assert "is no saved baseline" in capsys.readouterr().err


def test_the_schema_is_published(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", "--schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert {"LimitGate", "CategoryGate", "DropGate", "GrowthGate"} <= schema["$defs"].keys()
    assert schema["additionalProperties"] is False


def test_nights_are_kept_in_a_file_and_counted_once(place: Path) -> None:
    nights = place / "nights.json"
    for _ in range(2):
        run(
            place,
            "gate",
            "--policy",
            "nightly",
            "--variant",
            "fast v2",
            "--baseline",
            "stable v1",
            "--nights",
            str(nights),
        )
    found = read_nights(nights)
    assert len(found.counted) == 1
    assert found.evidence > 0
