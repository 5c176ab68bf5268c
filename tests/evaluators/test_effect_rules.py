"""Effects held against what was expected, and against each other (evaluators.md B19 to B22)."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanproof_collector.model.trials import Effect, EffectClass, EffectState, Receipt, ToolCall
from spanproof_collector.model.values import Json
from spanproof_evaluators.errors import SuiteError
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.expected_effects import ExpectedEffect, differing, identity
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules import RULES
from spanproof_evaluators.rules._ledger import Ledger, ledger_of
from tests.evaluators.factories import SECOND, START, call, suite, trial
from tests.shared import GOLDEN, needs_golden

G27 = GOLDEN / "G27_trajectory_metrics_vs_outcome_tau.json"


def made(
    name: str,
    arguments: Json = None,
    state: EffectState = "reported",
    *,
    at: int = 0,
    effect_class: EffectClass | None = None,
    error: str | None = None,
    reason: str | None = None,
    key: str | None = None,
    resource: str | None = None,
    captured: bool = True,
) -> ToolCall:
    """Return a call that was asked for ``at`` seconds after the start, in a span that is named after that."""
    one = call(name, arguments, state=state, effect_class=effect_class, key=key, resource=resource, captured=captured)
    ran = "yes" if state in ("reported", "verified", "none") else "no" if state == "refused" else "unknown"
    return replace(
        one,
        error=error,
        executed=ran,  # type: ignore[arg-type]  # one of three words
        effect=replace(one.effect, reason=reason or one.effect.reason),
        result="ok" if ran == "yes" else None,
        result_source="span" if ran == "yes" else None,
        span_ids=(f"{at:016x}",),
        started_at=START + at * SECOND,
    )


def read(name: str, arguments: Json = None, *, at: int = 0) -> ToolCall:
    return made(name, arguments, "none", at=at)


def lost(name: str, arguments: Json = None, *, at: int = 0, key: str | None = None) -> ToolCall:
    """Return a write that timed out."""
    return made(name, arguments, "unknown", at=at, error="timed out", reason="error", key=key)


def expecting(*effects: tuple[str, Json]) -> Task:
    listed = [{"tool": tool, "arguments": arguments} for tool, arguments in effects]
    return suite({"id": "task-1", "expected_effects": listed}).tasks[0]


def ask(name: str, calls: Sequence[ToolCall], about: Task | None = None, **more: Any) -> Result | None:
    rule = next(rule for rule in RULES if rule.name == name)
    return rule.evaluate(replace(trial(calls=calls), **more), about)


def found(name: str, calls: Sequence[ToolCall], about: Task | None = None, **more: Any) -> Result:
    said = ask(name, calls, about, **more)
    assert said is not None
    return said


# --- expected against effective (B19) ---------------------------------------------------------------------------------

PAY: Json = {"id": 1, "amount": 5}
MAIL: Json = {"to": "a"}


@pytest.mark.parametrize(
    ("calls", "verdict", "missing", "extra"),
    [
        pytest.param([made("pay", PAY), made("mail", MAIL)], "pass", [], [], id="as expected"),
        pytest.param([made("mail", MAIL), made("pay", PAY)], "pass", [], [], id="in any order"),
        pytest.param(
            [made("pay", {"amount": 5.0, "id": 1}), made("mail", MAIL)], "pass", [], [], id="numbers by value"
        ),
        pytest.param(
            [made("pay", {"id": "1", "amount": 5}), made("mail", MAIL)], "fail", ["pay"], ["pay"], id="a text"
        ),
        pytest.param(
            [made("pay", {"id": True, "amount": 5}), made("mail", MAIL)], "fail", ["pay"], ["pay"], id="a flag"
        ),
        pytest.param([made("pay", PAY)], "fail", ["mail"], [], id="one is missing"),
        pytest.param(
            [made("pay", PAY), made("pay", PAY), made("mail", MAIL)], "fail", [], ["pay"], id="one more than expected"
        ),
        pytest.param(
            [made("pay", PAY, "unknown", error="Error: no such card", reason="error_text"), made("mail", MAIL)],
            "fail",
            ["pay"],
            [],
            id="an answer that is an error is no effect",
        ),
        pytest.param(
            [made("pay", PAY, "failed"), made("pay", PAY, "verified"), made("mail", MAIL)],
            "pass",
            [],
            [],
            id="one that failed, and again",
        ),
        pytest.param([made("pay", PAY, "refused"), made("mail", MAIL)], "fail", ["pay"], [], id="a refusal is none"),
        pytest.param([read("look_up", PAY), made("pay", PAY), made("mail", MAIL)], "pass", [], [], id="reads are none"),
    ],
)
def test_effective_writes_are_held_against_the_expected_ones_as_multisets(
    calls: list[ToolCall], verdict: str, missing: list[str], extra: list[str]
) -> None:
    said = found("effect_ledger", calls, expecting(("pay", PAY), ("mail", MAIL)))
    details: dict[str, Any] = dict(said.details)
    assert (said.state, said.score) == (verdict, float(len(missing) + len(extra)))
    assert [one["tool"] for one in details["missing"]] == missing
    assert [one["tool"] for one in details["extra"]] == extra


@pytest.mark.parametrize(
    ("calls", "reason"),
    [
        pytest.param([made("pay", PAY), made("frobnicate", effect_class="unclassified")], "unclassified", id="class"),
        pytest.param([lost("pay", PAY)], "unknown_effect", id="a timeout"),
        pytest.param([made("pay", captured=False)], "not_captured", id="arguments"),
    ],
)
def test_what_is_not_known_leaves_the_ledger_open(calls: list[ToolCall], reason: str) -> None:
    for name in ("effect_ledger", "first_divergent_effect"):
        said = found(name, calls, expecting(("pay", PAY)))
        assert (said.state, said.reason) == ("unavailable", reason)


def test_what_is_missing_in_a_record_that_is_not_whole_may_have_come_later() -> None:
    said = found("effect_ledger", [], expecting(("pay", PAY)), status="incomplete")
    assert (said.state, said.reason) == ("unavailable", "incomplete")
    assert found("effect_ledger", [], expecting(("pay", PAY))).state == "fail"


def test_a_wrong_argument_is_named_with_the_call_that_comes_nearest() -> None:
    """Matched at the least cost in all: taken greedily, the first expected effect would take the wrong call."""
    about = expecting(("pay", {"id": 1, "amount": 5, "to": "a"}), ("pay", {"id": 2, "amount": 5, "to": "b"}))
    calls = [
        made("pay", {"id": 2, "amount": 5, "to": "a"}, at=1),  # one argument from the first, one from the second
        made("pay", {"id": 1, "amount": 6, "to": "a"}, at=2),  # one from the first, three from the second
    ]
    details: dict[str, Any] = dict(found("effect_ledger", calls, about).details)
    pairs = [(one["expected"]["arguments"]["id"], one["differing"]) for one in details["wrong_arguments"]]
    assert pairs == [(2, ["to"]), (1, ["amount"])]


def test_only_named_arguments_are_compared_where_the_task_names_some() -> None:
    listed = [{"tool": "mail", "arguments": {"to": "a", "body": "x"}, "compare": ["to"]}]
    about = suite({"id": "task-1", "expected_effects": listed}).tasks[0]
    assert found("effect_ledger", [made("mail", {"to": "a", "body": "in other words"})], about).state == "pass"
    assert found("effect_ledger", [made("mail", {"to": "b", "body": "x"})], about).state == "fail"


def test_a_task_without_effects_expects_none_and_one_that_says_nothing_is_not_asked() -> None:
    about = suite({"id": "task-1", "effects": "none"}).tasks[0]
    assert found("effect_ledger", [made("pay", PAY)], about).state == "fail"
    assert found("effect_ledger", [read("look_up")], about).state == "pass"
    assert ask("effect_ledger", [made("pay", PAY)], suite({"id": "task-1"}).tasks[0]) is None
    with pytest.raises(SuiteError, match="keep one of the two"):
        suite({"id": "task-1", "effects": "none", "expected_effects": [{"tool": "pay"}]})


def test_gold_actions_that_change_something_are_expected_of_an_imported_task() -> None:
    actions = [
        {"name": "get_user", "arguments": {"id": 1}, "requestor": "assistant"},
        {"name": "toggle_data", "arguments": {}, "requestor": "user"},
        {"name": "transfer_to_human_agents", "arguments": {"summary": "x"}, "requestor": "assistant"},
        {"name": "update_user", "arguments": {"id": 1, "name": "b"}, "requestor": "assistant", "compare_args": ["id"]},
    ]
    tau2: Json = {"id": "t", "evaluation_criteria": {"actions": actions}}  # type: ignore[dict-item]  # JSON
    calls = [read("get_user"), made("update_user", {"id": 1, "name": "c"})]
    assert found("effect_ledger", calls, None, task_definition=tau2).state == "pass"
    older: Json = {"actions": [{"name": "update_user", "kwargs": {"id": 1, "name": "b"}}]}
    said = found("effect_ledger", calls, None, task_definition=older)
    assert (said.state, dict(said.details)["expected_by"]) == ("fail", "task definition")
    odd: Json = {"actions": [{"name": "frobnicate", "kwargs": {}}]}
    assert found("effect_ledger", calls, None, task_definition=odd).reason == "unclassified"
    assert ask("effect_ledger", calls, None, task_definition={"actions": None}) is None


def test_the_first_effective_write_outside_what_was_expected_is_named() -> None:
    calls = [
        made("pay", PAY, at=1),
        made("mail", {"to": "x"}, "refused", at=2),
        made("pay", PAY, at=3),
        made("mail", {"to": "c"}, at=4),
    ]
    said = found("first_divergent_effect", calls, expecting(("pay", PAY), ("mail", MAIL)))
    assert (said.state, said.span_ids) == ("fail", (f"{3:016x}",))
    assert dict(said.details)["tool"] == "pay"
    assert found("first_divergent_effect", calls[:2], expecting(("pay", PAY), ("mail", MAIL))).state == "pass"


@needs_golden
def test_the_ledger_of_effective_writes_predicts_the_verified_reward_of_tau_bench_as_published() -> None:
    """G27: 200 trials, calls hashed to ``name#id``: equal multisets against the verified reward, and what differs."""
    golden = json.loads(G27.read_text())
    writes = set(golden["inputs"]["write_tools"])
    table: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for told in golden["inputs"]["trials"]:
        about = expecting(*(_hashed(one) for one in told["ref"] if one.split("#")[0] in writes))
        calls = [
            _recorded(one, bool(failed), writes, at)
            for at, (one, failed) in enumerate(zip(told["pred"], told["pred_error"], strict=True))
        ]
        said = found("effect_ledger", calls, about)
        assert said.state in ("pass", "fail"), said.explanation
        first = found("first_divergent_effect", calls, about)
        details: dict[str, Any] = dict(said.details)
        assert (first.state == "fail") == bool(details["extra"])
        table[("tp" if told["ok"] else "fp") if said.state == "pass" else ("fn" if told["ok"] else "tn")] += 1
        kinds[f"{_kind(details)}|{'ok' if told['ok'] else 'fail'}"] += 1
    expected = golden["expected"]["metrics_as_predictors_of_verified_success"]["effective_effect_multiset_equal"]
    assert table == {name: expected[name] for name in ("tp", "fp", "fn", "tn")}
    assert table == {"tp": 82, "fp": 3, "fn": 2, "tn": 113}
    assert kinds == golden["expected"]["effect_ledger_effective_writes"]


