"""Queries on a database: what is there decides, and nothing is written."""

import sqlite3
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from spanproof_evaluators.verifiers import Check, EndState, Place, SqlCheck, declared, judge
from tests.evaluators.verifiers.asking import ask, said


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sql") / "shop one.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "create table refunds (id text, amount real, note text);"
            "insert into refunds values ('A', 25.0, null), ('B', 0.1, 'late'), ('B', 0.2, 'late');"
            "create table empty (id text);"
        )
    connection.close()
    return path


def at(location: str) -> EndState:
    return EndState(places={"shop": Place(kind="sql", location=location)})


def query(text: str, **fields: object) -> SqlCheck:
    return SqlCheck.model_validate({"kind": "sql", "destination": "shop", "query": text, **fields})


def asked(path: Path, text: str, **fields: object) -> Check:
    return ask(query(text, **fields), at(f"sqlite:///{path}"))


@pytest.mark.parametrize(
    ("text", "fields", "expected"),
    [
        ("select * from refunds", {}, True),
        ("select * from empty", {}, False),
        ("select * from empty", {"exactly": 0}, True),
        ("select * from refunds", {"exactly": 3}, True),
        ("select * from refunds", {"at_most": 2}, False),
        ("select * from refunds where id = :id", {"params": {"id": "A"}, "exactly": 1}, True),
        ("select * from refunds where id = :id", {"params": {"id": "A' or '1'='1"}, "exactly": 0}, True),
        ("select count(*) from refunds", {"scalar": 3}, True),
        ("select count(*) from refunds", {"scalar": "3"}, False),
        ("select count(*) from refunds", {"scalar": True}, False),
        ("select sum(amount) from refunds where id = 'B'", {"scalar": 0.3}, False),
        ("select sum(amount) from refunds where id = 'B'", {"scalar": 0.3, "tolerance": 0.001}, True),
        ("select amount from refunds where id = 'A'", {"scalar": 25}, True),
        ("select amount from refunds", {"scalar": 25}, False),
        ("select amount from empty_or_not where 1 = 0", {"scalar": 25}, None),
        ("select note from refunds where id = 'A'", {"rows": [{"note": None}]}, True),
        ("select id, amount from refunds", {"rows": [{"id": "B"}, {"id": "A", "amount": 25}, {"id": "B"}]}, True),
        ("select id, amount from refunds", {"rows": [{"id": "A"}, {"id": "A"}, {"id": "B"}]}, False),
        (
            "select id from refunds order by id",
            {"rows": [{"id": "B"}, {"id": "B"}, {"id": "A"}], "ordered": True},
            False,
        ),
        ("select id from refunds", {"rows": []}, False),
        ("select id from empty", {"rows": []}, True),
        ("-- a remark\nwith x as (select 1 as one) select one from x", {"scalar": 1}, True),
    ],
)
def test_what_the_query_returns_decides(
    database: Path, text: str, fields: dict[str, object], expected: bool | None
) -> None:
    assert asked(database, text, **fields).passed is expected


def test_expectations_that_overlap_are_matched_and_not_taken_in_turn(database: Path) -> None:
    # The first expectation fits every row of B, the second one only one of them.
    rows = [{"id": "B"}, {"id": "B", "amount": 0.1}]
    assert asked(database, "select * from refunds where id = 'B' order by amount", rows=rows).passed is True


@pytest.mark.parametrize(
    ("text", "fields", "reason"),
    [
        ("select * from nowhere", {}, "query_failed"),
        ("select 1; select 2", {}, "query_failed"),
        ("select * from refunds where id = :id", {}, "query_failed"),
        ("select id from refunds", {"rows": [{"amount": 1}, {}, {}]}, "column_missing"),
        ("select 1 as a, 2 as a", {}, "columns_ambiguous"),
        ("select 1, 2", {"scalar": 1}, "not_one_value"),
        ("select * from refunds", {"max_rows": 2, "exactly": 3}, "too_many_rows"),
        (
            "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n",
            {"timeout": 0.2, "scalar": 1},
            "timeout",
        ),
    ],
)
def test_a_query_that_cannot_tell_is_a_gap(database: Path, text: str, fields: dict[str, object], reason: str) -> None:
    assert said(asked(database, text, **fields)) == (None, reason)


def test_more_rows_than_are_read_still_decide_where_they_can(database: Path) -> None:
    assert asked(database, "select * from refunds", max_rows=2, at_most=2).passed is False
    assert asked(database, "select * from refunds", max_rows=2, at_least=3).passed is True
    assert asked(database, "select * from refunds", max_rows=2, rows=[{}]).passed is False


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("sqlite:////nowhere/at/all.db", "connection_failed"),
        ("sqlite://", "address_unreadable"),
        ("sqlite:///:memory:", "address_unreadable"),
        ("no address", "address_unreadable"),
        ("nosuchbase://h/db", "driver_not_installed"),
        ("oracle://u@h/db", "driver_not_installed"),
        ("sqlite:///${SPANPROOF_TEST_UNSET}", "variable_not_set"),
    ],
)
def test_a_database_that_cannot_be_reached_is_a_gap(location: str, reason: str) -> None:
    assert said(ask(query("select 1", scalar=1), at(location))) == (None, reason)


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    asked(tmp_path / "new.db", "select 1")
    assert not (tmp_path / "new.db").exists()


def test_a_file_that_is_no_database_is_a_gap(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("not a database, but long enough to be looked at as one" * 40)
    assert said(asked(tmp_path / "text.db", "select * from t")) == (None, "query_failed")


@pytest.mark.parametrize("text", ["delete from refunds", "/* select */ update refunds set id = 1", "pragma x", ""])
def test_a_query_that_does_not_begin_as_a_reading_one_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="the query must read"):
        query(text)


def test_what_writes_all_the_same_is_stopped_by_the_database(database: Path) -> None:
    found = asked(database, "with x as (select 1) insert into empty select 'x' from x")
    assert said(found) == (None, "query_failed")
    assert asked(database, "select * from empty", exactly=0).passed is True


def test_a_password_is_neither_in_the_receipt_nor_in_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", "s3cret/word")
    found = ask(query("select 1"), at("sqlite:///" + str(tmp_path / "dir-${DB_PASSWORD}.db")))
    assert found.passed is None
    assert "s3cret" not in repr(found)
    found = ask(query("select '${DB_PASSWORD}' || 's3cret/word'", rows=[{}]), at(f"sqlite:///{tmp_path}/none.db"))
    assert found.passed is None


def test_without_sqlalchemy_it_says_what_to_install(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    found = asked(database, "select 1")
    assert (found.passed, found.reason) == (None, "sqlalchemy_not_installed")
    assert "pip install 'spanproof[sql]'" in found.seen


def test_a_snapshot_of_before_tells_what_the_trial_brought_about(database: Path, tmp_path: Path) -> None:
    old = tmp_path / "old.db"
    with sqlite3.connect(old) as connection:
        connection.execute("create table refunds (id text, amount real, note text)")
    connection.close()
    before, after = at(f"sqlite:///{old}"), at(f"sqlite:///{database}")
    verifier = declared([query("select * from refunds where id = 'A'")])
    assert judge(verifier, before, after, name="v").effect_of_trial == "caused"
    assert judge(verifier, after, after, name="v").effect_of_trial == "vacuous"
    assert judge(verifier, after, before, name="v").effect_of_trial == "damaged"
    unknown = judge(verifier, None, after, name="v")
    assert (unknown.state, unknown.pre_state, unknown.effect_of_trial) == ("verified", "unavailable", None)
