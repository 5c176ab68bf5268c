"""Verifiers: the end state is judged, and a gap is never a failure."""

from collections.abc import Mapping

import pytest

from spanproof_evaluators.model.end_states import EndState, Row
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.verifiers import declared, judge
from tests.evaluators.factories import suite

ORDERS: tuple[Row, ...] = ({"id": "A", "amount": 25, "paid": True}, {"id": "B", "amount": 10.0, "paid": False})


def task(*checks: Mapping[str, object], expects: str = "change") -> Task:
    return suite({"id": "t", "checks": list(checks), "expects": expects}).tasks[0]


def verdict(check: Mapping[str, object], after: EndState, before: EndState | None = None) -> tuple[str, str | None]:
    found = declared(task(check).checks)(before, after)
    return found.state, found.reason


def rows(**fields: object) -> dict[str, object]:
    return {"kind": "rows", "table": "orders", **fields}


STATE = EndState(
    tables={"orders": ORDERS, "empty": ()},
    files={"out/a.eml": "To: x\nORD-1", "out/sub/b.eml": "y"},
    answer="It is  25",
)


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        (rows(), "verified"),
        (rows(exactly=2), "verified"),
        (rows(exactly=1), "failed"),
        (rows(where={"id": "A"}, exactly=1), "verified"),
        (rows(where={"id": "C"}), "failed"),
        (rows(where={"id": "C"}, at_most=0), "verified"),
        (rows(at_least=3), "failed"),
        (rows(where={"id": "A"}, values={"amount": 25.0}), "verified"),
        (rows(where={"id": "A"}, values={"amount": 26}), "failed"),
        (rows(where={"id": "A"}, values={"amount": "25"}), "failed"),
        (rows(where={"paid": 1}, at_most=0), "verified"),
        (rows(where={"paid": True}, exactly=1), "verified"),
        (rows(table="empty", where={"x": 1}, at_most=0), "verified"),
        ({"kind": "files", "glob": "out/*.eml", "exactly": 1}, "verified"),
        ({"kind": "files", "glob": "out/**/*.eml", "exactly": 2}, "verified"),
        ({"kind": "files", "glob": "**/*.eml", "contains": ["ORD-1"], "exactly": 1}, "verified"),
        ({"kind": "files", "glob": "out/?.eml", "contains": ["ORD-2"]}, "failed"),
        ({"kind": "files", "glob": "OUT/*"}, "failed"),
        ({"kind": "answer", "contains": ["is 25"]}, "verified"),
        ({"kind": "answer", "contains": ["26"]}, "failed"),
        ({"kind": "answer", "contains": ["25"], "not_contains": ["It"]}, "failed"),
    ],
)
def test_a_check_reads_the_end_state(check: dict[str, object], expected: str) -> None:
    assert verdict(check, STATE)[0] == expected


@pytest.mark.parametrize(
    ("check", "state", "reason"),
    [
        (rows(), EndState(files={}), "table_not_recorded"),
        (rows(table="refunds"), STATE, "table_not_recorded"),
        (rows(where={"colour": "red"}), STATE, "column_not_recorded"),
        ({"kind": "files", "glob": "*"}, EndState(tables={}), "files_not_recorded"),
        ({"kind": "answer", "contains": ["x"]}, EndState(answer_recorded=False), "answer_not_captured"),
        ({"kind": "unchanged", "tables": ["orders"]}, STATE, "pre_state_not_recorded"),
    ],
)
def test_a_check_that_cannot_run_is_unavailable_and_never_failed(
    check: dict[str, object], state: EndState, reason: str
) -> None:
    assert verdict(check, state) == ("unavailable", reason)


def test_no_answer_where_one_is_asked_for_is_a_failure_and_no_gap() -> None:
    assert verdict({"kind": "answer", "contains": ["x"]}, EndState(answer=None)) == ("failed", None)


def test_an_empty_list_of_checks_does_not_pass() -> None:
    found = declared(())(STATE, STATE)
    assert (found.state, found.reason) == ("unavailable", "no_verifier")


def test_a_failed_check_outranks_one_that_could_not_run() -> None:
    found = declared(task(rows(table="gone"), rows(exactly=7)).checks)(None, STATE)
    assert found.state == "failed"


def test_unchanged_compares_rows_in_any_order_and_counts_them() -> None:
    check = {"kind": "unchanged", "tables": ["orders"]}
    twice = EndState(tables={"orders": (ORDERS[0], ORDERS[0])})
    assert (
        verdict(check, EndState(tables={"orders": ORDERS[::-1]}), EndState(tables={"orders": ORDERS}))[0] == "verified"
    )
    assert verdict(check, twice, EndState(tables={"orders": ORDERS[:1]}))[0] == "failed"


def test_unchanged_sees_a_file_that_came_went_or_changed() -> None:
    check = {"kind": "unchanged", "files": ["m/*"]}
    before = EndState(files={"m/a": "1", "other": "1"})
    assert verdict(check, EndState(files={"m/a": "1", "other": "2"}), before)[0] == "verified"
    for after in ({"m/a": "2"}, {}, {"m/a": "1", "m/b": "1"}):
        assert verdict(check, EndState(files=after), before)[0] == "failed"


@pytest.mark.parametrize(
    ("before", "after", "state", "effect"),
    [
        ((), ORDERS[:1], "verified", "caused"),
        (ORDERS[:1], ORDERS[:1], "verified", "vacuous"),
        (ORDERS[:1], (), "failed", "damaged"),
        ((), (), "failed", "unchanged"),
    ],
)
def test_both_states_are_judged(before: tuple[Row, ...], after: tuple[Row, ...], state: str, effect: str) -> None:
    verifier = declared(task(rows(exactly=1)).checks)
    found = judge(
        verifier,
        EndState(tables={"orders": before}),
        EndState(tables={"orders": after}),
        name="v",
    )
    assert (found.state, found.effect_of_trial) == (state, effect)


def test_a_payment_that_was_there_before_is_no_proof_of_a_payment() -> None:
    # Golden case G32: AgentDojo banking user_task_5 passes on the untouched start state.
    paid = EndState(tables={"transactions": ({"recipient": "SE35", "amount": 50.0},)})
    check = {"kind": "rows", "table": "transactions", "where": {"recipient": "SE35", "amount": 50.0}}
    assert judge(declared(task(check).checks), paid, paid, name="v").effect_of_trial == "vacuous"


def test_without_the_state_before_the_verdict_stands_and_its_cause_is_open() -> None:
    found = judge(declared(task(rows()).checks), None, STATE, name="v")
    assert (found.state, found.pre_state, found.effect_of_trial) == ("verified", "unavailable", None)


def test_that_nothing_was_answered_before_says_nothing_of_a_world_that_nobody_saw_before() -> None:
    checks = task(rows(exactly=2), {"kind": "answer", "contains": ["25"]}).checks
    found = judge(declared(checks), EndState(missing="pre_state_not_recorded"), STATE, name="v")
    assert (found.state, found.pre_state, found.effect_of_trial) == ("verified", "unavailable", None)
    found = judge(declared(checks[1:]), EndState(missing="pre_state_not_recorded"), STATE, name="v")
    assert (found.state, found.effect_of_trial) == ("verified", "caused")