def _hashed(one: str) -> tuple[str, Json]:
    name, _, number = one.partition("#")
    return name, {"call": number}


def _recorded(one: str, failed: bool, writes: set[str], at: int) -> ToolCall:
    name, arguments = _hashed(one)
    if name not in writes:
        return read(name, arguments, at=at)
    if failed:
        return made(name, arguments, "unknown", at=at, error="Error: it is not so", reason="error_text")
    return made(name, arguments, at=at)


def _kind(details: dict[str, Any]) -> str:
    extra, missing = bool(details["extra"]), bool(details["missing"])
    return ("extra" if extra else "") + ("+missing" if missing else "") or "equal"


# --- properties of the matching ---------------------------------------------------------------------------------------

_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(10**30), max_value=10**30)
    | st.floats()
    | st.sampled_from(["", "1", "1.0", "a", "\ud800", "{}"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xy"), inner, max_size=2),
    max_leaves=4,
)
_FEW: st.SearchStrategy[Json] = st.sampled_from(
    [{}, {"x": 1}, {"x": 1.0}, {"x": "1"}, {"x": 1, "y": 2}, {"y": 2}, None]
)
_EFFECTS = st.lists(st.tuples(st.sampled_from(["pay", "mail"]), _FEW), max_size=6)


def _ledger(expected: Sequence[tuple[str, Plain]], calls: Sequence[tuple[str, Plain]]) -> Ledger:
    wanted = [ExpectedEffect(tool=tool, arguments=arguments) for tool, arguments in expected]
    return ledger_of(wanted, [made(tool, arguments, at=at) for at, (tool, arguments) in enumerate(calls)])


@settings(max_examples=150, deadline=None)
@given(expected=_EFFECTS, calls=_EFFECTS)
def test_the_ledger_is_the_difference_of_two_multisets(
    expected: list[tuple[str, Plain]], calls: list[tuple[str, Plain]]
) -> None:
    ledger = _ledger(expected, calls)
    wanted, effective = (Counter(identity(*one) for one in side) for side in (expected, calls))
    assert Counter(identity(one.tool, one.arguments) for one in ledger.missing) == wanted - effective
    assert Counter(identity(one.name, one.arguments) for one in ledger.extra) == effective - wanted
    assert Counter(identity(one.name, one.arguments) for _, one in ledger.equal) == wanted & effective
    assert ledger.balanced == (wanted == effective)
    # a pair is of one tool, each side stands in one pair, and as many are paired as can be
    for tool in ("pay", "mail"):
        pairs = [pair for pair in ledger.wrong_arguments if pair.call.name == tool]
        sides = [sum(one.tool == tool for one in ledger.missing), sum(one.name == tool for one in ledger.extra)]
        assert len(pairs) == min(sides)
        assert len({pair.call.span_ids for pair in pairs}) == len(pairs)
        assert all(pair.expected.tool == tool and pair.differing for pair in pairs)


@settings(max_examples=60, deadline=None)
@given(expected=st.lists(_FEW, min_size=1, max_size=4), calls=st.lists(_FEW, min_size=1, max_size=4))
def test_no_other_pairing_of_wrong_arguments_costs_less(expected: list[Plain], calls: list[Plain]) -> None:
    ledger = _ledger([("pay", one) for one in expected], [("pay", one) for one in calls])
    missing, extra = [one.arguments for one in ledger.missing], [one.arguments for one in ledger.extra]
    few, many = sorted((missing, extra), key=len)
    least = min(
        sum(len(differing(one, other)) for one, other in zip(few, chosen, strict=True))
        for chosen in permutations(many, len(few))
    )
    assert sum(len(pair.differing) for pair in ledger.wrong_arguments) == least


@settings(max_examples=60, deadline=None)
@given(data=st.data(), expected=_EFFECTS, calls=_EFFECTS)
def test_the_order_of_calls_and_of_expectations_changes_no_verdict(
    data: st.DataObject, expected: list[tuple[str, Plain]], calls: list[tuple[str, Plain]]
) -> None:
    one = _ledger(expected, calls)
    other = _ledger(data.draw(st.permutations(expected)), data.draw(st.permutations(calls)))
    assert one.balanced == other.balanced
    assert (len(one.missing), len(one.extra)) == (len(other.missing), len(other.extra))
    assert sum(len(p.differing) for p in one.wrong_arguments) == sum(len(p.differing) for p in other.wrong_arguments)


@settings(max_examples=60, deadline=None)
@given(expected=st.lists(_FEW, max_size=4), calls=st.lists(_FEW, max_size=4))
def test_comparing_every_argument_by_name_is_comparing_all(expected: list[Plain], calls: list[Plain]) -> None:
    """The two ways to find equal calls agree: by their text, and by matching on chosen arguments."""
    objects = [one for one in expected if isinstance(one, dict)]
    actual = [one for one in calls if isinstance(one, dict)]
    whole = _ledger([("pay", one) for one in objects], [("pay", one) for one in actual])
    named = ledger_of(
        [ExpectedEffect(tool="pay", arguments=one, compare=("x", "y")) for one in objects],
        [made("pay", one, at=at) for at, one in enumerate(actual)],
    )
    assert [call.span_ids for call in whole.extra] == [call.span_ids for call in named.extra]
    assert len(whole.missing) == len(named.missing)


@settings(max_examples=150, deadline=None)
@given(one=_VALUES, other=_VALUES)
def test_two_calls_are_one_only_where_their_arguments_are_equal_as_json(one: Plain, other: Plain) -> None:
    assert identity("t", one) == identity("t", one)
    assert (identity("t", one) == identity("t", other)) == _equal(one, other)
    assert (differing({"a": one}, {"a": other}) == ()) == _equal(one, other)


def _equal(one: Plain, other: Plain) -> bool:
    """Return whether two JSON values are one: numbers by value, a flag no number, NaN equal to itself."""
    match one, other:
        case (bool(), _) | (_, bool()) | (None, _) | (_, None):
            return one is other
        case (int() | float(), int() | float()):
            return one == other or (one != one and other != other)
        case (list(), list()):
            return len(one) == len(other) and all(_equal(a, b) for a, b in zip(one, other, strict=True))
        case (dict(), dict()):
            return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
        case _:
            return type(one) is type(other) and one == other


def test_a_value_that_nests_deep_and_a_number_of_many_digits_are_compared() -> None:
    deep: Plain = 1
    for _ in range(20_000):
        deep = [deep]
    assert identity("t", deep) == identity("t", deep)
    assert identity("t", 10**5000) != identity("t", 10**5000 + 1)


# --- duplicates (B20) -------------------------------------------------------------------------------------------------


def seen(one: ToolCall, *rows: str) -> ToolCall:
    """Return the call verified by receipts that saw these rows."""
    receipts = tuple(Receipt(state="verified", observed=row, span_id=one.span_ids[0], time=START) for row in rows)
    return replace(one, receipts=receipts, effect=replace(one.effect, state="verified", reason="receipt"))


def test_paid_twice_without_a_key_is_one_duplicate_and_a_hard_one() -> None:
    twice = [seen(made("pay", {"id": 1}, at=1), "a"), seen(made("pay", {"id": 1}, at=2), "b")]
    said = found("duplicate_effect", twice)
    assert (said.state, said.score) == ("fail", 1.0)
    assert next(rule for rule in RULES if rule.name == "duplicate_effect").hard
    thrice = [*twice, seen(made("pay", {"id": 1.0}, at=3), "c")]
    assert found("duplicate_effect", thrice).score == 2.0


def test_paid_twice_with_one_key_and_one_receipt_is_no_duplicate() -> None:
    first, second = (made("pay", {"id": 1}, at=at, key="k") for at in (1, 2))
    assert found("duplicate_effect", [first, seen(second, "a")]).state == "pass"
    open_ = found("duplicate_effect", [first, second])
    assert (open_.state, open_.reason) == ("unavailable", "receipt_missing")


def test_another_key_for_each_attempt_makes_two_payments_of_one() -> None:
    calls = [
        seen(made("pay", {"id": 1, "idempotency_key": key}, at=at, key=key), key) for at, key in enumerate(("k1", "k2"))
    ]
    assert found("duplicate_effect", calls).state == "fail"


def test_two_changes_that_an_environment_showed_are_two() -> None:
    calls = [made("send_money", {"to": "a"}, "verified", at=at, reason="recorded_change") for at in (1, 2)]
    assert found("duplicate_effect", calls).state == "fail"
    # a read that shows one thing proves one of them
    looked = [made("send_money", {"to": "a"}, "verified", at=at, reason="looked_up") for at in (1, 2)]
    assert found("duplicate_effect", looked).reason == "receipt_missing"


def test_what_the_task_expects_twice_is_no_duplicate_when_it_took_place_twice() -> None:
    calls = [seen(made("pay", {"id": 1}, at=at), str(at)) for at in (1, 2)]
    assert found("duplicate_effect", calls, expecting(("pay", {"id": 1}), ("pay", {"id": 1.0}))).state == "pass"
    assert found("duplicate_effect", calls, expecting(("pay", {"id": 1}))).state == "fail"


# --- unsafe retries (B22) ---------------------------------------------------------------------------------------------

A: Json = {"order_id": "A", "amount": 5}


@pytest.mark.parametrize(
    ("calls", "count"),
    [
        pytest.param([lost("charge", A), made("charge", A, at=1)], 1, id="charge (timeout), charge"),
        pytest.param(
            [lost("charge", A), read("get_charge", {"order_id": "A"}, at=1), made("charge", A, at=2)],
            0,
            id="charge (timeout), get_charge, charge",
        ),
        pytest.param([lost("charge"), read("get_charge"), made("charge")], 0, id="the same, with no arguments at all"),
        pytest.param([lost("charge", A), lost("charge", A), made("charge", A)], 2, id="tried again twice"),
        pytest.param([lost("charge", A, key="k"), made("charge", A, key="k")], 0, id="one key on both"),
        pytest.param([lost("charge", A, key="k"), made("charge", A, key="l")], 1, id="a key for each"),
        pytest.param([lost("charge", A), made("charge", A, key="k")], 1, id="a key on the second alone"),
        pytest.param([made("charge", A), made("charge", A)], 0, id="the first is known: no retry of that kind"),
        pytest.param([lost("charge", A), made("charge", {"order_id": "B", "amount": 5})], 0, id="another order"),
        pytest.param([lost("charge", A), made("charge", {"amount": 5.0, "order_id": "A"})], 1, id="written otherwise"),
        pytest.param([lost("charge", A), made("charge", A, "refused")], 0, id="the second was refused"),
        pytest.param(
            [lost("charge", A), read("get_charge", {"order_id": "B"}), made("charge", A)], 1, id="looked at another"
        ),
        pytest.param(
            [lost("charge", A), replace(read("get_charge"), executed="unknown"), made("charge", A)],
            1,
            id="looked, and got no answer",
        ),
        pytest.param([read("get_charge"), lost("charge", A), made("charge", A)], 1, id="looked before"),
        pytest.param([lost("charge", A), made("charge", A), read("get_charge")], 1, id="looked after"),
        pytest.param(
            [lost("charge", A), read("list_holidays", {"year": 1}), made("charge", A)], 1, id="looked elsewhere"
        ),
        pytest.param([lost("pay", A), read("get_payment"), made("pay", A)], 0, id="pay and payment"),
    ],
)
def test_a_write_tried_again_after_an_unknown_effect_is_unsafe_without_a_look_or_a_key(
    calls: list[ToolCall], count: int
) -> None:
    said = found("unsafe_retry", calls)
    assert (said.state, said.score) == ("fail" if count else "pass", float(count))
    assert len(said.span_ids) == count


def test_what_was_found_out_after_the_retry_does_not_make_it_safe() -> None:
    first, second = lost("charge", A), made("charge", A, at=5)
    receipt = Receipt(state="verified", observed="r", span_id="ab", time=START + 9 * SECOND)
    settled: Effect = replace(first.effect, state="verified", reason="receipt")
    late = replace(first, effect=settled, receipts=(receipt,), executed="yes")
    assert found("unsafe_retry", [late, second]).state == "fail"
    early = replace(late, receipts=(replace(receipt, time=START + SECOND),))
    assert found("unsafe_retry", [early, second]).state == "pass"


def test_a_read_that_the_catalogue_names_is_a_look_whatever_it_is_called() -> None:
    look = replace(read("frob", at=1), span_ids=("f0",))
    first = lost("charge", A)
    looked = replace(first, effect=replace(first.effect, looked_up_by=("f0",)))
    assert found("unsafe_retry", [looked, look, made("charge", A, at=2)]).state == "pass"


def test_a_retry_whose_arguments_are_not_recorded_may_be_one() -> None:
    calls = [lost("charge", A), made("charge", captured=False, at=1)]
    assert found("unsafe_retry", calls).reason == "not_captured"
    assert ask("unsafe_retry", [read("get_charge")]) is None


# --- reads that changed state -----------------------------------------------------------------------------------------


def test_a_read_that_somebody_saw_change_state_is_named() -> None:
    one = made("read_mail", at=3, state="verified")
    observed = replace(one, effect=replace(one.effect, class_source="observed", taken_for="read", watched=True))
    said = found("read_changed_state", [read("look_up"), observed])
    assert (said.state, said.score, said.span_ids) == ("fail", 1.0, (f"{3:016x}",))
    unclassified = replace(observed, effect=replace(observed.effect, taken_for="unclassified"))
    assert ask("read_changed_state", [unclassified]) is None


def test_of_reads_that_nobody_watched_nothing_is_said() -> None:
    assert ask("read_changed_state", [read("look_up")]) is None
    one = read("look_up")
    assert found("read_changed_state", [replace(one, effect=replace(one.effect, watched=True))]).state == "pass"


def test_none_of_these_findings_decides_whether_a_trial_is_solved() -> None:
    names = {"unsafe_retry", "read_changed_state", "effect_ledger", "first_divergent_effect"}
    assert names == {rule.name for rule in RULES if rule.name in names and not rule.hard}


# --- what others report -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param([], id="it made no call at all"),
        pytest.param([made("pay", PAY, "unknown", error="Error: card expired", reason="error_text")], id="it failed"),
        pytest.param([made("pay", PAY, "refused")], id="it was refused"),
        pytest.param([made("pay", {"id": 2, "amount": 5})], id="it did something else"),
    ],
)
def test_report_38_success_that_is_claimed_for_work_that_was_never_done_is_missing_in_the_ledger(
    calls: list[ToolCall],
) -> None:
    """And the null agent of report 40 is one of them: doing nothing is no effect that was asked for."""
    one = trial(calls=calls, claim="success")
    said = next(rule for rule in RULES if rule.name == "effect_ledger").evaluate(one, expecting(("pay", PAY)))
    assert said is not None
    assert said.state == "fail"
    assert [each["tool"] for each in dict[str, Any](said.details)["missing"]] == ["pay"]
